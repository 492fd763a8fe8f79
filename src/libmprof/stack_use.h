/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stack_use.h - how much of its stack each thread uses: struct mprof_stack_use in the file.
 *
 * A thread's record is its own while it runs; the thread that ends the process reads the pages of
 * all threads' stacks.  Nothing here fails: a thread without a record is missing in the file.
 */
#pragma once

#include <mprof/format.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct stack_frame;

/* What the creator of a thread knows about its stack. */
struct mp_stack_room {
	uintptr_t top;	/* of a stack that the program supplied; 0 if libc maps one */
	size_t bytes;	/* 0 if unknown */
	uintptr_t from; /* the frame of the thread's first function */
};
struct mp_stack_room mp_stack_room(const pthread_attr_t *attr); /* attr NULL = the default */

/* Called in a thread before any code of the program; room is NULL if its creation was not seen. */
void mp_stack_use_begin(uint32_t number, const struct mp_stack_room *room);
/* 1 if sp lies on this thread's own stack and its bounds, as mapped, are known; else 0 */
int mp_stack_use_home(uintptr_t sp, uintptr_t *low, uintptr_t *high);
/* Is `at` above sp, and are both on this thread's own stack?  0 also if its bounds are unknown. */
int mp_stack_use_spans(uintptr_t sp, uintptr_t at);
/*
 * The call stack `id` has the lowest sp of the interval so far on the thread's own stack.  Its n
 * frames are known, and the first `same` of them are those of the last such call whose sizes were
 * recorded.  Returns of how many frames the sizes are recorded now.
 */
uint32_t mp_stack_use_deeper(uintptr_t sp, uint32_t id, const struct stack_frame *frame, uint32_t n,
			     uint32_t same);
/*
 * Begins an interval of the thread's time, whose deepest call is noted by itself, if the last one
 * began long enough ago.  Then it returns 1, and the caller makes sure that it learns of the
 * next call whatever its depth.
 */
int mp_stack_use_interval(void);
void mp_stack_use_end(void);	 /* called when this thread has run its destructors */
void mp_stack_use_look(void);	 /* called when the process is about to end or to exec */
void mp_stack_use_forked(void);	 /* called in a child, whose thread has another record */
void mp_stack_use_renamed(void); /* called when this thread has another name */
/* Another thread, the one with this thread pointer, has a name now. */
void mp_stack_use_name(uintptr_t pointer, const char name[MPROF_THREAD_NAME]);
