// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * heap.c - what lives where.
 *
 * A realloc takes its old block out of the table at its first half, because
 * from then on another thread may be given the address; counters change at
 * its second half, because until then the block lives.
 */
#include "heap.h"

#include <errno.h>
#include <stdlib.h>

/* What has to be inlined so that figures stay in registers. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

#define REPAIRS_MAX 4u /* events pulled to one place */

enum effect { EFFECT_NONE, EFFECT_ALLOC, EFFECT_FREE, EFFECT_BEGIN, EFFECT_END, EFFECT_MAP };

/* Of a call, by class of its function. */
enum {
	EFFECT_OF_ALLOC = EFFECT_ALLOC,
	EFFECT_OF_FREE = EFFECT_FREE,
	EFFECT_OF_REALLOC = EFFECT_END,
	EFFECT_OF_MAP = EFFECT_MAP,
};

/* By function, one load instead of a chain of tests. */
static const uint8_t effect_of_call[MPROF_FN_MAX] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = EFFECT_OF_##class,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
};

static inline enum effect effect_of(const struct event *e)
{
	if (e->kind == EVENT_CALL)
		return e->fn < MPROF_FN_MAX ? effect_of_call[e->fn] : EFFECT_NONE;
	if (e->kind == EVENT_REALLOC_BEGIN)
		return EFFECT_BEGIN;
	return e->kind == EVENT_REALLOC_END ? EFFECT_END : EFFECT_NONE;
}

static inline bool effect_returns(enum effect f)
{
	return f == EFFECT_ALLOC || f == EFFECT_END;
}

static inline bool effect_gives_back(enum effect f)
{
	return f == EFFECT_FREE || f == EFFECT_BEGIN;
}

/* ---- counters ---- */

/* A block began (sign 1) or ended (-1): what lives then, of its process. */
ALWAYS_INLINE void live_step(const struct heap *h, struct pages *pages, struct live *own,
			     const struct block *b, int sign)
{
	own->bytes += sign > 0 ? b->size : -b->size;
	own->blocks += sign > 0 ? 1 : UINT64_MAX;
	own->slack += sign > 0 ? b->slack : -(uint64_t)b->slack;
	own->needed = (own->bytes + (h->page_size - 1)) >> pages->shift;
	if (!h->count_pages)
		return;
	if (sign > 0)
		pages_add(pages, b->addr, b->size);
	else
		pages_remove(pages, b->addr, b->size);
	own->pages = pages->touched;
}

static void live_add(struct heap *h, struct heap_process *p, const struct block *b, int sign)
{
	struct live own = p->live;

	live_step(h, &p->pages, &own, b, sign);
	h->all = live_sum(&h->all, &own, &p->live);
	p->live = own;
}

static void live_drop(struct heap *h, struct heap_process *p)
{
	h->all.bytes -= p->live.bytes;
	h->all.blocks -= p->live.blocks;
	h->all.slack -= p->live.slack;
	h->all.pages -= p->live.pages;
	h->all.needed -= p->live.needed;
	p->live = (struct live){ .bytes = 0 };
}

/* The event being applied. */
struct step {
	struct heap *h;
	struct window *w;
	struct heap_process *p;
	struct heap_thread *t;
	struct note *n;
	const struct live *rest; /* of the other processes than p */
	size_t at;
	uint64_t number;
	unsigned repairs; /* made at this place */
};

/* ---- problems ---- */

static void problem(struct heap *h, enum heap_problem_kind kind, const struct event *e,
		    uint64_t number, uint64_t late_ticks)
{
	h->problems[kind]++;
	if (h->kept == HEAP_PROBLEMS)
		return;
	h->problem[h->kept++] = (struct heap_problem){
		.kind = kind,
		.event = number,
		.ticks = e->ticks,
		.addr = e->addr,
		.late_ticks = late_ticks,
		.process = e->process,
		.thread = e->thread,
	};
}

/* Events of the thread of event j that stand in [i, j] go to i, in their order. */
static void pull_thread(struct window *w, size_t i, size_t j)
{
	const uint32_t thread = window_at(w, j)->thread;
	size_t k;

	for (k = i; k <= j; k++)
		if (window_at(w, k)->thread == thread)
			window_pull(w, i++, k);
}

#define NAMELESS 0x80000000u /* in event.block: that number is another block's now */

/*
 * e and `first` were named in their order, and now `first` goes first.  An end that waited
 * for its block gets the block's number.  A block that waited for an end leaves its number
 * to the one that was taken; when it was the block that `first` was named by, nobody has
 * a number for it any more, and it is found by its address.
 */
static void rename_pulled(struct event *e, struct event *first, uint32_t taken)
{
	if (effect_returns(effect_of(first))) {
		e->block = first->block;
		return;
	}
	if (first->block)
		e->block |= NAMELESS;
	first->block = taken;
}

/*
 * The event at i contradicts the table.  Is an event of another thread, of
 * the sort wanted, at the same address, just behind it?  Then it goes first,
 * and with it what its thread did before.  taken: the number of the block in
 * the way, 0 if it has none.
 */
static bool repair(struct step *s, bool (*wanted)(enum effect), uint32_t taken)
{
	const struct event *e = window_at(s->w, s->at), *other;
	uint64_t late;
	size_t j;

	/* Two threads whose events contradict each other both ways would swap for ever. */
	if (s->repairs == REPAIRS_MAX)
		return false;
	for (j = s->at + 1; j < s->w->count; j++) {
		other = window_at(s->w, j);
		late = other->ticks > e->ticks ? other->ticks - e->ticks : 0;
		if (late > s->h->inversion_ticks)
			return false;
		if (other->process != e->process || other->addr != e->addr ||
		    other->thread == e->thread || !wanted(effect_of(other)))
			continue;
		if (late > s->h->clock_ticks) {
			problem(s->h, HEAP_INVERSION, e, s->number, late);
			s->p->inversions++;
		}
		rename_pulled(window_at(s->w, s->at), window_at(s->w, j), taken);
		pull_thread(s->w, s->at, j);
		s->repairs++;
		return true;
	}
	return false;
}

/* ---- blocks ---- */

/* The block that an event is about: by number; what came with fork or has none, by address. */
static inline struct block *find(const struct step *s, const struct event *e)
{
	struct block *b = own_find(&s->p->own, e->block & ~NAMELESS);

	if (__builtin_expect(b && e->block & NAMELESS && b->addr != e->addr, 0))
		b = NULL;
	if (__builtin_expect(!b && s->p->others.used && e->addr, 0))
		b = blocks_find(&s->p->others, e->addr);
	return b;
}

static inline void take_out(struct step *s, struct block *b)
{
	if (heap_block_number(s->p, b))
		b->addr = 0;
	else
		blocks_take(&s->p->others, b);
}

static __attribute__((noinline)) bool put_in_others(struct heap_process *p, struct block b)
{
	return blocks_put(&p->others, &b) == 0;
}

/* Puts in a block that is not there; false without memory.  By value, so that its fields go
 * from registers: what was just written a field at a time is slow to copy. */
static inline bool put_in(struct heap_process *p, uint32_t number, const struct block b)
{
	struct block *to;

	if (__builtin_expect(!number, 0))
		return put_in_others(p, b);
	to = own_place(&p->own, number);
	if (to)
		*to = b;
	return to;
}

/* Puts a block back where it was; false when another one is there. */
static bool put_back(struct heap *h, struct heap_process *p, const struct block *old,
		     uint32_t number)
{
	if (number ? own_find(&p->own, number) : blocks_find(&p->others, old->addr))
		return false;
	if (!put_in(p, number, *old))
		h->error = -ENOMEM;
	return true;
}

/* ---- one event ---- */

static inline void block_ends(struct step *s, const struct block *b)
{
	s->n->old = *b;
	if (b->owner & BLOCK_INHERITED) {
		s->n->did |= NOTE_INHERITED;
		return;
	}
	s->n->did |= NOTE_ENDED;
	live_add(s->h, s->p, b, -1);
}

/* The address is taken.  False when the event must be read again: another went first. */
static bool make_room(struct step *s, const struct event *e, struct block *taken)
{
	if (taken->addr == e->addr && repair(s, effect_gives_back, heap_block_number(s->p, taken)))
		return false;
	s->n->old = *taken;
	/* An inherited block may have been freed by the parent while it forked. */
	if (!(taken->owner & BLOCK_INHERITED)) {
		problem(s->h, HEAP_DOUBLE_ALLOCATION, e, s->number, 0);
		s->n->problem = HEAP_DOUBLE_ALLOCATION + 1;
		s->n->did |= NOTE_DROPPED;
		s->n->taken = heap_block_number(s->p, taken);
		live_add(s->h, s->p, taken, -1);
	}
	take_out(s, taken);
	return true;
}

static inline struct block block_of(const struct event *e, uint32_t owner, uint64_t number)
{
	const uint64_t slack = e->usable > e->size ? e->usable - e->size : 0;

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

/* Returns false when the event must be read again. */
static inline bool block_begins(struct step *s, const struct event *e, uint32_t flags)
{
	const struct block b = block_of(e, (s->n->thread & BLOCK_THREAD) | flags, s->number);
	struct block *taken = find(s, e);

	if (__builtin_expect(taken != NULL, 0) && !make_room(s, e, taken))
		return false;
	if (__builtin_expect(e->block & NAMELESS, 0))
		window_at(s->w, s->at)->block = 0;
	if (!put_in(s->p, e->block, b))
		s->h->error = -ENOMEM;
	s->n->did |= NOTE_BEGAN;
	live_add(s->h, s->p, &b, 1);
	return true;
}

/* Did the parent get this block while it forked, so that the snapshot missed it? */
static bool came_with_fork(const struct step *s, uint64_t addr)
{
	struct heap_process *p = s->p;
	const struct block *b = NULL;

	if (!p->parent)
		return false;
	while (!p->forked_known && (b = heap_next_block(s->h->process[p->parent - 1], b)))
		if (b->start >= p->fork_ticks && b->start <= p->start_ticks &&
		    !blocks_find(&p->forked, b->addr) && blocks_put(&p->forked, b) < 0)
			s->h->error = -ENOMEM;
	p->forked_known = true;
	return blocks_find(&p->forked, addr);
}

static bool no_such_block(struct step *s, const struct event *e)
{
	if (came_with_fork(s, e->addr))
		return true;
	if (repair(s, effect_returns, 0))
		return false;
	if (s->h->from_the_middle) {
		s->h->older_frees++;
		return true;
	}
	problem(s->h, HEAP_UNMATCHED_FREE, e, s->number, 0);
	s->n->problem = HEAP_UNMATCHED_FREE + 1;
	return true;
}

static inline bool apply_free(struct step *s, const struct event *e)
{
	struct block *b = find(s, e);

	if (__builtin_expect(!b, 0))
		return !e->addr || no_such_block(s, e);
	block_ends(s, b);
	s->n->ended = heap_block_number(s->p, b);
	take_out(s, b);
	return true;
}

static bool apply_begin(struct step *s, const struct event *e)
{
	struct block *b = find(s, e);

	if (!b && e->addr && !no_such_block(s, e))
		return false;
	s->t->pending = true;
	s->t->pending_old = b != NULL;
	s->n->taken = b ? heap_block_number(s->p, b) : 0;
	if (b) {
		s->t->old = *b;
		s->t->number_old = s->n->taken;
		take_out(s, b);
	}
	return true;
}

/* A realloc that failed: its block lives on, unless someone was given the address. */
static void restore(struct step *s, const struct event *e)
{
	s->n->old = s->t->old;
	s->n->did |= NOTE_RESTORED;
	if ((s->t->number_old && !e->block) ||
	    !put_back(s->h, s->p, &s->t->old, s->t->number_old)) {
		block_ends(s, &s->t->old);
		s->n->ended = s->t->number_old;
	}
}

static bool apply_end(struct step *s, const struct event *e)
{
	const bool old = s->t->pending && s->t->pending_old;

	/* The new block first: this may ask to read again, with nothing done yet. */
	if (e->addr && !block_begins(s, e, old ? BLOCK_RESIZED : 0))
		return false;
	if (old) {
		s->n->did |= NOTE_HAD_OLD;
		if (e->addr || !e->size) {
			block_ends(s, &s->t->old);
			s->n->ended = s->t->number_old;
		} else {
			restore(s, e);
		}
	}
	s->t->pending = false;
	return true;
}

static __attribute__((noinline)) bool apply_map(struct step *s, const struct event *e)
{
	s->n->did |= NOTE_MAPPED;
	if (space_apply(&s->p->space, e, s->h->page_size, &s->h->changes, &s->n->space) < 0)
		s->h->error = -ENOMEM;
	return true;
}

static inline bool apply(struct step *s, const struct event *e)
{
	switch (effect_of(e)) {
	case EFFECT_ALLOC:
		return !e->addr || block_begins(s, e, 0);
	case EFFECT_FREE:
		return apply_free(s, e);
	case EFFECT_BEGIN:
		return apply_begin(s, e);
	case EFFECT_END:
		return apply_end(s, e);
	case EFFECT_MAP:
		return apply_map(s, e);
	default:
		return true;
	}
}

static __attribute__((noinline)) void change_who(struct step *s, const struct event *e)
{
	const uint32_t process = heap_process(s->h, e->process);
	const uint32_t thread = heap_thread(s->h, e->thread, process); /* may move the array */
	static const struct live none;
	struct heap *h = s->h;

	s->t = &h->thread[thread];
	s->t->process = process;
	if (s->p == h->process[process])
		return;
	s->p = h->process[process];
	h->rest[h->rests] = live_sum(&h->all, &none, &s->p->live);
	s->rest = &h->rest[h->rests++];
}

static inline void find_who(struct step *s, const struct event *e)
{
	if (__builtin_expect(!s->t || s->t->number != e->thread || s->p->number != e->process, 0))
		change_who(s, e);
	s->n->process = s->t->process;
	s->n->thread = (uint32_t)(s->t - s->h->thread);
}

#define AHEAD 12 /* events: memory has answered by then */

PREFETCHES look_ahead(const struct step *s, size_t at)
{
	own_prefetch(&s->p->own, window_at(s->w, at + AHEAD)->block);
}

static void apply_one(struct step *s)
{
	const struct event *e;

	s->number = ++s->h->number;
	s->repairs = 0;
	do {
		/* Read again after an inversion was repaired: another event is here. */
		e = window_at(s->w, s->at);
		find_who(s, e);
		s->n->did = 0;
		s->n->problem = 0;
		s->n->ended = 0;
		look_ahead(s, s->at);
		if (s->p->state == HEAP_ENDED) {
			s->p->late++;
			break;
		}
	} while (!apply(s, e));
	if (s->n->did & NOTE_MAPPED)
		return;
	s->n->own = s->p->live;
	s->n->rest = s->rest;
}

/* Most of all events: of one thread, and nothing has to be decided for them. */
struct run {
	struct heap *h;
	struct heap_process *p;
	struct heap_thread *t;
	struct live own; /* live blocks of p */
	uint64_t number;
	uint64_t most_bytes, most_blocks; /* of `own` after any of its events */
	bool odd;			  /* one is not plain, see heap_apply */
};

ALWAYS_INLINE void run_begins(struct run *r, const struct event *e, struct block *to,
			      uint32_t flags)
{
	*to = block_of(e, ((uint32_t)(r->t - r->h->thread) & BLOCK_THREAD) | flags, r->number);
	live_step(r->h, &r->p->pages, &r->own, to, 1);
}

ALWAYS_INLINE void run_ends(struct run *r, struct note *n, uint32_t number)
{
	n->ended = number;
	r->odd |= n->old.owner & BLOCK_RESIZED;
	live_step(r->h, &r->p->pages, &r->own, &n->old, -1);
}

/* The block that an event is about, in its place in the table; NULL: go the long way. */
ALWAYS_INLINE struct block *run_place(const struct run *r, const struct event *e, bool live)
{
	struct block *b;

	if (e->block - 1 >= r->p->own.n)
		return NULL;
	b = &r->p->own.block[e->block - 1];
	if ((b->addr != 0) != live)
		return NULL;
	return live && b->owner & BLOCK_INHERITED ? NULL : b;
}

ALWAYS_INLINE bool run_realloc_begins(struct run *r, const struct event *e, struct note *n)
{
	struct block *b = e->addr || e->block ? run_place(r, e, true) : NULL;

	if (!b && (e->addr || e->block))
		return false;
	r->odd = true;
	r->t->pending = true;
	r->t->pending_old = b != NULL;
	n->taken = e->block;
	if (b) {
		r->t->old = *b;
		r->t->number_old = e->block;
		b->addr = 0;
	}
	return true;
}

ALWAYS_INLINE bool run_realloc_ends(struct run *r, const struct event *e, struct note *n)
{
	const bool old = r->t->pending && r->t->pending_old;
	struct block *b = e->addr ? run_place(r, e, false) : NULL;

	if (!b || (old && r->t->old.owner & BLOCK_INHERITED))
		return false;
	r->odd = true;
	r->t->pending = false;
	run_begins(r, e, b, old ? BLOCK_RESIZED : 0);
	n->did = NOTE_BEGAN;
	if (old) {
		n->old = r->t->old;
		run_ends(r, n, r->t->number_old);
		n->did = NOTE_BEGAN | NOTE_ENDED | NOTE_HAD_OLD;
	}
	return true;
}

/* False when the event has to be decided: nothing was done with it. */
ALWAYS_INLINE bool run_event(struct run *r, const struct event *e, struct note *n)
{
	struct block *b;

	n->did = 0;
	n->ended = 0;
	switch (effect_of(e)) {
	case EFFECT_ALLOC:
		b = e->addr ? run_place(r, e, false) : NULL;
		if (!b)
			return false;
		run_begins(r, e, b, 0);
		n->did = NOTE_BEGAN;
		return true;
	case EFFECT_FREE:
		if (!e->addr && !e->block)
			return true;
		b = run_place(r, e, true);
		if (!b)
			return false;
		n->old = *b;
		b->addr = 0;
		run_ends(r, n, e->block);
		n->did = NOTE_ENDED;
		return true;
	case EFFECT_BEGIN:
		return run_realloc_begins(r, e, n);
	case EFFECT_END:
		return run_realloc_ends(r, e, n);
	default:
		return false;
	}
}

/* Is this the most that ever was live in the process, or in the run? */
static inline void note_most(const struct step *s, uint64_t bytes, uint64_t blocks)
{
	const uint64_t all_bytes = bytes + s->rest->bytes, all_blocks = blocks + s->rest->blocks;
	struct heap_process *p = s->p;
	struct heap *h = s->h;

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

/* A run from s->at on, if there is one.  Returns its length. */
static size_t apply_run(struct step *s, size_t done, size_t n, bool *odd)
{
	struct run r = {
		.h = s->h, .p = s->p, .t = s->t, .own = s->p->live, .number = s->h->number
	};
	static const struct live none;
	const struct live *rest = s->rest;
	uint16_t *end = s->h->end + s->h->ends;
	const uint32_t process = s->t->process, thread = (uint32_t)(s->t - s->h->thread);
	const struct event *e = window_at(s->w, s->at);
	struct note *to = s->n;
	size_t i;

	/* An address may be that of an inherited block. */
	if (r.p->state == HEAP_ENDED || r.p->others.used || s->h->no_runs)
		return 0;
	for (i = 0; i < n && e->thread == r.t->number && e->process == r.p->number; i++) {
		look_ahead(s, s->at + i);
		r.number++;
		if (!run_event(&r, e, to)) {
			r.number--;
			break;
		}
		to->process = process;
		to->thread = thread;
		to->problem = 0;
		to->own = r.own;
		to->rest = rest;
		r.most_bytes = r.own.bytes > r.most_bytes ? r.own.bytes : r.most_bytes;
		r.most_blocks = r.own.blocks > r.most_blocks ? r.own.blocks : r.most_blocks;
		*end = (uint16_t)(done + i);
		end += to->did / NOTE_ENDED & 1;
		e++;
		to++;
	}
	s->p->live = r.own;
	s->h->all = live_sum(&r.own, rest, &none);
	s->h->ends = (size_t)(end - s->h->end);
	note_most(s, r.most_bytes, r.most_blocks);
	s->h->number = r.number;
	*odd |= r.odd;
	return i;
}

static bool is_plain(const struct step *s)
{
	const struct event *e = window_at(s->w, s->at);
	const struct note *n = s->n;

	return e->kind == EVENT_CALL && e->fn < MPROF_FN_MMAP &&
	       !(n->did & ~(NOTE_BEGAN | NOTE_ENDED)) &&
	       !(n->did & NOTE_ENDED && n->old.owner & BLOCK_RESIZED);
}

bool heap_apply(struct heap *h, struct window *w, size_t first, size_t n, struct note *note)
{
	struct step s = { .h = h, .w = w };
	bool odd = false;
	size_t i = 0, run;

	h->changes.count = 0;
	h->rests = h->ends = 0;
	h->grew = false;
	while (i < n) {
		s.at = first + i;
		s.n = &note[i];
		find_who(&s, window_at(w, s.at));
		run = apply_run(&s, i, n - i, &odd);
		if (!run) {
			apply_one(&s);
			odd |= !is_plain(&s);
			note_most(&s, s.p->live.bytes, s.p->live.blocks);
			if (note[i].did & (NOTE_ENDED | NOTE_DROPPED))
				h->end[h->ends++] = (uint16_t)i;
			run = 1;
		}
		i += run;
	}
	return !odd;
}

static void inherit(struct heap *h, struct heap_process *to, const struct block *from)
{
	struct block b = *from;

	b.owner |= BLOCK_INHERITED;
	if (!blocks_find(&to->others, b.addr) && blocks_put(&to->others, &b) < 0)
		h->error = -ENOMEM;
}

void heap_fork(struct heap *h, uint32_t parent, uint32_t child, uint64_t fork_ticks,
	       uint64_t start_ticks)
{
	struct heap_process *from = h->process[parent], *to = h->process[child];
	const struct block *b = NULL;
	size_t t;

	if (parent == child)
		return;
	to->parent = parent + 1;
	to->fork_ticks = fork_ticks;
	to->start_ticks = start_ticks;
	own_release(&to->own);
	blocks_release(&to->others);
	if (space_inherit(&to->space, &from->space) < 0)
		h->error = -ENOMEM;
	while ((b = heap_next_block(from, b)))
		inherit(h, to, b);
	for (t = 0; t < h->threads; t++) {
		if (!h->thread[t].pending || !h->thread[t].pending_old ||
		    h->thread[t].process != parent)
			continue;
		inherit(h, to, &h->thread[t].old);
	}
}

void heap_settle(struct heap *h, uint32_t process)
{
	struct heap_process *p = h->process[process];
	struct heap_thread *t;

	for (t = h->thread; t < h->thread + h->threads; t++) {
		if (t->process != process || !t->pending)
			continue;
		t->pending = false;
		if (!t->pending_old)
			continue;
		if (!put_back(h, p, &t->old, t->number_old) && !(t->old.owner & BLOCK_INHERITED))
			live_add(h, p, &t->old, -1);
	}
}

void heap_clear(struct heap *h, uint32_t process, bool ended)
{
	struct heap_process *p = h->process[process];

	heap_settle(h, process);
	live_drop(h, p);
	own_release(&p->own);
	blocks_release(&p->others);
	blocks_release(&p->forked);
	p->forked_known = false;
	pages_clear(&p->pages);
	space_release(&p->space);
	p->parent = 0;
	if (ended)
		p->state = HEAP_ENDED;
}
