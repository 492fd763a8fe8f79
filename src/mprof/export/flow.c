// SPDX-License-Identifier: LGPL-3.0-or-later
/* flow.c - blocks that pass a filter, one by one. */
#include "flow.h"

#include <errno.h>

enum step { BEGAN, ENDED, GOING, LEFT, GONE, MOST };

/* ---- telling ---- */

static void change(struct flow *f, const struct block *b, uint64_t sign)
{
	f->live.bytes += sign * b->size;
	f->live.slack += sign * b->slack;
	f->live.blocks += sign;
}

static void tell(struct flow *f, enum step step, const struct flow_block *at, enum process_gone why)
{
	const struct flow_ops *o = f->ops;

	if (step == GOING)
		f->events = at->number;
	if (o->time && step <= GOING)
		o->time(f->context, f, at->ticks, step == GOING ? 0 : at->number);
	switch (step) {
	case BEGAN:
		change(f, at->block, 1);
		if (o->began)
			o->began(f->context, f, at);
		break;
	case ENDED:
		change(f, at->block, UINT64_MAX);
		if (o->ended)
			o->ended(f->context, f, at);
		break;
	case LEFT:
		change(f, at->block, UINT64_MAX);
		if (o->left)
			o->left(f->context, f, at, why);
		break;
	case GONE:
		if (o->gone)
			o->gone(f->context, f, at->process, why, at->ticks);
		break;
	case MOST:
		if (o->most)
			o->most(f->context, f, at->ticks, at->number);
		break;
	case GOING:
		break;
	}
}

/* ---- the pass ---- */

/* Returns the group of a stack while the profile is made. */
static uint32_t group_made(const struct profile *p, uint32_t stack)
{
	return p->site_of[stack] ? p->site[p->site_of[stack] - 1].group : 0;
}

/* Fills in the known fields of the block; false if it does not pass. */
static bool block_of(struct flow *f, const struct block *b, uint32_t process, struct flow_block *to)
{
	uint32_t *group = array_at(&f->group, b->stack, sizeof(*group));
	const struct sites_options *o = &f->profile->sites.options;

	if (!*group)
		*group = 1 + (o->group ? o->group(o->group_context, b->stack, 0)
				       : group_made(f->profile, b->stack));
	if (*group == 1 || (f->filter && !site_filter_passes(f->filter, f->walk, b, process)))
		return false;
	to->block = b;
	to->process = f->walk->heap.process[process]->number;
	to->group = *group - 1;
	return true;
}

static void ended(struct flow *f, const struct note *n, struct flow_block *at)
{
	if (!block_of(f, &n->old, n->process, at))
		return;
	at->resized = n->did & NOTE_HAD_OLD;
	tell(f, ENDED, at, 0);
}

static void began(struct flow *f, const struct event *e, const struct note *n,
		  struct flow_block *at)
{
	uint64_t slack = event_slack(e);
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
	tell(f, BEGAN, at, 0);
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

/* Finds the peak as sites_pass does: of the run, or of the filter's process. */
static void look(struct flow *f, const struct event *e, const struct note *n, struct flow_block *at)
{
	const uint32_t process = f->profile->sites.options.filter.process;
	const uint64_t bytes = process ? n->own.bytes : note_all_bytes(n);

	if (bytes < f->most || (process && process != e->process))
		return;
	f->most = bytes + 1;
	tell(f, MOST, at, 0);
}

static void batch(void *self, const struct batch *b)
{
	struct flow *f = self;
	const struct flow_ops *o = f->ops;
	const struct event *e = b->event;
	const struct note *n = b->note;
	size_t i;

	if (!o->began && !o->ended && !o->event && !o->threads)
		return;
	for (i = 0; i < b->count; i++, e++, n++) {
		struct flow_block at = {
			.ticks = e->ticks,
			.number = b->number + i,
			.thread = e->thread,
			.fn = e->fn,
		};

		if (o->threads && e->thread < HEAP_NUMBERS)
			note_thread(f, e);
		if (o->event)
			o->event(f->context, f, e, at.number);
		/* A realloc frees before it allocates, as other tools count it. */
		if (n->did & (NOTE_ENDED | NOTE_DROPPED))
			ended(f, n, &at);
		if (!(n->did & NOTE_BEGAN))
			continue;
		began(f, e, n, &at);
		if (b->grew)
			look(f, e, n, &at);
	}
}

static void gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	struct flow *f = self;
	struct heap_round round = { 0 };
	const struct block *b;
	struct flow_block at = { .ticks = ticks, .number = f->walk->events };

	f->over = f->walk->over;
	tell(f, GOING, &at, why);
	at.number = 0;
	while ((b = heap_next_block(h->process[process], &round))) {
		if (b->owner & BLOCK_INHERITED || !block_of(f, b, process, &at))
			continue;
		at.thread = h->thread[b->owner & BLOCK_THREAD].number;
		tell(f, LEFT, &at, why);
	}
	at = (struct flow_block){ .ticks = ticks, .process = h->process[process]->number };
	tell(f, GONE, &at, why);
}

static void start(void *self, struct walk *w)
{
	struct flow *f = self;

	f->walk = w;
	if (f->ops->start)
		f->ops->start(f->context, f);
}

static const struct pass_ops flow_pass = {
	.name = "flow",
	.start = start,
	.batch = batch,
	.gone = gone,
};

/* ---- the whole ---- */

int flow_run(struct flow *f, const struct export *x, const struct flow_ops *ops, void *context,
	     struct error *err)
{
	const struct profile_options *o = x->options->profile;
	const struct site_filter *filter = &o->sites.filter;
	const struct walk_pass pass = { &flow_pass, f };
	int ret;

	*f = (struct flow){
		.profile = x->profile,
		.ops = ops,
		.context = context,
		.filter = site_filter_is_plain(filter) ? NULL : filter,
	};
	if (ops->left && (filter->lifetime_min_ns || filter->lifetime_max_ns != UINT64_MAX))
		return fail(err, -EINVAL,
			    "single blocks cannot be selected by lifetime: leave out --lifetime");
	/* Whether a stack has live blocks at the end is known only then. */
	if (!ops->later && !o->hide_zero_live)
		return profile_with(x->profile, x->trace, o, &pass, err);
	ret = profile_make(x->profile, x->trace, o, err);
	if (!ret)
		ret = walk_trace(x->trace, &pass, o->progress, o->progress_context, err);
	f->walk = &x->profile->walk;
	return ret;
}

void flow_release(struct flow *f)
{
	array_release(&f->group);
	array_release(&f->thread);
}

uint32_t *flow_sites(const struct profile *p)
{
	uint32_t *site = must_calloc(p->sites.groups + 1, sizeof(*site));
	size_t i;

	for (i = 0; i < p->count; i++)
		site[p->site[i].group] = (uint32_t)i;
	return site;
}
