// SPDX-License-Identifier: LGPL-3.0-or-later
/* unmatched.c - see unmatched.h. */
#include "unmatched.h"

#include <stdlib.h>

#include "../util/alloc.h"
#include "walk.h"

static bool contains(uint64_t addr, uint64_t size, uint64_t at)
{
	return at >= addr && at - addr < (size ? size : 1);
}

static void ended(struct unmatched *u, const struct event *e, const struct block *old)
{
	if (!contains(old->addr, old->size, u->of->addr))
		return;
	u->live = (struct block){ .size = 0 };
	if (old->addr != u->of->addr)
		return;
	u->known = true;
	u->freed = *old;
	u->freed_ticks = e->ticks;
	u->freed_thread = e->thread;
	u->freed_stack = e->stack;
}

static void batch(void *self, const struct batch *b)
{
	struct unmatched *u = self;

	for (size_t i = 0; i < b->count; i++) {
		const struct event *e = &b->event[i];
		const struct note *n = &b->note[i];

		if (e->process != u->of->process || b->number + i > u->of->event)
			continue;
		if (b->number + i == u->of->event)
			u->stack = e->stack;
		if (n->did & (NOTE_ENDED | NOTE_DROPPED))
			ended(u, e, &n->old);
		if (n->did & NOTE_BEGAN && contains(e->addr, e->size, u->of->addr))
			u->live =
			    (struct block){ .addr = e->addr, .size = e->size, .stack = e->stack };
	}
}

static const struct pass_ops unmatched_pass = { .batch = batch };

int unmatched_find(struct unmatched *u, const struct heap *h, struct trace *t, struct error *err)
{
	const struct walk_pass pass = { &unmatched_pass, u };
	struct walk_input in;
	struct walk *w;
	size_t i;
	int ret;

	*u = (struct unmatched){ .of = NULL };
	for (i = 0; i < h->kept && h->problem[i].kind != HEAP_UNMATCHED_FREE; i++)
		;
	if (i == h->kept)
		return 0;
	u->of = &h->problem[i];
	w = must_malloc(sizeof(*w)); /* it has two batches of events in it */
	trace_rewind(t);
	walk_input_from_trace(&in, t);
	walk_init(w, &in, &pass, 1);
	w->no_pages = true;
	w->until = (struct walk_until){ .set = true, .ticks = u->of->ticks, .event = u->of->event };
	ret = walk_run(w, err);
	w->passes = 0; /* its result is the caller's */
	walk_release(w);
	free(w);
	trace_rewind(t);
	return ret;
}
