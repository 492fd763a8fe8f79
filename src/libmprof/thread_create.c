// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * thread_create.c - pthread_create and thrd_create: the creator assigns the new thread its number,
 * so that the trace contains the edge from one to the other.  A small record in our own memory
 * carries the number; the thread releases it before it runs any code of the program.
 */
#include <mprof/module.h>

#include "core.h"
#include "file.h"
#include "lists.h"
#include "local.h"
#include "real_libc.h"
#include "stack_use.h"
#include "thread.h"

struct mp_start {
	void *next; /* the list node, first member */
	union {
		void *(*routine)(void *);
		thrd_start_t thrd;
	};
	void *arg;
	uint32_t number;
	struct mp_stack_room room;
};

static struct mp_start *start_new(void)
{
	void **node = mp_list_take(&mp_local->starts, 0);

	return node ? (struct mp_start *)node : mp_lines_take(1);
}

static void start_release(struct mp_start *s)
{
	mp_list_put(&mp_local->starts, &s->next);
}

/* Not inlined: its caller ends with a jump, so our functions do not appear in stacks. */
static __attribute__((noinline)) void start_begin(struct mp_start *given, uintptr_t from)
{
	struct mp_stack_room room = given->room;
	uint32_t number = given->number;

	start_release(given);
	room.from = from;
	mp_thread_begins(number, &room);
}

static void *start_run(void *given)
{
	struct mp_start *s = given;
	void *(*routine)(void *) = s->routine;
	void *arg = s->arg;

	start_begin(s, (uintptr_t)__builtin_dwarf_cfa());
	return routine(arg);
}

static int start_run_thrd(void *given)
{
	struct mp_start *s = given;
	thrd_start_t routine = s->thrd;
	void *arg = s->arg;

	start_begin(s, (uintptr_t)__builtin_dwarf_cfa());
	return routine(arg);
}

/* Returns NULL if there is nothing to pass on, or without memory. */
static struct mp_start *start_about_to(void *arg, const pthread_attr_t *attr)
{
	struct mp_start *s = NULL;

	if (mp_recording() && mp_file.header && mp_local->alive)
		s = start_new();
	if (!s)
		return NULL;
	mp_local->threaded = 1;
	s->arg = arg;
	s->room = mp_stack_room(attr);
	s->number = __atomic_add_fetch(&mp_file.header->threads, 1, __ATOMIC_RELAXED);
	mp_table()->note_control(MPROF_CONTROL_THREAD_CREATE, s->number);
	return s;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *),
			  void *arg)
{
	struct mp_start *s = start_about_to(arg, attr);
	int ret;

	if (!s)
		return mp_next()->pthread_create(thread, attr, routine, arg);
	s->routine = routine;
	ret = mp_next()->pthread_create(thread, attr, start_run, s);
	if (ret)
		start_release(s);
	return ret;
}

/* glibc's own version does not go through pthread_create. */
EXPORT int thrd_create(thrd_t *thread, thrd_start_t routine, void *arg)
{
	struct mp_start *s = start_about_to(arg, NULL);
	int ret;

	if (!s)
		return mp_next()->thrd_create(thread, routine, arg);
	s->thrd = routine;
	ret = mp_next()->thrd_create(thread, start_run_thrd, s);
	if (ret != thrd_success)
		start_release(s);
	return ret;
}
