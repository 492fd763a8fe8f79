// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * heap.c - which blocks live at which addresses.
 *
 * A realloc takes its old block out of the table at its first half, because
 * another thread may receive the address from then on; counters change at its
 * second half, because the block lives until then.
 */
#include "event_run.h"

#define REPAIRS_MAX 4u /* events pulled to one position */

static inline bool effect_returns(enum effect f)
{
	return f == EFFECT_ALLOC || f == EFFECT_END;
}

static inline bool effect_gives_back(enum effect f)
{
	return f == EFFECT_FREE || f == EFFECT_BEGIN;
}

/* ---- counters ---- */

static void live_add(struct heap *h, struct heap_process *p, const struct block *b, int sign)
{
	struct live own = p->live;

	live_step(&p->pages, &own, b, sign, h->count_pages);
	own.needed = live_needed(&own, &p->pages);
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

/* The event that is being applied. */
struct step {
	struct heap *h;
	struct window *w;
	struct heap_process *p;
	struct heap_thread *t;
	struct note *n;
	const struct live *rest; /* live blocks of all processes except p */
	size_t at;
	uint64_t number;
	unsigned repairs; /* made at this place */
	/* By find(): a block, and its number, or its place if it has none. */
	struct block found;
	uint32_t found_number;
	struct block *found_other;
};

/* ---- problems ---- */

static void problem(struct heap *h, enum heap_problem_kind kind, const struct event *e,
		    uint64_t number)
{
	h->problems[kind]++;
	if (h->kept == HEAP_PROBLEMS)
		return;
	h->problem[h->kept++] = (struct heap_problem){
		.kind = kind,
		.event = number,
		.ticks = e->ticks,
		.addr = e->addr,
		.process = e->process,
		.thread = e->thread,
	};
}

/* Moves the events in [i, j] of the thread of event j to i, in order. */
static void pull_thread(struct window *w, size_t i, size_t j)
{
	const uint32_t thread = window_at(w, j)->thread;
	size_t k;

	for (k = i; k <= j; k++)
		if (window_at(w, k)->thread == thread)
			window_pull(w, i++, k);
}

/*
 * e and `first` were numbered in their old order; now `first` is applied first. An end that waited
 * for its block gets the number of the block. A block that waited for an end passes its number to
 * the block that was taken; if that named `first`, the block has no number any more and is found by
 * its address.
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

/* An event at this place of the window and the one at j have another order now. */
static void moved(struct step *s, size_t j)
{
	s->repairs++;
	if (j >= WINDOW_BATCH)
		s->h->crossed = s->number;
}

/*
 * The event at i contradicts the table. If another thread has a wanted event at the same address
 * shortly after it, that event is applied first, with the earlier events of its thread. taken:
 * number of the conflicting block, 0 if it has none.
 */
static bool repair(struct step *s, bool (*wanted)(enum effect), uint32_t taken)
{
	const struct event *e = window_at(s->w, s->at), *other;
	uint64_t late;
	size_t j;

	/* Two threads whose events contradict each other both ways would swap forever. */
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
			problem(s->h, HEAP_INVERSION, e, s->number);
			s->p->inversions++;
		}
		rename_pulled(window_at(s->w, s->at), window_at(s->w, j), taken);
		pull_thread(s->w, s->at, j);
		moved(s, j);
		return true;
	}
	return false;
}

/* Returns the last free of this address by another thread within inversion_ticks before, or
 * NULL. */
static const struct event *freed_before(const struct step *s)
{
	const struct event *e = window_at(s->w, s->at), *other;
	size_t i;

	for (i = 1; (other = window_ago(s->w, s->at, i)); i++) {
		if (e->ticks > other->ticks + s->h->inversion_ticks)
			return NULL;
		if (other->process == e->process && other->addr == e->addr &&
		    other->thread != e->thread && effect_gives_back(effect_of(other)))
			return other;
	}
	return NULL;
}

/* Returns the position of the next event of this address within inversion_ticks; 0 if there is
 * none. */
static size_t next_of_address(const struct step *s)
{
	const struct event *e = window_at(s->w, s->at), *other;
	size_t j;

	for (j = s->at + 1; j < s->w->count; j++) {
		other = window_at(s->w, j);
		if (other->ticks > e->ticks + s->h->inversion_ticks)
			return 0;
		if (other->process == e->process && other->addr == e->addr)
			return j;
	}
	return 0;
}

/*
 * A free of a block that another thread has just freed. If the address is allocated directly
 * afterwards, the other thread read its clock too early: it freed the block that begins there. So
 * this free is moved after the allocation; which thread freed which block cannot be known.
 */
static bool put_off(struct step *s, size_t j)
{
	struct event *e = window_at(s->w, s->at), late;
	const struct event *early, *next = window_at(s->w, j);
	size_t i;

	if (e->kind != EVENT_CALL || s->repairs == REPAIRS_MAX || !effect_returns(effect_of(next)))
		return false;
	early = freed_before(s);
	if (!early)
		return false;
	if (next->ticks > early->ticks + s->h->clock_ticks) {
		problem(s->h, HEAP_INVERSION, e, s->number);
		s->p->inversions++;
	}
	late = *e;
	late.thread = early->thread;
	late.block = next->block;
	for (i = s->at; i < j; i++)
		*window_at(s->w, i) = *window_at(s->w, i + 1);
	*window_at(s->w, j) = late;
	moved(s, j);
	return true;
}

/* ---- blocks ---- */

/* Returns the block of an event: by number; an inherited block, or one without a number, by
 * address. */
static inline const struct block *find(struct step *s, const struct event *e)
{
	const uint32_t number = e->block & ~NAMELESS;
	const struct own_block *b = own_find(&s->p->own, number);

	if (__builtin_expect(b && e->block & NAMELESS && b->addr != e->addr, 0))
		b = NULL;
	if (b) {
		s->found = own_block(&s->p->own, b);
		s->found_number = number;
		return &s->found;
	}
	s->found_other = e->addr ? blocks_find(&s->p->others, e->addr) : NULL;
	if (!s->found_other)
		return NULL;
	s->found = *s->found_other;
	s->found_number = 0;
	return &s->found;
}

/* Takes the block that was found out of its table. */
static inline void take_out(struct step *s)
{
	if (s->found_number)
		own_drop(&s->p->own, own_find(&s->p->own, s->found_number));
	else
		blocks_take(&s->p->others, s->found_other);
}

static __attribute__((noinline)) void put_in_others(struct heap_process *p, struct block b)
{
	blocks_put(&p->others, &b);
}

/* Adds a block.  It is passed by value, so that its fields come from registers: copying what was
 * just written field by field is slow. */
static inline void put_in(struct heap_process *p, uint32_t number, const struct block b)
{
	if (__builtin_expect(!number, 0))
		put_in_others(p, b);
	else
		own_put(&p->own, own_place(&p->own, number), &b);
}

/* Puts a block back at its address; false if another one is there. */
static bool put_back(struct heap_process *p, const struct block *old, uint32_t number)
{
	if (number ? own_find(&p->own, number) != NULL : blocks_find(&p->others, old->addr) != NULL)
		return false;
	put_in(p, number, *old);
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

/* Handles an address that is in use.  False if the event must be read again because another one
 * was applied first. */
static bool evict(struct step *s, const struct event *e, const struct block *taken)
{
	if (taken->addr == e->addr && repair(s, effect_gives_back, s->found_number))
		return false;
	s->n->old = *taken;
	/* An inherited block may have been freed by the parent while it forked. */
	if (!(taken->owner & BLOCK_INHERITED)) {
		problem(s->h, HEAP_DOUBLE_ALLOCATION, e, s->number);
		s->n->problem = HEAP_DOUBLE_ALLOCATION + 1;
		s->n->did |= NOTE_DROPPED;
		s->n->taken = s->found_number;
		live_add(s->h, s->p, taken, -1);
	}
	take_out(s);
	return true;
}

/* Returns false when the event must be read again. */
static inline bool block_begins(struct step *s, const struct event *e, uint32_t flags)
{
	const struct block b =
	    block_of(e, event_slack(e), (s->n->thread & BLOCK_THREAD) | flags, s->number);
	const struct block *taken = find(s, e);

	if (__builtin_expect(taken != NULL, 0) && !evict(s, e, taken))
		return false;
	if (__builtin_expect(e->block & NAMELESS, 0))
		window_at(s->w, s->at)->block = 0;
	put_in(s->p, e->block, b);
	s->n->did |= NOTE_BEGAN;
	live_add(s->h, s->p, &b, 1);
	return true;
}

/* Did the parent allocate this block while it forked, so that the snapshot missed it? */
static bool came_with_fork(const struct step *s, uint64_t addr)
{
	struct heap_process *p = s->p;
	struct heap_round round = { 0 };
	const struct block *b;

	if (!p->parent)
		return false;
	while (!p->forked_known && (b = heap_next_block(s->h->process[p->parent - 1], &round)))
		if (b->start >= p->fork_ticks && b->start <= p->start_ticks &&
		    !blocks_find(&p->forked, b->addr))
			blocks_put(&p->forked, b);
	p->forked_known = true;
	return blocks_find(&p->forked, addr);
}

/*
 * A free of an unknown block. If its own thread is the next to allocate the
 * address, an allocation by another thread comes later still and would be
 * pulled over it, which is less likely.
 */
static bool put_right(struct step *s)
{
	const size_t next = next_of_address(s);

	if (next && window_at(s->w, next)->thread == window_at(s->w, s->at)->thread)
		return put_off(s, next) || repair(s, effect_returns, 0);
	return repair(s, effect_returns, 0) || (next && put_off(s, next));
}

static bool no_such_block(struct step *s, const struct event *e)
{
	if (came_with_fork(s, e->addr))
		return true;
	if (put_right(s))
		return false;
	if (s->h->from_the_middle) {
		s->h->older_frees++;
		return true;
	}
	problem(s->h, HEAP_UNMATCHED_FREE, e, s->number);
	s->n->problem = HEAP_UNMATCHED_FREE + 1;
	return true;
}

static inline bool apply_free(struct step *s, const struct event *e)
{
	const struct block *b = find(s, e);

	if (__builtin_expect(!b, 0))
		return !e->addr || no_such_block(s, e);
	block_ends(s, b);
	s->n->ended = s->found_number;
	take_out(s);
	return true;
}

static bool apply_begin(struct step *s, const struct event *e)
{
	const struct block *b = find(s, e);

	if (!b && e->addr && !no_such_block(s, e))
		return false;
	s->h->reallocs += !s->t->pending;
	s->t->pending = true;
	s->t->pending_old = b != NULL;
	s->n->taken = b ? s->found_number : 0;
	if (b) {
		s->t->old = *b;
		s->t->number_old = s->n->taken;
		take_out(s);
	}
	return true;
}

/* Handles a realloc that failed: its block stays live, unless the address was allocated again. */
static void restore(struct step *s, const struct event *e)
{
	s->n->old = s->t->old;
	s->n->did |= NOTE_RESTORED;
	if ((s->t->number_old && !e->block) || !put_back(s->p, &s->t->old, s->t->number_old)) {
		block_ends(s, &s->t->old);
		s->n->ended = s->t->number_old;
	}
}

static bool apply_end(struct step *s, const struct event *e)
{
	const bool old = s->t->pending && s->t->pending_old;

	/* Do the new block first: this may require reading again, and nothing has changed yet. */
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
	s->h->reallocs -= s->t->pending;
	s->t->pending = false;
	return true;
}

static __attribute__((noinline)) bool apply_map(struct step *s, const struct event *e)
{
	s->n->did |= NOTE_MAPPED;
	space_apply(&s->p->space, e, s->h->page_size, &s->h->changes, &s->n->space);
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

static void apply_one(struct step *s)
{
	const struct event *e;

	s->number = ++s->h->number;
	s->repairs = 0;
	do {
		/* Read it again after an inversion was repaired, because the event here has
		 * changed. */
		e = window_at(s->w, s->at);
		find_who(s, e);
		s->n->did = 0;
		s->n->problem = 0;
		s->n->ended = 0;
		run_look_ahead(s->p, s->w, e);
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

static inline void note_most(const struct step *s, uint64_t bytes, uint64_t blocks)
{
	heap_note_most(s->h, s->p, s->rest, bytes, blocks);
}

/* Applies a run from s->at on, if there is one, with a note for each event.  Returns its length. */
static size_t apply_run(struct step *s, size_t done, size_t n, bool *odd)
{
	const struct live *rest = s->rest;
	uint16_t *end = s->h->end + s->h->ends;
	const uint32_t process = s->t->process;
	const struct event *e = window_at(s->w, s->at);
	uint64_t most_bytes = 0, most_blocks = 0;
	struct note *to = s->n;
	struct run_did d;
	struct run r;
	size_t i;

	if (!run_start(&r, s->h, s->p, s->t))
		return 0;
	for (i = 0; i < n && run_is_of(&r, e); i++, e++, to++, r.number++) {
		run_look_ahead(r.p, s->w, e);
		if (!run_event(&r, e, &d))
			break;
		r.own.needed = live_needed(&r.own, &r.p->pages);
		to->process = process;
		to->thread = r.thread;
		to->did = (uint16_t)d.did;
		to->problem = 0;
		to->ended = d.ended;
		to->taken = d.taken;
		if (d.did & NOTE_ENDED) {
			to->old = d.old;
			run_over(&r, &d);
			*end++ = (uint16_t)(done + i);
		}
		to->own = r.own;
		to->rest = rest;
		most_bytes = r.own.bytes > most_bytes ? r.own.bytes : most_bytes;
		most_blocks = r.own.blocks > most_blocks ? r.own.blocks : most_blocks;
	}
	run_end(&r, rest);
	s->h->ends = (size_t)(end - s->h->end);
	note_most(s, most_bytes, most_blocks);
	*odd |= r.odd;
	return i;
}

static bool is_plain(const struct step *s)
{
	const struct event *e = window_at(s->w, s->at);
	const struct note *n = s->n;

	return e->kind == EVENT_CALL && !mprof_fn_maps(e->fn) &&
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

static void inherit(struct heap_process *to, const struct block *from)
{
	struct block b = *from;

	b.owner |= BLOCK_INHERITED;
	if (!blocks_find(&to->others, b.addr))
		blocks_put(&to->others, &b);
}

void heap_fork(struct heap *h, uint32_t parent, uint32_t child, uint64_t fork_ticks,
	       uint64_t start_ticks)
{
	struct heap_process *from = h->process[parent], *to = h->process[child];
	struct heap_round round = { 0 };
	const struct block *b;
	size_t t;

	if (parent == child)
		return;
	to->parent = parent + 1;
	to->fork_ticks = fork_ticks;
	to->start_ticks = start_ticks;
	own_release(&to->own);
	blocks_release(&to->others);
	space_inherit(&to->space, &from->space);
	while ((b = heap_next_block(from, &round)))
		inherit(to, b);
	for (t = 0; h->reallocs && t < h->threads; t++) {
		if (!h->thread[t].pending || !h->thread[t].pending_old ||
		    h->thread[t].process != parent)
			continue;
		inherit(to, &h->thread[t].old);
	}
}

static bool is_live_at(const struct heap_process *p, uint64_t addr)
{
	for (uint32_t i = 0; i < p->own.n; i++)
		if (p->own.block[i].addr == addr)
			return true;
	return false;
}

/*
 * In a compressed trace, the number of a block whose realloc lasts beyond its group may be another
 * block's by now; then it goes to the blocks without a number.
 */
static bool put_back_pending(struct heap_process *p, const struct heap_thread *t)
{
	const struct own_block *other = t->number_old ? own_find(&p->own, t->number_old) : NULL;

	if (!other || other->addr == t->old.addr)
		return put_back(p, &t->old, t->number_old);
	return !is_live_at(p, t->old.addr) && put_back(p, &t->old, 0);
}

void heap_settle(struct heap *h, uint32_t process)
{
	struct heap_process *p = h->process[process];
	struct heap_thread *t;

	for (t = h->thread; h->reallocs && t < h->thread + h->threads; t++) {
		if (t->process != process || !t->pending)
			continue;
		h->reallocs--;
		t->pending = false;
		if (!t->pending_old)
			continue;
		if (!put_back_pending(p, t) && !(t->old.owner & BLOCK_INHERITED))
			live_add(h, p, &t->old, -1);
	}
}

static uint64_t own_bytes(const struct heap_process *p)
{
	struct heap_round round = { 0 };
	const struct block *b;
	uint64_t bytes = 0;

	while ((b = heap_next_block(p, &round)))
		bytes += b->owner & BLOCK_INHERITED ? 0 : b->size;
	return bytes;
}

void heap_clear(struct heap *h, uint32_t process, bool ended)
{
	struct heap_process *p = h->process[process];

	heap_settle(h, process);
	if (ended)
		p->left_bytes = p->fork_ticks ? own_bytes(p) : p->live.bytes;
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
