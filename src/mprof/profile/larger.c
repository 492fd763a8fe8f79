// SPDX-License-Identifier: LGPL-3.0-or-later
/* larger.c - see larger.h. */
#include "larger.h"

#include <stdlib.h>

#include "../pass/site_totals.h"
#include "../util/alloc.h"

#define HEADER	  16u /* the most bytes that an allocator keeps beside a block */
#define TIME_PART 10u /* the least part of the time of the process */

static inline uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static struct larger at_step(const struct course_step *s, const struct site_values *all,
			     uint64_t code)
{
	const double rounding = all->bytes ? (double)all->slack / (double)all->bytes : 0;
	struct larger f = {
		.ns = s->to_ns,
		.resident = s->resident,
		.live = s->live_bytes,
		.code = code,
	};

	f.needed = f.live + (uint64_t)((double)f.live * rounding) + HEADER * s->live_calls;
	f.rest = less(f.resident, f.needed + code);
	return f;
}

static bool is_large(const struct larger *f)
{
	return f->rest >= RESIDENT_FREED && f->rest >= f->needed && f->rest >= f->resident / 4;
}

static void find_step(struct larger *f, const struct analysis *a, const struct course *c,
		      uint64_t code)
{
	uint64_t held = 0;

	for (const struct course_step *s = c->step; s < c->step + c->count; s++) {
		const struct larger now = at_step(s, &a->whole.total, code);

		if (!s->resident || !is_large(&now))
			continue;
		held += (uint64_t)(s->to_ns - s->from_ns);
		if (now.rest > f->rest)
			*f = now;
	}
	f->held_ns = held;
	f->of_ns = (uint64_t)(c->step[c->count - 1].to_ns - c->step[0].from_ns);
	f->process = f->rest && held >= f->of_ns / TIME_PART ? c->process : 0;
}

/* How much freed blocks needed, at most, in all of the run. */
static uint64_t freed_bytes(const struct site_values *all)
{
	return all->freed_bytes + all->slack + HEADER * all->freed_calls;
}

/* How much lies beside aligned blocks, at most: of memory that was not used before, only the page
 * with the block's header, and the one with its end. */
static uint64_t gap_bytes(const struct site_lanes *lanes)
{
	uint64_t calls = 0;

	for (unsigned fn = 0; fn < MPROF_FN_MAX; fn++)
		calls += heap_aligns(fn) ? lanes->fn[fn].calls : 0;
	return calls * 2 * RESIDENT_PAGE;
}

void larger_find(struct larger *f, const struct analysis *a, const struct trace *t,
		 struct profile *names)
{
	struct course *c = must_calloc(1, sizeof(*c));
	struct site_lanes *lanes = must_calloc(1, sizeof(*lanes));
	const struct tree_process *p;

	*f = (struct larger){ .process = 0 };
	course_read(c, t, 0);
	site_lanes_read(lanes, t);
	p = c->count ? tree_find(&a->tree, c->process) : NULL;
	/* Blocks from before, or from a pause, are live, too. */
	if (p && !(p->forked && p->images < 2) && !p->attached && !a->walk.input.header->pauses)
		find_step(f, a, c,
			  p->self_bytes + stacks_object_bytes(names ? names->stacks : NULL));
	if (f->process) {
		f->missing = a->tree.remarks || p->deepbind || p->stopped;
		f->mapper = mapper_of_sites(&a->whole, names, f->rest / 2);
	}
	f->freed = freed_bytes(&a->whole.total) >= f->rest / 2;
	f->aligned = gap_bytes(lanes) >= f->rest / 2 || (a->whole.totals.estimated && !f->freed);
	f->maps = a->whole.total.map_calls || a->whole.totals.estimated;
	f->threads = lanes->threads > a->tree.processes;
	free(lanes);
	free(c);
}
