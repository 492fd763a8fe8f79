// SPDX-License-Identifier: LGPL-3.0-or-later
/* flow.c - blocks that pass a filter, one by one. */
#include "flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/temporary.h"

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

/* ---- what is told later ---- */

struct kept {
	struct block block; /* its `stack` is the group */
	uint64_t ticks, number;
	uint32_t process, thread;
	uint8_t step, fn, why;
	uint8_t resized : 1, over : 1;
};

static void keep(struct flow *f, enum step step, const struct flow_block *at, enum process_gone why)
{
	struct kept k = {
		.ticks = at->ticks,
		.number = at->number,
		.process = at->process,
		.thread = at->thread,
		.step = (uint8_t)step,
		.fn = at->fn,
		.why = (uint8_t)why,
		.resized = at->resized,
		.over = f->over,
	};

	if (at->block) {
		k.block = *at->block;
		k.block.stack = at->group;
	}
	fwrite(&k, sizeof(k), 1, f->later);
}

static void tell_kept(struct flow *f, const struct kept *k)
{
	const struct flow_block at = {
		.block = &k->block,
		.ticks = k->ticks,
		.number = k->number,
		.process = k->process,
		.thread = k->thread,
		.group = k->block.stack,
		.fn = k->fn,
		.resized = k->resized,
	};

	f->over = k->over;
	tell(f, k->step, &at, k->why);
}

static int tell_later(struct flow *f, struct error *err)
{
	struct kept k;

	/* fseek() writes what is left; both leave a failure in the stream. */
	if (fseek(f->later, 0, SEEK_SET) || ferror(f->later))
		return fail(err, -EIO, "cannot write a temporary file: %m");
	if (f->ops->start)
		f->ops->start(f->context, f);
	while (fread(&k, sizeof(k), 1, f->later))
		tell_kept(f, &k);
	return ferror(f->later) ? fail(err, -EIO, "cannot read a temporary file: %m") : 0;
}

static int open_later(struct flow *f, struct error *err)
{
	int fd = temporary_file(NULL);

	if (fd >= 0)
		f->later = fdopen(fd, "w+");
	return f->later
		   ? 0
		   : fail(err, fd < 0 ? fd : -errno,
			  "cannot create a temporary file: %s; set TMPDIR to another directory",
			  strerror(fd < 0 ? -fd : errno));
}

static void pass_on(struct flow *f, enum step step, const struct flow_block *at,
		    enum process_gone why)
{
	if (f->later)
		keep(f, step, at, why);
	else
		tell(f, step, at, why);
}

/* ---- the pass ---- */

/* Fills what is known of the block; false when it does not pass. */
static bool block_of(struct flow *f, const struct block *b, uint32_t process, struct flow_block *to)
{
	uint32_t *group = array_at(&f->group, b->stack, sizeof(*group));
	const struct sites_options *o = &f->profile->sites.options;

	if (!*group)
		*group = 1 + o->group(o->group_context, b->stack, 0);
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
	pass_on(f, ENDED, at, 0);
}

static void began(struct flow *f, const struct event *e, const struct note *n,
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
	pass_on(f, BEGAN, at, 0);
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
		/* A realloc frees before it allocates, as the tools count it. */
		if (n->did & (NOTE_ENDED | NOTE_DROPPED))
			ended(f, n, &at);
		if (!(n->did & NOTE_BEGAN))
			continue;
		began(f, e, n, &at);
		if (b->grew && note_all_bytes(n) >= f->most) {
			f->most = note_all_bytes(n) + 1;
			pass_on(f, MOST, &at, 0);
		}
	}
}

static void gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	struct flow *f = self;
	const struct block *b = NULL;
	struct flow_block at = { .ticks = ticks, .number = f->walk->events };

	f->over = f->walk->over;
	pass_on(f, GOING, &at, why);
	at.number = 0;
	while ((b = heap_next_block(h->process[process], b))) {
		if (b->owner & BLOCK_INHERITED || !block_of(f, b, process, &at))
			continue;
		at.thread = h->thread[b->owner & BLOCK_THREAD].number;
		pass_on(f, LEFT, &at, why);
	}
	at = (struct flow_block){ .ticks = ticks, .process = h->process[process]->number };
	pass_on(f, GONE, &at, why);
}

static void start(void *self, struct walk *w)
{
	struct flow *f = self;

	f->walk = w;
	if (f->ops->start && !f->later)
		f->ops->start(f->context, f);
}

static const struct pass_ops flow_pass = {
	.name = "flow",
	.start = start,
	.batch = batch,
	.gone = gone,
};

/* ---- the whole ---- */

int flow_run(struct flow *f, struct trace *t, struct profile *p, const struct profile_options *o,
	     const struct flow_ops *ops, void *context, struct error *err)
{
	const struct site_filter *filter = &o->sites.filter;
	const struct walk_pass pass = { &flow_pass, f };
	int ret;

	*f = (struct flow){
		.profile = p,
		.ops = ops,
		.context = context,
		.filter = site_filter_is_plain(filter) ? NULL : filter,
	};
	if (ops->left && (filter->lifetime_min_ns || filter->lifetime_max_ns != UINT64_MAX))
		return fail(err, -EINVAL,
			    "single blocks cannot be selected by lifetime: leave out --lifetime");
	ret = ops->later ? open_later(f, err) : 0;
	if (!ret)
		ret = profile_with(p, t, o, &pass, err);
	return !ret && f->later ? tell_later(f, err) : ret;
}

void flow_release(struct flow *f)
{
	if (f->later)
		fclose(f->later);
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
