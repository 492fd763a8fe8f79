// SPDX-License-Identifier: LGPL-3.0-or-later
/* unmatched.c - see unmatched.h. */
#include "unmatched.h"

#include <stdlib.h>

#include "../util/alloc.h"
#include "walk.h"

/* The walk.  until: the last time, by number of process, at which its heap is that of the free:
 * that of a process that forked is copied. */
struct search {
	struct unmatched *u;
	uint64_t *until;
	size_t processes;
};

static bool is_of_it(const struct search *s, uint32_t process, uint64_t ticks)
{
	return process < s->processes && ticks <= s->until[process];
}

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
	const struct search *s = self;
	struct unmatched *u = s->u;

	for (size_t i = 0; i < b->count; i++) {
		const struct event *e = &b->event[i];
		const struct note *n = &b->note[i];

		if (b->number + i > u->of->event || !is_of_it(s, e->process, e->ticks))
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

/* After exec, addresses mean something else. */
static void gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	const struct search *s = self;

	if (why != GONE_EXEC || !is_of_it(s, h->process[process]->number, ticks))
		return;
	s->u->live = (struct block){ .size = 0 };
	s->u->known = false;
}

static const struct pass_ops unmatched_pass = { .batch = batch, .gone = gone };

static const struct mprof_fact *fork_of(const struct walk_input *in, uint32_t process)
{
	for (size_t i = 0; i < in->fact_count; i++)
		if (in->facts[i].process == process &&
		    in->facts[i].fact->what == MPROF_FACT_START && in->facts[i].fact->fork_ticks)
			return in->facts[i].fact;
	return NULL;
}

static void find_ancestors(struct search *s, const struct walk_input *in)
{
	const struct mprof_fact *fact;
	uint32_t process = s->u->of->process;
	uint64_t ticks = UINT64_MAX;

	s->processes = process + 1;
	for (size_t i = 0; i < in->fact_count; i++)
		if (in->facts[i].process >= s->processes)
			s->processes = (size_t)in->facts[i].process + 1;
	s->until = must_calloc(s->processes, sizeof(*s->until));
	/* A damaged trace may name a process its own ancestor. */
	while (process < s->processes && !s->until[process]) {
		s->until[process] = ticks;
		fact = fork_of(in, process);
		if (!fact)
			break;
		process = fact->parent;
		ticks = fact->fork_ticks < ticks ? fact->fork_ticks : ticks;
	}
}

int unmatched_find(struct unmatched *u, const struct heap *h, struct trace *t, struct error *err)
{
	struct search s = { .u = u };
	const struct walk_pass pass = { &unmatched_pass, &s };
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
	find_ancestors(&s, &in);
	walk_init(w, &in, &pass, 1);
	w->no_pages = true;
	w->until = (struct walk_until){ .set = true, .ticks = u->of->ticks, .event = u->of->event };
	ret = walk_run(w, err);
	w->passes = 0; /* its result is the caller's */
	walk_release(w);
	free(w);
	free(s.until);
	trace_rewind(t);
	return ret;
}
