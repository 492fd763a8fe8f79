// SPDX-License-Identifier: LGPL-3.0-or-later
/* flow.c - blocks that pass a filter, one by one. */
#include "flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Does a block of this process, by its number in the run, pass?  Lifetimes were ruled out. */
static bool passes(const struct flow *f, const struct block *b, uint32_t process)
{
	const struct site_filter *o = f->filter;
	const struct heap *h = &f->walk.heap;
	int64_t ns;

	if ((o->process && o->process != process) || b->size < o->size_min ||
	    b->size > o->size_max || (o->functions && !(o->functions >> (b->fn & 31) & 1)))
		return false;
	if (o->thread && h->thread[b->owner & BLOCK_THREAD].number != o->thread)
		return false;
	if (o->from_ns == INT64_MIN && o->to_ns == INT64_MAX)
		return true;
	ns = walk_ns(&f->walk, b->start);
	return ns >= o->from_ns && ns <= o->to_ns;
}

/* Fills what is known of the block; false when it does not pass. */
static bool block_of(struct flow *f, const struct block *b, uint32_t index, struct flow_block *to)
{
	uint32_t process = f->walk.heap.process[index]->number;
	uint32_t site = f->site[b->stack < f->profile->stacks->nodes ? b->stack : 0];

	if (!site || !passes(f, b, process))
		return false;
	to->block = b;
	to->process = process;
	to->index = index;
	to->site = site - 1;
	return true;
}

static void tell_ended(struct flow *f, const struct note *n, struct flow_block *at)
{
	if (!block_of(f, &n->old, n->process, at))
		return;
	at->resized = n->did & NOTE_HAD_OLD;
	if (f->ops->time)
		f->ops->time(f->context, f, at->ticks, at->number);
	f->live.bytes -= n->old.size;
	f->live.slack -= n->old.slack;
	f->live.blocks--;
	if (f->ops->ended)
		f->ops->ended(f->context, f, at);
}

static void tell_began(struct flow *f, const struct event *e, const struct note *n,
		       struct flow_block *at)
{
	uint64_t slack = e->usable > e->size ? e->usable - e->size : 0;
	struct block b = {
		.addr = e->addr,
		.size = e->size,
		.start = e->ticks,
		.slack = slack > UINT32_MAX ? UINT32_MAX : (uint32_t)slack,
		.owner = n->thread & BLOCK_THREAD,
		.stack = e->stack,
		.fn = e->fn,
	};

	if (!block_of(f, &b, n->process, at))
		return;
	at->resized = n->did & NOTE_HAD_OLD;
	if (f->ops->time)
		f->ops->time(f->context, f, at->ticks, at->number);
	f->live.bytes += b.size;
	f->live.slack += b.slack;
	f->live.blocks++;
	if (f->ops->began)
		f->ops->began(f->context, f, at);
}

/* The first moment of most live bytes is the profile's peak: the same walk as before. */
static void look_for_peak(struct flow *f, const struct note *n, const struct flow_block *at)
{
	if (f->at_peak || note_all_bytes(n) != f->profile->sites.peak.bytes)
		return;
	f->at_peak = true;
	if (f->ops->peak)
		f->ops->peak(f->context, f, at->ticks, at->number);
}

static void note_thread(struct flow *f, const struct event *e)
{
	struct flow_thread *t = array_at(&f->thread, e->thread, sizeof(*t));

	if (!t->events++) {
		t->process = e->process;
		t->first = e->ticks;
	}
	t->last = e->ticks;
	if (e->kind == EVENT_CONTROL && e->control == MPROF_CONTROL_THREAD_START)
		t->tid = (uint32_t)e->value;
}

static void batch(void *self, const struct batch *b)
{
	struct flow *f = self;
	const struct event *e;
	const struct note *n;
	size_t i;

	for (i = 0; i < b->count; i++) {
		e = &b->event[i];
		n = &b->note[i];
		struct flow_block at = {
			.ticks = e->ticks,
			.number = b->number + i,
			.thread = e->thread,
			.fn = e->fn,
		};

		if (f->ops->threads && e->thread < HEAP_NUMBERS)
			note_thread(f, e);
		if (f->ops->event)
			f->ops->event(f->context, f, e, at.number);
		/* A realloc gives back before it hands out, as the tools count it. */
		if (n->did & (NOTE_ENDED | NOTE_DROPPED))
			tell_ended(f, n, &at);
		if (n->did & NOTE_BEGAN) {
			tell_began(f, e, n, &at);
			look_for_peak(f, n, &at);
		}
	}
}

static void gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	struct flow *f = self;
	const struct block *b = NULL;
	struct flow_block at = { .ticks = ticks };

	if (f->ops->time)
		f->ops->time(f->context, f, ticks, 0);
	while ((b = heap_next_block(h->process[process], b))) {
		if (b->owner & BLOCK_INHERITED || !block_of(f, b, process, &at))
			continue;
		at.thread = h->thread[b->owner & BLOCK_THREAD].number;
		f->live.bytes -= b->size;
		f->live.slack -= b->slack;
		f->live.blocks--;
		if (f->ops->left)
			f->ops->left(f->context, f, &at, why);
	}
	if (f->ops->gone)
		f->ops->gone(f->context, f, h->process[process]->number, why, ticks);
}

static const struct pass_ops flow_pass = {
	.name = "flow",
	.batch = batch,
	.gone = gone,
};

int flow_run(struct flow *f, struct trace *t, struct profile *p, const struct profile_options *o,
	     const struct flow_ops *ops, void *context, struct error *err)
{
	const struct site_filter *filter = &o->sites.filter;
	struct walk_pass pass = { &flow_pass, f };
	struct walk_input in;
	int ret;

	memset(f, 0, sizeof(*f));
	f->profile = p;
	f->filter = filter;
	f->ops = ops;
	f->context = context;
	if (filter->lifetime_min_ns || filter->lifetime_max_ns != UINT64_MAX)
		return fail(err, -EINVAL,
			    "single blocks cannot be selected by lifetime: leave out --lifetime");
	f->site = p->site_of;
	trace_rewind(t);
	walk_input_from_trace(&in, t);
	walk_init(&f->walk, &in, &pass, 1);
	f->walk.no_pages = true;
	f->walk.progress = o->progress;
	f->walk.progress_context = o->progress_context;
	ret = walk_run(&f->walk, err);
	walk_release(&f->walk);
	f->site = NULL;
	return ret;
}
