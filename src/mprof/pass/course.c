// SPDX-License-Identifier: LGPL-3.0-or-later
/* course.c - see course.h. */
#include "course.h"
#include "tamed.h"

/* One image of a process. */
struct program {
	const struct mprof_heap_totals *heap;
	const struct mprof_course *course;
	uint64_t calls, bytes; /* of its blocks */
	uint32_t process, image;
};

static void add_cells(struct program *p, const struct mprof_cell *cell)
{
	for (size_t i = 0; i < MPROF_CELLS; i++) {
		p->calls += cell[i].calls;
		p->bytes += cell[i].bytes;
	}
}

static bool is_of(const struct program *p, const struct trace_totals *x)
{
	return x->process == p->process && x->image == p->image;
}

static struct program largest(const struct trace *t, uint32_t process)
{
	const struct trace_totals *x;
	const size_t n = trace_totals(t, &x);
	struct program p = { .heap = NULL };

	for (size_t i = 0; i < n; i++) {
		const struct mprof_heap_totals *h = x[i].data;

		if (x[i].kind == MPROF_EXTENT_HEAP && (!process || x[i].process == process) &&
		    (!p.heap || h->peak_bytes > p.heap->peak_bytes))
			p = (struct program){ .heap = h,
					      .process = x[i].process,
					      .image = x[i].image };
	}
	for (size_t i = 0; i < n && p.heap; i++) {
		if (is_of(&p, &x[i]) && x[i].kind == MPROF_EXTENT_COURSE)
			p.course = x[i].data;
		if (is_of(&p, &x[i]) && x[i].kind == MPROF_EXTENT_CELLS)
			add_cells(&p, x[i].data);
	}
	return p;
}

static struct course_step step_of(const struct trace *t, const struct program *p,
				  const struct mprof_step *s)
{
	return (struct course_step){
		.at_ns = trace_ns(t, s->ticks),
		.live_bytes = above(s->live_bytes),
		.live_calls = above(s->live_calls),
		.resident = s->resident,
		.mapped = s->mapped,
		.calls = s->calls,
		.bytes = s->bytes,
		.stack = s->stack ? trace_stack_node(t, p->process, p->image, s->stack) : 0,
	};
}

static void add_step(struct course *c, const struct trace *t, const struct program *p,
		     const struct mprof_step *s, uint64_t from, uint64_t to)
{
	struct course_step *added = &c->step[c->count++];

	*added = step_of(t, p, s);
	added->from_ns = trace_ns(t, from);
	if (!s->ticks) /* no block was live */
		added->at_ns = added->from_ns;
	added->to_ns = trace_ns(t, to);
}

/* Turns sums since the start into sums of each step. */
static void take_differences(struct course *c)
{
	for (size_t i = c->count; i-- > 1;) {
		struct course_step *s = &c->step[i];
		const struct course_step *before = &c->step[i - 1];

		s->calls = s->calls > before->calls ? s->calls - before->calls : 0;
		s->bytes = s->bytes > before->bytes ? s->bytes - before->bytes : 0;
	}
}

/* Returns when the process ended, or the last known time. */
static uint64_t end_of(const struct trace *t, const struct program *p)
{
	const struct trace_fact *fact;
	const size_t n = trace_facts(t, &fact);
	uint64_t end = p->heap->step_ticks; /* of a dump, later than all facts */

	for (size_t i = 0; i < n; i++)
		if (fact[i].process == p->process && fact[i].fact->ticks > end)
			end = fact[i].fact->ticks;
	return end;
}

void course_read(struct course *c, const struct trace *t, uint32_t process)
{
	const struct program p = largest(t, process);
	uint64_t from, to, open_to;

	c->count = 0;
	c->process = p.process;
	if (!p.course || !p.course->step_ticks)
		return;
	c->live_bytes = above(p.heap->live_bytes);
	c->live_calls = above(p.heap->live_calls);
	from = p.course->began_ticks;
	for (size_t i = 0; i < p.course->steps && i < MPROF_STEPS; i++) {
		add_step(c, t, &p, &p.course->step[i], from, from + p.course->step_ticks);
		from += p.course->step_ticks;
	}
	to = end_of(t, &p);
	open_to = from + p.course->step_ticks;
	if (to > from)
		add_step(c, t, &p,
			 &(struct mprof_step){ .live_bytes = p.heap->step_bytes,
					       .live_calls = p.heap->step_calls,
					       .ticks = p.heap->step_ticks,
					       .calls = p.calls,
					       .bytes = p.bytes,
					       .stack = (uint32_t)p.heap->step_stack },
			 from, to < open_to ? to : open_to);
	if (to > open_to) /* a call would have closed the step */
		add_step(c, t, &p,
			 &(struct mprof_step){ .live_bytes = p.heap->live_bytes,
					       .live_calls = p.heap->live_calls,
					       .ticks = open_to,
					       .calls = p.calls,
					       .bytes = p.bytes },
			 open_to, to);
	take_differences(c);
}
