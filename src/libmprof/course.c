// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * course.c - how the heap of a profiled process changed over time.
 *
 * The run is divided into equal steps.  A MODE keeps the most live bytes of the current step, with
 * the stack that allocated then, in its heap totals; the first call after the end of the step
 * closes it here, and asks the kernel how large the process is.  When all steps are used up,
 * neighbours are joined in pairs, so the size is constant and the cost falls as a program runs
 * longer.  Now and then, it also asks for what is live of each stack.
 *
 * A server may fork a process for each request, so a course begins with room for few steps.
 */
#include <mprof/module.h>

#include "core.h"
#include "file.h"
#include "local.h"
#include "process.h"
#include "slots.h"
#include "status.h"

#define FIRST_NS 10000000u /* length of the first steps */

static struct mprof_step merged(const struct mprof_step *a, const struct mprof_step *b)
{
	struct mprof_step s = b->live_bytes > a->live_bytes ? *b : *a;

	s.resident = a->resident > b->resident ? a->resident : b->resident;
	s.mapped = a->mapped > b->mapped ? a->mapped : b->mapped;
	s.calls = b->calls;
	s.bytes = b->bytes;
	return s;
}

static void halve(struct mprof_course *c)
{
	const uint32_t room = mp_local->course.room;

	for (uint32_t i = 0; i < room / 2; i++)
		c->step[i] = merged(&c->step[2 * i], &c->step[2 * i + 1]);
	__atomic_store_n(&c->steps, room / 2, __ATOMIC_RELEASE);
	c->step_ticks *= 2;
	for (uint32_t i = room / 2; i < room; i++)
		c->step[i] = (struct mprof_step){ .ticks = 0 };
}

/* Returns room for a course in an extent that readers do not see yet, or NULL. */
static struct mprof_course *course_map(uint32_t steps)
{
	int error;

	return mp_live_take(MPROF_EXTENT_FREE, 0, 0, MPROF_COURSE_BYTES(steps), &error);
}

static void course_show(struct mprof_course *c, enum mprof_extent_kind as)
{
	struct mprof_extent *x = (struct mprof_extent *)c - 1;

	__atomic_store_n(&x->kind, as, __ATOMIC_RELEASE);
}

/* Moves a full course to an extent with more room, or joins steps. */
static void make_room(void)
{
	struct mp_course *l = &mp_local->course;
	const uint32_t more = l->room * 4;
	struct mprof_course *old = l->at, *c = more <= MPROF_STEPS ? course_map(more) : NULL;

	if (!c) {
		halve(old);
		return;
	}
	__builtin_memcpy(c, old, MPROF_COURSE_BYTES(l->room));
	/* If the process is killed in between, there are two that are equal. */
	course_show(c, MPROF_EXTENT_COURSE);
	course_show(old, MPROF_EXTENT_FREE);
	l->at = c;
	l->room = more;
}

static uint64_t step_end(const struct mprof_course *c)
{
	return c->began_ticks + (c->steps + 1) * c->step_ticks;
}

static void close_step(struct mprof_course *c, const struct mprof_step *s)
{
	const uint32_t room = mp_local->course.room, n = c->steps < room ? c->steps : 0;

	c->step[n] = *s;
	__atomic_store_n(&c->steps, n + 1, __ATOMIC_RELEASE);
	if (n + 1 == room)
		make_room();
}

/* Are live bytes of stacks noted now?  Each time after twice the time of the last: so at the end,
 * the latest is of the second half of the run, and the one before of the second quarter. */
static int is_past_due(const struct mprof_course *c, uint64_t now)
{
	return !c->past_ticks[1] || now - c->began_ticks >= 2 * (c->past_ticks[1] - c->began_ticks);
}

/* Notes how large the process is now. */
static void look_at_memory(struct mp_course *l)
{
	uint64_t mapped, resident;

	l->live_bytes = __atomic_load_n(&l->heap->live_bytes, __ATOMIC_RELAXED);
	l->resident = l->mapped = 0;
	if (mp_memory_pages(&mapped, &resident) == 0) {
		l->mapped = mapped * mp_page();
		l->resident = resident * mp_page();
	}
}

/* Called in a new process, or at the first call in this process. */
static struct mprof_course *course_new(uint64_t now, struct mprof_heap_totals *heap)
{
	struct mprof_course *c = course_map(MPROF_STEPS_FIRST);

	mp_local->course = (struct mp_course){ .at = c, .room = MPROF_STEPS_FIRST, .heap = heap };
	if (!c)
		return NULL;
	c->began_ticks = heap->began_ticks;
	c->step_ticks = mp_file.header->clock_hz / (1000000000u / FIRST_NS);
	c->step_ticks += !c->step_ticks;
	course_show(c, MPROF_EXTENT_COURSE);
	if (now < step_end(c))
		look_at_memory(&mp_local->course);
	return c;
}

/* Estimates a size in a pause: before, and after it.  0 if one of them is unknown.  grown: what
 * became live after `before`, and is taken to have been written at once. */
static uint64_t size_between(uint64_t before, uint64_t after, uint64_t grown)
{
	const uint64_t size = before ? before + grown : 0;

	return size < after ? size : after;
}

/*
 * Closes the step, which `now` is not in.  before: when the last step was closed.  Of the steps
 * without calls, only the last one has just ended; how large the process was in others is not
 * known.
 */
static void close_step_at(uint64_t now, struct mprof_step *s, const struct mp_course *before)
{
	const struct mp_course *l = &mp_local->course;
	const int just = now - step_end(l->at) < l->at->step_ticks;
	const int64_t grown = l->live_bytes - before->live_bytes;
	const uint64_t more = grown > 0 ? (uint64_t)grown : 0;

	s->resident = just ? l->resident : size_between(before->resident, l->resident, more);
	s->mapped = just ? l->mapped : size_between(before->mapped, l->mapped, more);
	close_step(l->at, s);
}

uint64_t mp_course_look(uint64_t now, struct mprof_heap_totals *heap, void (*sum)(int past))
{
	struct mprof_course *c =
	    mp_local->course.heap == heap ? mp_local->course.at : course_new(now, heap);
	const struct mp_course before = mp_local->course;
	struct mprof_step s;
	int past;

	/* Zeros: the file was truncated. */
	if (!c || !c->step_ticks)
		return UINT64_MAX;
	if (heap->began_ticks != c->began_ticks) { /* cleared by mprof ctl */
		c->steps = 0;
		c->began_ticks = heap->began_ticks;
		c->past_ticks[0] = c->past_ticks[1] = 0;
	}
	if (now < step_end(c))
		return step_end(c);
	past = is_past_due(c, now);
	sum(past);
	if (past) {
		c->past_ticks[0] = c->past_ticks[1];
		c->past_ticks[1] = now;
	}
	s = (struct mprof_step){ .live_bytes = heap->step_bytes,
				 .live_calls = heap->step_calls,
				 .ticks = heap->step_ticks,
				 .stack = (uint32_t)heap->step_stack,
				 .calls = heap->calls,
				 .bytes = heap->bytes };
	look_at_memory(&mp_local->course);
	close_step_at(now, &s, &before);
	c = mp_local->course.at;
	/* No call has been made since then. */
	s.live_bytes = __atomic_load_n(&heap->live_bytes, __ATOMIC_RELAXED);
	s.live_calls = __atomic_load_n(&heap->live_calls, __ATOMIC_RELAXED);
	s.stack = 0;
	while (c->step_ticks && now >= step_end(c)) {
		s.ticks = step_end(c) - c->step_ticks;
		close_step_at(now, &s, &before);
		c = mp_local->course.at;
	}
	heap->step_calls = s.live_calls;
	heap->step_ticks = now;
	heap->step_stack = 0;
	__atomic_store_n(&heap->step_bytes, s.live_bytes, __ATOMIC_RELAXED);
	return step_end(c);
}
