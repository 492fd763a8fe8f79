// SPDX-License-Identifier: LGPL-3.0-or-later
/* stack_uses.c - finds how much of its stack each thread used. */
#include "stack_uses.h"

#include <stdlib.h>

#include "../util/alloc.h"
#include "../util/at_once.h"
#include "../util/hash.h"
#include "../util/order.h"
#include "resident_pages.h"
#include "thread_title.h"

static unsigned page_shift(const struct trace *t)
{
	return (unsigned)__builtin_ctz(trace_header(t)->page_size);
}

static bool ran_at(const struct stack_of *s, uint64_t ticks)
{
	return s->begin_ticks <= ticks && (!s->end_ticks || ticks <= s->end_ticks);
}

/* Returns the last reading of the process's pages while the thread ran. */
static const struct trace_residency *last_reading(const struct trace *t, const struct stack_of *s)
{
	const struct trace_residency *r, *last = NULL;
	size_t n = trace_residencies(t, &r), i;

	for (i = 0; i < n; i++)
		if (r[i].process == s->process && ran_at(s, r[i].head->ticks_before))
			last = &r[i];
	return last;
}

/* Uses pages as mprof read them from outside; bottom: the lowest possible address of the stack. */
static void take_reading(struct stack_of *s, const struct trace *t, uint64_t bottom)
{
	const struct trace_residency *r = last_reading(t, s);
	const unsigned shift = page_shift(t);
	uint64_t near = 0, run;

	if (!r)
		return;
	s->resident = resident_bytes(r, shift, bottom, s->high, &near);
	run = resident_run(r, bottom >> shift, 0);
	s->looked_ticks = r->head->ticks_before;
	if (!s->resident || run == r->runs)
		return;
	s->low = r->run[run].first << shift;
	s->low = s->low > bottom ? s->low : bottom;
	s->touched = s->high - s->low;
}

struct text stack_thread_title(const struct stack_of *s)
{
	return thread_title(s->main && !*s->name ? "main" : s->name, s->thread);
}

struct stack_interval stack_interval(const struct stack_of *s, uint32_t i)
{
	const uint64_t word = s->interval[-(ptrdiff_t)i];
	const uint64_t depth = (word & ((1u << MPROF_INTERVAL_DEPTH_BITS) - 1))
			       << MPROF_INTERVAL_BYTES;

	return (struct stack_interval){ s->begin_ticks + (word >> MPROF_INTERVAL_DEPTH_BITS
								      << MPROF_INTERVAL_TICKS),
					depth < s->deepest ? depth : s->deepest };
}

static void take(struct stack_of *s, const struct trace *t, const struct trace_stack_use *x)
{
	const struct mprof_stack_use *u = x->u;
	const uint64_t most = u->limit && u->limit < u->high ? u->limit : u->deepest;

	*s = (struct stack_of){ .process = x->process,
				.thread = trace_thread(t, x->thread),
				.tid = u->tid,
				.name = trace_thread_name(t, trace_thread(t, x->thread)),
				.limit = u->limit,
				.deepest = u->deepest < u->high ? u->deepest : 0,
				.deepest_ticks = u->deepest_ticks,
				.touched = u->touched < u->high ? u->touched : 0,
				.resident = u->resident,
				.looked_ticks = u->looked_ticks,
				.begin_ticks = u->begin_ticks,
				.end_ticks = u->end_ticks,
				.others = u->others,
				.high = u->high,
				.size = x->size,
				.frames = x->frames,
				.interval = x->interval,
				.intervals = x->intervals };

	/* The last one may have begun after the last call. */
	while (s->intervals && !stack_interval(s, s->intervals - 1).deepest)
		s->intervals--;
	if (u->stack)
		s->stack = trace_stack_node(t, x->process, x->image, u->stack);
	s->low = s->high - s->touched;
	if (!s->looked_ticks && most)
		take_reading(s, t, s->high - (most < s->high ? most : 0));
	s->used = s->touched > s->deepest ? s->touched : s->deepest;
	s->low = s->high - s->used;
}

ORDER(by_use, struct stack_of, FALLING(used) ?: RISING(process) ?: RISING(thread))

void stack_uses_find(struct stack_uses *s, const struct trace *t)
{
	const struct trace_stack_use *use;
	size_t n = trace_stack_uses(t, &use), i;
	struct hash main = trace_main_threads(t);

	*s = (struct stack_uses){ .of = must_calloc(n + 1, sizeof(*s->of)), .count = n };
	for (i = 0; i < n; i++) {
		take(&s->of[i], t, &use[i]);
		s->of[i].main = hash_get(&main, trace_thread_key(s->of[i].process,
								 (uint32_t)s->of[i].tid)) != 0;
		s->threads += 1 + s->of[i].others;
	}
	hash_release(&main);
	SORT(s->of, n, by_use);
}

void stack_uses_release(struct stack_uses *s)
{
	free(s->of);
	*s = (struct stack_uses){ .count = 0 };
}

bool stack_is_only_touched(const struct stack_of *s)
{
	return s->used > s->deepest && s->looked_ticks && s->resident < s->used / 16;
}

bool stack_is_nearly_full(const struct stack_of *s)
{
	return s->limit && s->used >= s->limit - s->limit / 10 && !stack_is_only_touched(s);
}

uint64_t stack_uses_resident(const struct stack_uses *s, const struct trace *t,
			     const struct trace_residency *r)
{
	const unsigned shift = page_shift(t);
	uint64_t sum = 0, near = 0;
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->of[i].process == r->process && ran_at(&s->of[i], r->head->ticks_before))
			sum += resident_bytes(r, shift, s->of[i].low, s->of[i].high, &near);
	return sum;
}

uint64_t stack_uses_at_once(const struct stack_uses *s, uint32_t process)
{
	uint64_t *begin = must_calloc(2 * s->count + 1, sizeof(*begin)), *last = begin + s->count;
	size_t n = 0, most, i;

	for (i = 0; i < s->count; i++) {
		if (s->of[i].process != process)
			continue;
		begin[n] = s->of[i].begin_ticks;
		last[n++] = s->of[i].end_ticks ? s->of[i].end_ticks - 1 : UINT64_MAX;
	}
	most = most_at_once(begin, last, n);
	free(begin);
	return most ? most : 1;
}

uint64_t stack_uses_locals(const struct stack_uses *s, const struct trace *t,
			   const struct trace_residency *r, uint64_t bytes)
{
	const unsigned shift = page_shift(t);
	uint64_t sum = 0, near = 0;

	for (size_t i = 0; bytes && i < s->count; i++) {
		const struct stack_of *x = &s->of[i];

		if (!x->main && x->process == r->process && ran_at(x, r->head->ticks_before))
			sum += resident_bytes(r, shift, x->high, x->high + bytes, &near);
	}
	return sum;
}
