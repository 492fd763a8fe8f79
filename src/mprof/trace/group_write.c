// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * group_write.c - events to the columns of a group (FORMAT.md 8.3).
 *
 * A batch is traversed several times before anything is decided: first to prefetch the
 * cache lines that lead to the block and sort of each event, then to follow them step by
 * step.  This hides most of the cache misses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/encode.h>

#include "group_writer.h"

/* The most bytes that an event adds to a column: OTHER, six varints of ten bytes and one more. */
#define EVENT_BYTES 64u
#define EVENT_KINDS 3u /* two remarks and itself */

static bool reserve_events(struct group_writer *w, size_t events)
{
	bool sound = true;

	for (unsigned i = 0; i < GROUP_COLUMNS; i++)
		sound &= column_room(&w->column[i], EVENT_BYTES * events);
	return sound;
}

#define TOGETHER 16u /* values: with a fixed number, compilers make vectors at -O2 */

/* Copies byte k of each value. */
static __attribute__((noinline)) void part(uint8_t *to, const uint8_t *from, size_t n, unsigned k)
{
	uint32_t value[TOGETHER];
	size_t j = 0;

	for (; n - j >= TOGETHER; j += TOGETHER) {
		memcpy(value, from + 4 * j, sizeof(value));
		for (size_t i = 0; i < TOGETHER; i++)
			to[j + i] = (uint8_t)(value[i] >> 8 * k);
	}
	for (; j < n; j++)
		to[j] = from[4 * j + k];
}

/* Is it one of the four columns of a value of four bytes? */
static bool is_wide(unsigned column)
{
	return (column >= GROUP_SORT && column < GROUP_STACK) ||
	       (column >= GROUP_NEAR && column < GROUP_FAR);
}

/* Which of the four; whole values are in the first one. */
static unsigned part_of(unsigned column)
{
	return (column - (column < GROUP_STACK ? GROUP_SORT : GROUP_NEAR)) % 4;
}

static void put(struct group_writer *w, unsigned column, uint64_t byte)
{
	column_add(&w->column[column], byte);
}

static void put_varint(struct group_writer *w, unsigned column, uint64_t value)
{
	column_add_varint(&w->column[column], value);
}

/* Writing it always and counting it sometimes costs less than a branch that goes either way. */
static inline void put_wide_if(struct group_writer *w, unsigned column, uint32_t value, bool really)
{
	struct byte_column *c = &w->column[column];

	memcpy(c->byte + c->n, &value, sizeof(value));
	c->n += really ? sizeof(value) : 0;
}

static void put_kind(struct lane *l, unsigned kind)
{
	column_add(&l->kind, kind);
}

/* ---- times ---- */

/* Ends the run of events in this bucket. */
static void put_step(struct group_writer *w, unsigned step)
{
	put(w, GROUP_STEP, step);
	put_varint(w, GROUP_GAP, w->count);
	w->count = 0;
}

static void step_exact(struct group_writer *w, uint64_t ticks)
{
	put_step(w, STEP_EXACT);
	put_varint(w, GROUP_GAP, zigzag(ticks - (w->bucket << w->shift)));
	w->bucket = ticks >> w->shift;
}

static void step_to(struct group_writer *w, uint64_t bucket)
{
	uint64_t steps = bucket - w->bucket;

	w->bucket = bucket;
	if (steps == 1 && w->count < STEP_LONG) {
		put(w, GROUP_STEP, w->count);
		w->count = 0;
	} else if (steps - 1 < STEP_EXACT - STEP_LONG) {
		put_step(w, STEP_LONG + (unsigned)(steps - 1));
	} else {
		put_step(w, STEP_FAR);
		put_varint(w, GROUP_GAP, zigzag(steps));
	}
}

/* Marks are not in the same bucket as rounded times. */
static bool is_marked(struct group_writer *w, uint64_t bucket)
{
	while (w->next_mark < w->marks && w->mark[w->next_mark] >> w->shift < bucket)
		w->next_mark++;
	return w->next_mark < w->marks && w->mark[w->next_mark] >> w->shift == bucket;
}

void group_put_time(struct group_writer *w, uint64_t ticks, bool control)
{
	uint64_t bucket = ticks >> w->shift;
	bool marked = !w->exact && is_marked(w, bucket);

	if (w->exact)
		put(w, GROUP_LOW, ticks & ((1u << w->shift) - 1));
	else if (control || marked)
		step_exact(w, ticks);
	if (bucket != w->bucket)
		step_to(w, bucket);
	w->count++;
	w->mark_at = w->exact		       ? 0
		     : w->next_mark < w->marks ? w->mark[w->next_mark] >> w->shift
					       : UINT64_MAX;
}

/* Puts the times of n events. */
static void put_times(struct group_writer *w, const struct event *e, size_t n)
{
	struct byte_column *c = &w->column[GROUP_STEP];
	uint64_t at = w->bucket, count = w->count, mark_at = w->mark_at;
	const unsigned shift = w->shift;

	for (const struct event *end = e + n; e < end; e++) {
		const uint64_t bucket = e->ticks >> shift;

		if (bucket == at && at < mark_at && e->kind != EVENT_CONTROL) {
			count++;
		} else if (bucket == at + 1 && bucket < mark_at && count < STEP_LONG &&
			   e->kind != EVENT_CONTROL) {
			column_add(c, count);
			count = 1;
			at = bucket;
		} else {
			w->bucket = at;
			w->count = count;
			group_put_time(w, e->ticks, e->kind == EVENT_CONTROL);
			at = w->bucket;
			count = w->count;
			mark_at = w->mark_at;
		}
	}
	w->bucket = at;
	w->count = count;
}

/* ---- blocks ---- */

static inline void put_near(struct group_writer *w, struct lane *l, uint64_t addr, bool really)
{
	uint64_t away = addr - l->last, eights = zigzag((uint64_t)((int64_t)away >> 3));
	bool odd = (away & 7) | (eights >= UINT32_MAX);

	put_wide_if(w, GROUP_NEAR, odd ? UINT32_MAX : (uint32_t)eights, really);
	if (__builtin_expect(odd && really, 0))
		put_varint(w, GROUP_FAR, zigzag(away));
}

/* Returns the first of all names that fit. */
static inline unsigned name_of(struct group_writer *w, struct lane *l, struct pile *p,
			       uint64_t addr)
{
	unsigned right, name;

	if (pile_is_top(p, addr)) {
		p->n--;
		return NAME_PILE;
	}
	right = pile_find(p, addr) << NAME_PILE;
	right |= (unsigned)(addr == l->given) << NAME_GIVEN;
	right |= (unsigned)(addr == l->last + l->usable + 8) << NAME_BEHIND;
	right |= (unsigned)(addr == l->last + l->usable) << NAME_NEXT;
	right |= (unsigned)(addr == l->carve) << NAME_CARVED;
	name = (unsigned)__builtin_ctz(right | 1u << NAME_NONE);
	if (name < NAME_PILE + GROUP_PILE_DEPTH)
		pile_pull(p, name - NAME_PILE);
	put_near(w, l, addr, name == NAME_NONE);
	return name;
}

/* Decides how the sorts of n births of a lane are told. */
static void guess_sorts(struct group_writer *w, struct lane *l, struct coming *b, size_t n)
{
	struct byte_column *c = &w->column[GROUP_SORT];
	struct sort *sorts = w->sorts->sort;
	struct last_sorts last = l->sorts;
	uint8_t *to = c->byte + c->n;

	for (struct coming *stop = b + n; b < stop; b++) {
		uint32_t *of_two = guess_of_two(&w->guesses, &last);
		bool not_two = b->sort != *of_two;
		bool none = not_two & (b->sort != guess_of_one(&w->guesses, sorts, &last));

		memcpy(to, &b->sort, sizeof(b->sort));
		to += none ? sizeof(b->sort) : 0;
		guess_learn(&w->guesses, sorts, &last, of_two, b->sort);
		b->guess = GUESS_OF_TWO + not_two + none;
	}
	c->n = (size_t)(to - c->byte);
	l->sorts = last;
}

ALWAYS_INLINE bool birth(struct group_writer *w, struct lane *l, const struct coming *c)
{
	const struct event *e = c->e;
	struct slot *b;
	uint32_t slot;
	unsigned name;

	if (e->kind == EVENT_REALLOC_END)
		slots_settle(&w->slots, l);
	if (__builtin_expect(*c->cell, 0)) {
		slot = *c->cell - 1;
		put_kind(l, KIND_AGAIN);
		put_wide_if(w, GROUP_SLOT, slot, true);
	} else {
		slot = slots_take(l);
	}
	if (slot == SLOT_NONE || !slots_born(&w->slots, l, slot))
		return false;
	name = name_of(w, l, pile_of(&w->piles, l, c->pile), e->addr);
	put_kind(l, KIND_BIRTH + c->guess * NAMES + name);
	lane_handed(l, name, e->addr, e->usable);
	b = &l->home->slot[slot];
	b->pile = c->pile;
	b->sort = c->sort;
	*c->cell = slot + 1;
	return true;
}

/* s: sort of the block. */
static inline unsigned op_of(const struct group_writer *w, const struct event *e, unsigned what,
			     const struct sort *s)
{
	if (__builtin_expect(!(e->size | e->arg | e->error | e->factors), 1))
		return what / IS_OP;
	if (e->arg || e->error || e->factors || e->size != sort_sizes(w->sorts, s).size ||
	    e->kind == EVENT_REALLOC_BEGIN)
		return OP_OTHER;
	return w->sized[e->fn];
}

static inline uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * Returns how a block is named relative to blocks that this thread, or its owner, allocated near
 * it: the first way that fits.  Tables and minima, since no branch could be foreseen.
 */
static inline enum group_how how_of(struct group_writer *w, const struct lane *l, uint32_t slot,
				    struct birth birth)
{
	enum { N = HOW_NEAR, B = HOW_BESIDE, NO = HOW_SLOT };
	static const uint8_t near_name[] = { N,	    N + 1, N + 2, N + 3, NO,
					     N + 4, N + 5, N + 6, N + 7, NO };
	static const uint8_t beside_name[] = { B, B + 1, B + 2, NO, B + 3, B + 4, B + 5, NO };
	uint32_t recent = l->births - 1 - birth.born, near = birth.born - l->freed_born + 4;
	uint32_t beside = slot - l->freed_slot + 3, how;

	recent |= -(uint32_t)(birth.lane != l->number);
	near |= -(uint32_t)(birth.lane != l->freed_lane);
	recent |= (uint32_t)(recent >= HOW_NEAR) << 5;
	how = least(near_name[least(near, 9)], beside_name[least(beside, 7)]);
	how = least(recent, how);
	put_wide_if(w, GROUP_SLOT, slot, how == HOW_SLOT);
	return (enum group_how)how;
}

/* Puts the kinds that precede the end of a block. */
static void before_end(struct group_writer *w, struct lane *l, const struct event *e)
{
	if (__builtin_expect(e->usable != 0, 0)) {
		put_kind(l, KIND_TOUCHED);
		put_varint(w, GROUP_OTHER, e->usable);
	}
	if (__builtin_expect(e->stack != l->free_stack, 0)) {
		put_kind(l, KIND_FREE_STACK);
		put_varint(w, GROUP_STACK, sorts_stack(w->sorts, e->stack));
		l->free_stack = e->stack;
	}
}

static inline void put_end(struct group_writer *w, struct lane *l, const struct event *e,
			   enum group_how how, unsigned op)
{
	put_kind(l, KIND_END + how * OPS + op);
	if (op != OP_OTHER)
		return;
	put_varint(w, GROUP_OTHER, e->fn | (uint64_t)e->kind << 5 | (uint64_t)e->factors << 8);
	put_varint(w, GROUP_OTHER, e->error);
	put_varint(w, GROUP_OTHER, e->size);
	put_varint(w, GROUP_OTHER, e->arg);
}

/* Puts the end of a known block. */
ALWAYS_INLINE bool end(struct group_writer *w, struct lane *l, const struct going *d, unsigned what,
		       uint32_t *cell)
{
	uint32_t slot = *cell - 1;
	bool begins;
	struct slot *b = &l->home->slot[slot];
	const struct birth birth = slots_birth(&w->slots, b);
	enum group_how how = how_of(w, l, slot, birth);

	if (__builtin_expect(what & IS_PLAIN, 1)) {
		put_kind(l, KIND_END + how * OPS + what / IS_OP);
		begins = what / IS_OP == OP_BEGIN;
	} else {
		put_end(w, l, d->e, how, op_of(w, d->e, what, &w->sorts->sort[b->sort]));
		begins = d->e->kind == EVENT_REALLOC_BEGIN;
	}
	l->freed_slot = slot;
	*cell = 0;
	/* A reader may not know the address of a block from an earlier group. */
	if (birth.lane != LANE_NONE) {
		l->freed_lane = birth.lane;
		l->freed_born = birth.born;
		l->given = d->addr;
		if (!pile_push(pile_of(&w->piles, l, b->pile), d->addr))
			return false;
	}
	if (begins) {
		w->calls--;
		slots_settle(&w->slots, l);
		l->pending = slot + 1;
		l->moving = d->addr;
	} else {
		slots_give(&w->slots, l, slot, birth);
	}
	return true;
}

static __attribute__((noinline)) void end_far(struct group_writer *w, struct lane *l,
					      const struct going *d, unsigned what)
{
	const bool plain = what & IS_PLAIN;
	const unsigned op = plain ? what / IS_OP : op_of(w, d->e, what, w->sorts->sort);
	const enum group_how how = d->addr ? HOW_FAR : HOW_NULL;

	if (plain)
		put_kind(l, KIND_END + how * OPS + op);
	else
		put_end(w, l, d->e, how, op);
	w->calls -= plain ? op == OP_BEGIN : d->e->kind == EVENT_REALLOC_BEGIN;
	if (!d->addr)
		return;
	put_varint(w, GROUP_FAR, zigzag(d->addr - w->far));
	w->far = l->given = d->addr;
}

/* Handles a realloc that returned nothing: its block is still live, or ended with size 0. */
static unsigned settle_failed(struct group_writer *w, struct lane *l, const struct event *e)
{
	uint32_t *cell;

	if (e->kind != EVENT_REALLOC_END || !l->pending)
		return KIND_OTHER;
	cell = places_find(&l->home->places, l->moving);
	if (e->size && cell && !*cell) {
		*cell = l->pending;
		l->pending = 0;
		return KIND_OTHER;
	}
	slots_settle(&w->slots, l);
	return e->size ? KIND_OTHER_GONE : KIND_OTHER;
}

static void other(struct group_writer *w, struct lane *l, const struct event *e)
{
	bool plain = e->kind == EVENT_CONTROL || e->kind == EVENT_LOST;

	w->calls -= !event_is_call(e);
	put_kind(l, settle_failed(w, l, e));
	put_varint(w, GROUP_OTHER,
		   e->kind | (uint64_t)e->fn << 3 | (uint64_t)e->factors << 8 |
		       (uint64_t)e->control << 11);
	if (plain) {
		put_varint(w, GROUP_OTHER, e->value);
		return;
	}
	put_varint(w, GROUP_STACK, sorts_stack(w->sorts, e->stack));
	put_varint(w, GROUP_OTHER, e->error);
	put_varint(w, GROUP_OTHER, e->size);
	put_varint(w, GROUP_OTHER, zigzag(e->addr - w->other_addr));
	put_varint(w, GROUP_OTHER, zigzag(e->usable - w->other_usable));
	put_varint(w, GROUP_OTHER, zigzag(e->arg - w->other_arg));
	w->other_addr = e->addr;
	w->other_usable = e->usable;
	w->other_arg = e->arg;
}

/* ---- batches ---- */

/*
 * Lists n events, up to one of another process, and prefetches what leads to their blocks.  Returns
 * the number of events before that.
 */
static size_t prepare(struct group_writer *w, const struct home *h, const struct event *e, size_t n)
{
	const uint32_t process = e->process, thread = e->thread;
	const struct places places = h->places;
	struct coming *b = w->coming;
	struct going *d = w->going;
	uint32_t others = 0;
	size_t i;

	for (i = 0; i < n && e->process == process; i++, e++) {
		unsigned what = w->what_of[e->fn][e->kind & 7];

		if (__builtin_expect(!e->addr, 0))
			what = w->what_of_null[e->fn][e->kind & 7];

		w->what[i] = (uint16_t)what;
		b->e = d->e = e;
		d->addr = e->addr;
		b->region = d->region = places_first(&places, e->addr);
		__builtin_prefetch(b->region);
		b += what & IS_BIRTH;
		d += what >> 1 & 1;
		others |= e->thread ^ thread;
	}
	w->births = (size_t)(b - w->coming);
	w->ends = (size_t)(d - w->going);
	w->mixed = others;
	return i;
}

/* Prefetches what leads to their sorts. */
static void hash_sorts(struct group_writer *w)
{
	for (struct coming *b = w->coming, *last = b + w->births; b < last; b++) {
		b->hash = sort_hash(b->e);
		sorts_prefetch(w->sorts, b->hash);
	}
}

/* The cells of births exist. */
static void find_moved_cells(struct group_writer *w, const struct places *places)
{
	for (struct going *d = w->going, *end = d + w->ends; d < end; d++)
		d->cell = places_find(places, d->addr);
	for (struct coming *b = w->coming, *end = b + w->births; b < end; b++)
		b->cell = places_find(places, b->e->addr);
}

/* Finds the cells of their addresses, and prefetches their sorts. */
static bool find_cells(struct group_writer *w, struct home *h)
{
	const struct places places = h->places;
	struct coming *b, *last = w->coming + w->births;

	for (struct going *d = w->going, *end = d + w->ends; d < end; d++) {
		d->cell = places_from(&places, d->region, d->addr);
		__builtin_prefetch(d->cell);
	}
	for (b = w->coming; b < last; b++) {
		uint32_t *cell = places_from(&places, b->region, b->e->addr);

		if (__builtin_expect(!cell, 0))
			cell = places_make(&h->places, b->e->addr, b->e->size >= PLACES_LARGE);
		if (!cell)
			return false;
		b->cell = cell;
		__builtin_prefetch(cell);
		b->sort = sorts_likely(w->sorts, b->hash, b->e->stack);
	}
	if (__builtin_expect(h->places.promoted != places.promoted, 0))
		find_moved_cells(w, &h->places);
	return true;
}

/* Finds the sorts of births, and prefetches the slots of ends. */
static bool find_sorts(struct group_writer *w, const struct home *h)
{
	/* No slots: nothing has been allocated yet, only freed. */
	for (struct going *d = w->going, *end = d + w->ends; h->slot && d < end; d++)
		if (d->cell) /* it is 0 if the block begins in this batch, too */
			__builtin_prefetch(&h->slot[*d->cell - (*d->cell != 0)]);
	for (struct coming *b = w->coming, *end = b + w->births; b < end; b++) {
		b->sort = sorts_number(w->sorts, b->e, b->hash, b->sort);
		if (!b->sort)
			return false;
		b->pile = w->sorts->sort[b->sort].pile;
		/* In the current lane, as most of them are. */
		__builtin_prefetch(pile_end(pile_of(&w->piles, w->lane, b->pile)) - 1);
	}
	return true;
}

static void end_turn(struct group_writer *w)
{
	if (w->lane->kind.n == w->turn)
		return;
	put_varint(w, GROUP_TURN, w->lane->number);
	put_varint(w, GROUP_RUN, w->lane->kind.n - w->turn);
	w->turn = w->lane->kind.n;
}

static struct lane *find_lane(struct group_writer *w, uint32_t process, uint32_t thread)
{
	struct lane *l;

	if (w->lane->process == process && w->lane->thread == thread)
		return w->lane;
	end_turn(w);
	l = w->before; /* threads that run at the same time take turns */
	if (l->process != process || l->thread != thread)
		l = slots_lane(&w->slots, process, thread);
	if (!l)
		return NULL;
	w->before = w->lane;
	w->lane = l;
	w->turn = l->kind.n;
	return column_room(&l->kind, EVENT_KINDS * GROUP_BATCH) ? l : NULL;
}

ALWAYS_INLINE bool add_end(struct group_writer *w, struct lane *l, const struct going *d,
			   unsigned what)
{
	uint32_t *cell = d->cell;

	/* A block near it may have been the first one a moment ago. */
	if (__builtin_expect(!cell, 0))
		cell = places_find(&l->home->places, d->addr);
	if (__builtin_expect(!(what & IS_PLAIN), 0))
		before_end(w, l, d->e);
	if (d->addr && cell && *cell)
		return end(w, l, d, what, cell);
	end_far(w, l, d, what);
	return true;
}

bool group_put_listed(struct group_writer *w, struct home *h, uint32_t thread,
		      const struct event *e, size_t n)
{
	struct coming *b = w->coming, *first;
	struct going *d = w->going;
	size_t i, turn = n;

	if (!find_cells(w, h) || !find_sorts(w, h))
		return false;
	for (i = 0; i < n;) {
		struct lane *l = find_lane(w, h->process, w->mixed ? e[i].thread : thread);

		if (!l)
			return false;
		first = b;
		b = w->coming + w->births;
		if (w->mixed) {
			for (turn = i + 1; turn < n && e[turn].thread == l->thread; turn++)
				;
			for (b = first; b < w->coming + w->births && b->e < e + turn; b++)
				;
		}
		guess_sorts(w, l, first, (size_t)(b - first));
		for (; i < turn; i++) {
			const unsigned what = w->what[i];
			bool sound = true;

			if (what == IS_BIRTH)
				sound = birth(w, l, first++);
			else if (what)
				sound = add_end(w, l, d++, what);
			else
				other(w, l, &e[i]);
			if (!sound)
				return false;
		}
	}
	return true;
}

/* Adds events up to one of another process; returns how many, 0 without memory. */
static size_t add_run(struct group_writer *w, const struct event *e, size_t n)
{
	struct home *h = slots_home(&w->slots, e->process);

	if (!h || !places_room(&h->places, n))
		return 0;
	n = prepare(w, h, e, n);
	hash_sorts(w);
	return group_put_listed(w, h, e->thread, e, n) ? n : 0;
}

bool group_ready(struct group_writer *w, size_t n)
{
	if (sorts_ready(w->sorts) || !reserve_events(w, n))
		return false;
	return w->lane == &w->no_lane || column_room(&w->lane->kind, EVENT_KINDS * n);
}

int group_add(struct group_writer *w, const struct event *e, size_t n)
{
	if (!w->events && n)
		w->bucket = e->ticks >> w->shift;
	if (!group_ready(w, n))
		return -ENOMEM;
	w->events += (uint32_t)n;
	w->calls += (uint32_t)n;
	put_times(w, e, n);
	for (size_t run; n; e += run, n -= run) {
		run = add_run(w, e, n);
		if (!run)
			return -ENOMEM;
	}
	return 0;
}

uint32_t group_events(const struct group_writer *w, bool *settled)
{
	*settled = true;
	for (size_t i = 0; i < w->slots.lanes && w->events >= GROUP_EVENTS; i++)
		*settled &= !w->slots.lane[i]->pending;
	return w->events;
}

/* ---- the whole ---- */

static void fill_tables(struct group_writer *w)
{
	for (unsigned kind = 0; kind < 8; kind++)
		for (unsigned fn = 0; fn <= UINT8_MAX; fn++) {
			const unsigned what =
			    sorts_is_end(kind, fn) ? IS_END + IS_OP * OP_OTHER : 0;

			w->what_of_null[fn][kind] = (uint16_t)what;
			w->what_of[fn][kind] =
			    (uint16_t)(sorts_is_birth(kind, fn) ? IS_BIRTH : what);
		}
	w->what_of_tag[MPROF_TAG_FREE] = IS_END + IS_PLAIN + IS_OP * OP_FREE;
	w->what_of_tag[MPROF_TAG_DELETE] = IS_END + IS_PLAIN + IS_OP * OP_DELETE;
	w->what_of_tag[MPROF_TAG_REALLOC_BEGIN] = IS_END + IS_PLAIN + IS_OP * OP_BEGIN;
	memset(w->sized, OP_OTHER, sizeof(w->sized));
	for (unsigned op = 0; op < OP_OTHER; op++) {
		const struct op_of *o = &group_ops[op];

		if (o->sized)
			w->sized[o->fn] = (uint8_t)op;
		else
			w->what_of_null[o->fn][o->kind] = w->what_of[o->fn][o->kind] =
			    (uint16_t)(IS_END + IS_OP * op);
	}
}

struct group_writer *group_writer_new(struct sorts *sorts)
{
	struct group_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->sorts = sorts;
	fill_tables(w);
	return w;
}

void group_writer_free(struct group_writer *w)
{
	if (!w)
		return;
	slots_free(&w->slots);
	piles_free(&w->piles);
	columns_free(w->column, GROUP_COLUMNS);
	columns_free(&w->plane, 1);
	free(w);
}

void group_marks(struct group_writer *w, const uint64_t *mark, size_t n)
{
	w->mark = mark;
	w->marks = n;
	w->next_mark = 0;
}

void group_begin(struct group_writer *w, unsigned shift, bool exact)
{
	slots_begin(&w->slots);
	guesses_begin(&w->guesses, w->slots.group);
	piles_begin(&w->piles);
	columns_clear(w->column, GROUP_COLUMNS);
	w->shift = shift;
	w->exact = exact;
	w->events = w->calls = 0;
	w->lane = w->before = &w->no_lane;
	w->turn = 0;
	w->count = 0;
	w->mark_at = 0;
	w->far = w->other_addr = w->other_usable = w->other_arg = 0;
}

/* Puts the lanes, then the kinds of all of them, one lane after another.  One lane alone lends its
 * column. */
static void put_lanes(struct group_writer *w)
{
	struct byte_column *kinds = &w->column[GROUP_KIND];

	for (size_t i = 0; i < w->slots.here_n; i++) {
		const struct home *h = w->slots.here[i];
		const uint8_t *bits = (const uint8_t *)h->old;

		column_varint(&w->column[GROUP_HOME], h->process);
		column_varint(&w->column[GROUP_HOME], h->old_n);
		for (uint32_t k = 0; k < (h->old_n + 7) / 8; k++)
			column_put(&w->column[GROUP_LIVE], bits[k]);
	}
	for (size_t i = 0; i < w->slots.lanes; i++) {
		struct lane *l = w->slots.lane[i];

		column_varint(&w->column[GROUP_LANE], l->home->index);
		column_varint(&w->column[GROUP_LANE], l->thread);
		column_varint(&w->column[GROUP_LANE], l->kind.n);
		if (w->slots.lanes > 1 && column_room(kinds, l->kind.n)) {
			memcpy(kinds->byte + kinds->n, l->kind.byte, l->kind.n);
			kinds->n += l->kind.n;
		}
		kinds->failed |= l->kind.failed;
	}
}

static const struct byte_column *column_of(const struct group_writer *w, unsigned column)
{
	return column == GROUP_KIND && w->slots.lanes == 1
		   ? &w->slots.lane[0]->kind
		   : &w->column[is_wide(column) ? column - part_of(column) : column];
}

/* Measures the columns of a frame; false if one failed. */
static bool measure(struct group_writer *w, unsigned frame, uint32_t *plain)
{
	unsigned first = group_first[frame], end = group_first[frame + 1];
	uint64_t bytes = (end - first) * sizeof(uint32_t), n;
	bool sound = true;

	w->plane.n = 0;
	for (unsigned i = first; i < end; i++) {
		n = column_of(w, i)->n / (is_wide(i) ? 4 : 1);
		w->length[frame][i - first] = (uint32_t)n;
		bytes += n;
		sound &= !w->column[i].failed && (!is_wide(i) || column_room(&w->plane, n));
	}
	*plain = (uint32_t)bytes;
	return sound && bytes <= GROUP_PLAIN_MOST;
}

int group_end(struct group_writer *w, struct mprof_group *head)
{
	bool sound = reserve_events(w, 1);

	if (!sound)
		return -ENOMEM;
	end_turn(w);
	if (w->count)
		put_step(w, STEP_LONG);
	for (size_t i = 0; i < w->slots.lanes; i++)
		slots_settle(&w->slots, w->slots.lane[i]);
	put_lanes(w);
	*head = (struct mprof_group){ .events = w->events,
				      .lanes = (uint32_t)w->slots.lanes,
				      .homes = (uint32_t)w->slots.here_n,
				      .sorts = (uint32_t)w->sorts->n - 1,
				      .stacks = (uint32_t)w->sorts->stacks - 1,
				      .shift = (uint16_t)w->shift,
				      .exact = w->exact,
				      .calls = w->calls };
	for (unsigned i = 0; i < MPROF_GROUP_FRAMES; i++)
		sound &= measure(w, i, &head->plain_bytes[i]);
	return sound ? 0 : -ENOMEM;
}

bool group_piece(void *from, size_t i, const void **data, size_t *bytes)
{
	const struct group_frame *f = from;
	struct group_writer *w = f->writer;
	unsigned frame = f->number, first = group_first[frame];
	unsigned columns = group_first[frame + 1] - first, column;

	if (!i) {
		*data = w->length[frame];
		*bytes = columns * sizeof(uint32_t);
		return true;
	}
	if (i > columns)
		return false;
	column = first + (unsigned)i - 1;
	*data = column_of(w, column)->byte;
	*bytes = w->length[frame][i - 1];
	if (is_wide(column) && *bytes) {
		part(w->plane.byte, *data, *bytes, part_of(column));
		*data = w->plane.byte;
	}
	return true;
}

void group_forget(struct group_writer *w, uint32_t process)
{
	slots_forget(&w->slots, process);
}

void group_forget_where(struct group_writer *w,
			bool (*is_over)(const void *context, uint32_t process), const void *context)
{
	slots_forget_where(&w->slots, is_over, context);
}
