/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * event_run.h - a run: consecutive events of one thread that need no decision.  Most events are of
 * this kind, so this is inlined into the loop of heap.c, which writes a note of each event, and
 * into those that need no notes.
 *
 * heap_apply handles every other event.  It would give the same result for the events of a run
 * (struct heap.no_runs tests that).
 *
 * Threads: one at a time.
 */
#pragma once

#include <string.h>

#include "../util/inline.h"
#include "heap.h"

#define NAMELESS 0x80000000u /* in event.block: the number now belongs to another block */

enum effect { EFFECT_NONE, EFFECT_ALLOC, EFFECT_FREE, EFFECT_BEGIN, EFFECT_END, EFFECT_MAP };

/* Effect of a call, by class of its function. */
enum {
	EFFECT_OF_ALLOC = EFFECT_ALLOC,
	EFFECT_OF_FREE = EFFECT_FREE,
	EFFECT_OF_REALLOC = EFFECT_END,
	EFFECT_OF_MAP = EFFECT_MAP,
};

/* Effect by function: one load instead of a chain of tests. */
static const uint8_t effect_of_call[256] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = EFFECT_OF_##class,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
};

static inline enum effect effect_of(const struct event *e)
{
	if (e->kind == EVENT_CALL)
		return effect_of_call[e->fn];
	if (e->kind == EVENT_REALLOC_BEGIN)
		return EFFECT_BEGIN;
	return e->kind == EVENT_REALLOC_END ? EFFECT_END : EFFECT_NONE;
}

static inline struct block block_of(const struct event *e, uint64_t slack, uint32_t owner,
				    uint64_t number)
{
	return (struct block){
		.addr = e->addr,
		.size = e->size,
		.start = e->ticks,
		.slack = slack > UINT32_MAX ? UINT32_MAX : (uint32_t)slack,
		.owner = owner,
		.stack = e->stack,
		.fn = e->fn,
		.order = number & 0xffffff,
	};
}

/* Updates the live blocks and bytes of a process when a block began (sign 1) or ended (-1). */
ALWAYS_INLINE void live_step(struct pages *pages, struct live *own, const struct block *b, int sign,
			     bool count_pages)
{
	own->bytes += sign > 0 ? b->size : -b->size;
	own->blocks += sign > 0 ? 1 : UINT64_MAX;
	own->slack += sign > 0 ? b->slack : -(uint64_t)b->slack;
	if (!count_pages)
		return;
	pages_change(pages, b->addr, b->size, sign > 0);
	own->pages = pages->touched;
}

static inline uint64_t live_needed(const struct live *own, const struct pages *pages)
{
	return (own->bytes + (1ull << pages->shift) - 1) >> pages->shift;
}

/* Is this a new peak of process p or, with the other processes, of the run? */
static inline void heap_note_most(struct heap *h, struct heap_process *p, const struct live *rest,
				  uint64_t bytes, uint64_t blocks)
{
	const uint64_t all_bytes = bytes + rest->bytes, all_blocks = blocks + rest->blocks;

	if (__builtin_expect(bytes <= p->most_bytes && blocks <= p->most_blocks &&
				 all_bytes <= h->most_bytes && all_blocks <= h->most_blocks,
			     1))
		return;
	h->grew = true;
	p->most_bytes = bytes > p->most_bytes ? bytes : p->most_bytes;
	p->most_blocks = blocks > p->most_blocks ? blocks : p->most_blocks;
	h->most_bytes = all_bytes > h->most_bytes ? all_bytes : h->most_bytes;
	h->most_blocks = all_blocks > h->most_blocks ? all_blocks : h->most_blocks;
}

struct run {
	struct heap *h;
	struct heap_process *p;
	struct heap_thread *t;
	struct live own; /* live blocks of p, except `needed` */
	uint64_t number; /* number of the current event */
	uint64_t who;	 /* process and thread of its events, as in struct event */
	uint64_t slack;	 /* of the block that began last */
	uint32_t thread; /* index */
	bool pages;	 /* count them */
	bool odd;	 /* an event was not simple, see heap_apply */
};

/* The effect of an event, as in a note. */
struct run_did {
	unsigned did;	      /* enum note_did */
	bool ends;	      /* a block ended; the caller calls run_over() */
	struct block old;     /* that block */
	uint32_t ended;	      /* its number */
	struct own_block *at; /* where it is; NULL after a realloc */
	uint32_t taken; /* for the first half of a realloc, the number of the block passed to it */
};

/* Begins a run of thread t of process p; false if that is impossible. */
ALWAYS_INLINE bool run_start(struct run *r, struct heap *h, struct heap_process *p,
			     struct heap_thread *t)
{
	const uint32_t who[2] = { p->number, t->number };

	*r = (struct run){
		.h = h,
		.p = p,
		.t = t,
		.own = p->live,
		.number = h->number + 1,
		.thread = (uint32_t)(t - h->thread),
		.pages = h->count_pages,
	};
	memcpy(&r->who, who, sizeof(r->who));
	/* An address may belong to an inherited block. */
	return p->state != HEAP_ENDED && !p->others.used && !h->no_runs;
}

ALWAYS_INLINE bool run_is_of(const struct run *r, const struct event *e)
{
	uint64_t who;

	memcpy(&who, &e->process, sizeof(who));
	return who == r->who;
}

/* Begins the run of event e; sets *rest to the live blocks of the other processes. */
ALWAYS_INLINE bool run_begin(struct run *r, struct heap *h, const struct event *e,
			     struct live *rest)
{
	const uint32_t process = heap_process(h, e->process);
	const uint32_t thread = heap_thread(h, e->thread, process); /* may move the array */

	h->thread[thread].process = process;
	if (!run_start(r, h, h->process[process], &h->thread[thread]) || !run_is_of(r, e))
		return false;
	*rest = live_sum(&h->all, &(const struct live){ .bytes = 0 }, &r->own);
	return true;
}

/* rest: live blocks of the other processes. */
ALWAYS_INLINE void run_end(struct run *r, const struct live *rest)
{
	r->own.needed = live_needed(&r->own, &r->p->pages);
	r->p->live = r->own;
	r->h->all = live_sum(&r->own, rest, &(const struct live){ .bytes = 0 });
	r->h->number = r->number - 1;
}

ALWAYS_INLINE void run_begins(struct run *r, const struct event *e, struct own_block *to,
			      uint32_t flags)
{
	struct block b;

	r->slack = event_slack(e);
	b = block_of(e, r->slack, (r->thread & BLOCK_THREAD) | flags, r->number);
	own_put(&r->p->own, to, &b);
	live_step(&r->p->pages, &r->own, &b, 1, r->pages);
}

ALWAYS_INLINE void run_ends(struct run *r, struct run_did *d, struct block b, uint32_t number)
{
	d->ends = true;
	d->old = b;
	d->ended = number;
	r->odd |= (b.owner & BLOCK_RESIZED) != 0;
	live_step(&r->p->pages, &r->own, &b, -1, r->pages);
}

/* Call this when the event is done: its number may belong to another block from now on. */
ALWAYS_INLINE void run_over(const struct run *r, const struct run_did *d)
{
	if (d->at)
		own_drop(&r->p->own, d->at);
}

/* Returns the live block of an event; NULL if that needs a decision. */
ALWAYS_INLINE struct own_block *run_live(const struct run *r, const struct event *e)
{
	return own_find(&r->p->own, e->block); /* inherited blocks have no numbers */
}

/* Returns the place for a new block. */
ALWAYS_INLINE struct own_block *run_free(const struct run *r, const struct event *e)
{
	struct own_blocks *own = &r->p->own;
	struct own_block *b;

	if (__builtin_expect(e->block - 1 >= own->room, 0)) {
		if (!e->block || e->block & NAMELESS)
			return NULL;
		own_more(own, e->block);
	}
	own->n = e->block > own->n ? e->block : own->n; /* while a heap grows, half of the time */
	b = &own->block[e->block - 1];
	return b->addr ? NULL : b;
}

ALWAYS_INLINE bool run_realloc_begins(struct run *r, const struct event *e, struct run_did *d)
{
	struct own_block *b = e->addr || e->block ? run_live(r, e) : NULL;

	if (!b && (e->addr || e->block))
		return false;
	r->odd = true;
	r->h->reallocs += !r->t->pending;
	r->t->pending = true;
	r->t->pending_old = b != NULL;
	d->taken = e->block;
	if (b) {
		r->t->old = own_block(&r->p->own, b);
		r->t->number_old = e->block;
		own_drop(&r->p->own, b);
	}
	return true;
}

ALWAYS_INLINE bool run_realloc_ends(struct run *r, const struct event *e, struct run_did *d)
{
	const bool old = r->t->pending && r->t->pending_old;
	struct own_block *b = e->addr ? run_free(r, e) : NULL;

	if (!b || (old && r->t->old.owner & BLOCK_INHERITED))
		return false;
	r->odd = true;
	r->h->reallocs -= r->t->pending;
	r->t->pending = false;
	run_begins(r, e, b, old ? BLOCK_RESIZED : 0);
	d->did = NOTE_BEGAN;
	if (old) {
		run_ends(r, d, r->t->old, r->t->number_old);
		d->did = NOTE_BEGAN | NOTE_ENDED | NOTE_HAD_OLD;
	}
	return true;
}

ALWAYS_INLINE bool run_allocates(struct run *r, const struct event *e)
{
	struct own_block *b = e->addr ? run_free(r, e) : NULL;

	if (b)
		run_begins(r, e, b, 0);
	return b;
}

/* d->ends is false after free(NULL). */
ALWAYS_INLINE bool run_frees(struct run *r, const struct event *e, struct run_did *d)
{
	d->ends = false;
	d->at = run_live(r, e);
	if (!d->at)
		return !e->addr && !e->block;
	run_ends(r, d, own_block(&r->p->own, d->at), e->block);
	return true;
}

/*
 * Applies one event. False if it needs a decision: then nothing was changed. Like the four
 * functions above, it leaves counting of events to the caller.
 */
ALWAYS_INLINE bool run_event(struct run *r, const struct event *e, struct run_did *d)
{
	d->did = d->ended = d->taken = 0;
	d->ends = false;
	d->at = NULL;
	switch (effect_of(e)) {
	case EFFECT_ALLOC:
		d->did = NOTE_BEGAN;
		return run_allocates(r, e);
	case EFFECT_FREE:
		if (!run_frees(r, e, d))
			return false;
		d->did = d->ends ? NOTE_ENDED : 0;
		return true;
	case EFFECT_BEGIN:
		return run_realloc_begins(r, e, d);
	case EFFECT_END:
		return run_realloc_ends(r, e, d);
	default:
		return false;
	}
}

_Static_assert(offsetof(struct event, thread) == offsetof(struct event, process) + sizeof(uint32_t),
	       "one load has both");

#define RUN_AHEAD 24	/* events: memory has answered by then */
#define RUN_NEAR  1024u /* blocks: as many stay in the first caches without that */

/* e is an event of the window. */
PREFETCHES run_look_ahead(const struct heap_process *p, const struct window *w,
			  const struct event *e)
{
	own_prefetch(&p->own, window_after(w, e, RUN_AHEAD)->block);
}
