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

#include "group.h"

/* The effect of an event on its block. */
enum effect { EFFECT_OTHER, EFFECT_BIRTH, EFFECT_END };

struct prepared {
	const struct places_region *region; /* where the search for its cell begins */
	uint32_t *cell;			    /* of its address; NULL until there is one */
	uint64_t hash;			    /* of a birth's sort */
	uint32_t sort;			    /* its number */
	enum effect effect;
};

struct group_writer {
	struct slots slots;
	struct sorts *sorts;
	struct group_guesses guesses;
	struct piles piles;
	struct byte_column column[GROUP_COLUMNS];
	uint32_t length[MPROF_GROUP_FRAMES][GROUP_COLUMNS];
	struct prepared prepared[GROUP_BATCH];
	uint8_t effect[UINT8_MAX + 1][8]; /* enum effect, by function and kind; not for address 0 */
	uint8_t op[2][UINT8_MAX + 1]
		  [2]; /* enum group_op, by: begins realloc? function, has size? */
	uint32_t events, calls;
	/* The current lane, and how many kinds it had when its turn began. */
	struct lane *lane, no_lane; /* no_lane: of process 0, which no event has */
	size_t turn;
	/* Times: events since the last step, and the bucket that they are in. */
	uint64_t bucket, count;
	uint64_t quiet; /* the same if only counting is needed; otherwise UINT64_MAX */
	unsigned shift;
	bool exact;
	const uint64_t *mark;
	size_t marks, next_mark;
	/* The last values of fields stored as differences. */
	uint64_t far, other_addr, other_usable, other_arg;
};

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

/* Splits consecutive values of four bytes into four columns. */
static bool part_wide(struct group_writer *w)
{
	static const uint8_t wide[] = { GROUP_SORT, GROUP_SLOT, GROUP_NEAR };

	for (unsigned i = 0; i < sizeof(wide); i++) {
		struct byte_column *c = &w->column[wide[i]];
		size_t n = c->n / 4;
		uint8_t *first = c->byte;

		for (unsigned k = 1; k < 4; k++)
			if (!column_room(&c[k], n))
				return false;
		for (unsigned k = 3; k < 4; k--) {
			for (size_t j = 0; j < n; j++)
				c[k].byte[j] = first[4 * j + k];
			c[k].n = n;
		}
	}
	return true;
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

static inline void put_wide(struct group_writer *w, unsigned column, uint32_t value)
{
	put_wide_if(w, column, value, true);
}

static void put_kind(struct group_writer *w, unsigned kind)
{
	column_add(&w->lane->kind, kind);
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

static __attribute__((noinline)) void put_odd_time(struct group_writer *w, const struct event *e)
{
	uint64_t bucket = e->ticks >> w->shift;
	bool marked = !w->exact && is_marked(w, bucket);

	if (w->exact)
		put(w, GROUP_LOW, e->ticks & ((1u << w->shift) - 1));
	else if (e->kind == EVENT_CONTROL || marked)
		step_exact(w, e->ticks);
	if (bucket != w->bucket)
		step_to(w, bucket);
	w->count++;
	w->quiet = w->exact || marked ? UINT64_MAX : bucket;
}

/* Puts the time of any event but EVENT_CONTROL. */
static inline void put_time(struct group_writer *w, const struct event *e)
{
	if (__builtin_expect(e->ticks >> w->shift == w->quiet, 1))
		w->count++;
	else
		put_odd_time(w, e);
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
static inline unsigned name_of(struct group_writer *w, struct lane *l, const struct sort *s,
			       uint64_t addr)
{
	struct pile *p = pile_of(&w->piles, l, s);
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

static inline enum group_guess guess_sort(struct group_writer *w, struct lane *l, uint32_t number)
{
	uint32_t *of_two = guess_of_two(&w->guesses, l);
	bool not_two = number != *of_two;
	bool none = not_two & (number != guess_of_one(&w->guesses, w->sorts->sort, l));

	put_wide_if(w, GROUP_SORT, number, none);
	guess_learn(&w->guesses, w->sorts->sort, l, of_two, number);
	return (enum group_guess)(GUESS_OF_TWO + not_two + none);
}

static bool birth(struct group_writer *w, const struct event *e, struct prepared *p)
{
	struct lane *l = w->lane;
	struct slot *b;
	enum group_guess how;
	uint32_t slot;
	unsigned name;

	if (e->kind == EVENT_REALLOC_END)
		slots_settle(&w->slots, l);
	if (__builtin_expect(*p->cell, 0)) {
		slot = *p->cell - 1;
		put_kind(w, KIND_AGAIN);
		put_wide(w, GROUP_SLOT, slot);
	} else {
		slot = slots_take(l);
	}
	put_time(w, e);
	how = guess_sort(w, l, p->sort);
	if (slot == SLOT_NONE || !slots_born(&w->slots, l, slot))
		return false;
	name = name_of(w, l, &w->sorts->sort[p->sort], e->addr);
	put_kind(w, KIND_BIRTH + how * NAMES + name);
	lane_handed(l, name, e->addr, e->usable);
	b = &l->home->slot[slot];
	b->addr = e->addr;
	b->sort = p->sort;
	*p->cell = slot + 1;
	return true;
}

static inline enum group_op op_of(const struct group_writer *w, const struct event *e,
				  const struct sort *s)
{
	const uint8_t *op = w->op[e->kind == EVENT_REALLOC_BEGIN][e->fn];

	if (e->arg || e->error || e->factors ||
	    (e->size && e->size != sort_sizes(w->sorts, s).size))
		return OP_OTHER;
	return (enum group_op)op[e->size != 0];
}

/* Returns how a block is named relative to blocks that this thread, or its owner, allocated near
 * it. */
static inline enum group_how how_of(struct group_writer *w, const struct lane *l, uint32_t slot)
{
	const struct birth birth = slots_birth(&w->slots, &l->home->slot[slot]);
	uint32_t recent = l->births - 1 - birth.born, near = birth.born - l->freed_born + 4;
	uint32_t beside = slot - l->freed_slot + 3, how = HOW_SLOT;

	if ((beside <= 6) & (beside != 3))
		how = HOW_BESIDE + beside - (beside > 3);
	if ((birth.lane == l->freed_lane) & (near <= 8) & (near != 4))
		how = HOW_NEAR + near - (near > 4);
	if ((birth.lane == l->number) & (recent < HOW_NEAR))
		how = HOW_RECENT + recent;
	put_wide_if(w, GROUP_SLOT, slot, how == HOW_SLOT);
	return (enum group_how)how;
}

/* Puts the kinds that precede the end of a block. */
static void before_end(struct group_writer *w, const struct event *e)
{
	if (__builtin_expect(e->usable != 0, 0)) {
		put_kind(w, KIND_TOUCHED);
		put_varint(w, GROUP_OTHER, e->usable);
	}
	if (__builtin_expect(e->stack != w->lane->free_stack, 0)) {
		put_kind(w, KIND_FREE_STACK);
		put_varint(w, GROUP_STACK, sorts_stack(w->sorts, e->stack));
		w->lane->free_stack = e->stack;
	}
}

static inline void put_end(struct group_writer *w, const struct event *e, enum group_how how,
			   const struct sort *s)
{
	enum group_op op = op_of(w, e, s);

	put_time(w, e);
	put_kind(w, KIND_END + how * OPS + op);
	if (op != OP_OTHER)
		return;
	put_varint(w, GROUP_OTHER, e->fn | (uint64_t)e->kind << 5 | (uint64_t)e->factors << 8);
	put_varint(w, GROUP_OTHER, e->error);
	put_varint(w, GROUP_OTHER, e->size);
	put_varint(w, GROUP_OTHER, e->arg);
}

/* Puts the end of a known block. */
static bool end(struct group_writer *w, const struct event *e, uint32_t *cell)
{
	struct lane *l = w->lane;
	uint32_t slot = *cell - 1;
	struct slot *b = &l->home->slot[slot];
	const struct sort *s = &w->sorts->sort[b->sort];
	const struct birth birth = slots_birth(&w->slots, b);
	enum group_how how = how_of(w, l, slot);

	put_end(w, e, how, s);
	l->freed_slot = slot;
	*cell = 0;
	/* A reader may not know the address of a block from an earlier group. */
	if (birth.lane != LANE_NONE) {
		l->freed_lane = birth.lane;
		l->freed_born = birth.born;
		l->given = e->addr;
		if (!pile_push(pile_of(&w->piles, l, s), e->addr))
			return false;
	}
	if (e->kind == EVENT_REALLOC_BEGIN) {
		slots_settle(&w->slots, l);
		l->pending = slot + 1;
	} else {
		slots_give(&w->slots, l, slot);
	}
	return true;
}

static void end_far(struct group_writer *w, const struct event *e)
{
	if (!e->addr) {
		put_end(w, e, HOW_NULL, w->sorts->sort);
		return;
	}
	put_end(w, e, HOW_FAR, w->sorts->sort);
	put_varint(w, GROUP_FAR, zigzag(e->addr - w->far));
	w->far = w->lane->given = e->addr;
}

/* Handles a realloc that returned nothing: its block is still live, or ended with size 0. */
static unsigned settle_failed(struct group_writer *w, const struct event *e)
{
	struct lane *l = w->lane;
	uint32_t *cell;

	if (e->kind != EVENT_REALLOC_END || !l->pending)
		return KIND_OTHER;
	cell = places_find(&l->home->places, l->home->slot[l->pending - 1].addr);
	if (e->size && cell && !*cell) {
		*cell = l->pending;
		l->pending = 0;
		return KIND_OTHER;
	}
	slots_settle(&w->slots, l);
	return e->size ? KIND_OTHER_GONE : KIND_OTHER;
}

static void other(struct group_writer *w, const struct event *e)
{
	bool plain = e->kind == EVENT_CONTROL || e->kind == EVENT_LOST;

	put_kind(w, settle_failed(w, e));
	if (e->kind == EVENT_CONTROL)
		put_odd_time(w, e);
	else
		put_time(w, e);
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
 * Prefetches what leads to the blocks and sorts of n events, up to one of another process.
 * Returns the number of events before that.
 */
static size_t prepare(struct group_writer *w, const struct home *h, const struct event *e, size_t n)
{
	struct prepared *p = w->prepared;
	size_t i;

	for (i = 0; i < n && e[i].process == h->process; i++) {
		unsigned effect = w->effect[e[i].fn][e[i].kind & 7];

		p[i].effect = e[i].addr || effect == EFFECT_END ? effect : EFFECT_OTHER;
		p[i].region = places_first(&h->places, e[i].addr);
		__builtin_prefetch(p[i].region);
		if (effect == EFFECT_BIRTH) {
			p[i].hash = sort_hash(&e[i]);
			sorts_prefetch(w->sorts, p[i].hash);
		}
	}
	return i;
}

/* Finds the cells of their addresses, and prefetches their sorts. */
static bool find_cells(struct group_writer *w, struct home *h, const struct event *e, size_t n)
{
	struct prepared *p = w->prepared;

	for (size_t i = 0; i < n; i++) {
		if (p[i].effect == EFFECT_OTHER)
			continue;
		p[i].cell = places_from(&h->places, p[i].region, e[i].addr);
		__builtin_prefetch(p[i].cell);
		if (p[i].effect == EFFECT_END)
			continue;
		if (__builtin_expect(!p[i].cell, 0))
			p[i].cell = places_make(&h->places, e[i].addr);
		if (!p[i].cell)
			return false;
		p[i].sort = sorts_likely(w->sorts, p[i].hash, e[i].stack);
	}
	return true;
}

/* Finds the sorts of births, and prefetches the slots of ends. */
static bool find_sorts(struct group_writer *w, const struct home *h, const struct event *e,
		       size_t n)
{
	struct prepared *p = w->prepared;

	for (size_t i = 0; i < n; i++) {
		if (p[i].effect == EFFECT_BIRTH) {
			p[i].sort = sorts_number(w->sorts, &e[i], p[i].hash, p[i].sort);
			if (!p[i].sort)
				return false;
			/* In the current lane, as most of them are. */
			__builtin_prefetch(
			    pile_end(pile_of(&w->piles, w->lane, &w->sorts->sort[p[i].sort])) - 1);
		} else if (p[i].effect == EFFECT_END && p[i].cell && *p[i].cell) {
			__builtin_prefetch(&h->slot[*p[i].cell - 1]);
		}
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

static bool find_lane(struct group_writer *w, const struct event *e)
{
	struct lane *l;

	if (!memcmp(&w->lane->process, &e->process, sizeof(e->process) + sizeof(e->thread)))
		return true;
	end_turn(w);
	l = slots_lane(&w->slots, e->process, e->thread);
	if (!l)
		return false;
	w->lane = l;
	w->turn = l->kind.n;
	return column_room(&l->kind, EVENT_KINDS * GROUP_BATCH);
}

static bool add(struct group_writer *w, const struct event *e, struct prepared *p)
{
	if (!find_lane(w, e))
		return false;
	if (p->effect == EFFECT_BIRTH)
		return birth(w, e, p);
	w->calls -= !event_is_call(e);
	if (p->effect == EFFECT_OTHER) {
		other(w, e);
		return true;
	}
	/* A block near it may have been the first one a moment ago. */
	if (!p->cell)
		p->cell = places_find(&w->lane->home->places, e->addr);
	before_end(w, e);
	if (e->addr && p->cell && *p->cell)
		return end(w, e, p->cell);
	end_far(w, e);
	return true;
}

/* Adds events up to one of another process; returns how many, 0 without memory. */
static size_t add_run(struct group_writer *w, const struct event *e, size_t n)
{
	struct home *h = slots_home(&w->slots, e->process);

	if (!h || !places_room(&h->places, n))
		return 0;
	n = prepare(w, h, e, n);
	if (!find_cells(w, h, e, n) || !find_sorts(w, h, e, n))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!add(w, &e[i], &w->prepared[i]))
			return 0;
	return n;
}

int group_add(struct group_writer *w, const struct event *e, size_t n)
{
	if (!w->events && n)
		w->bucket = e->ticks >> w->shift;
	if (sorts_ready(w->sorts) || !reserve_events(w, n))
		return -ENOMEM;
	if (w->lane != &w->no_lane && !column_room(&w->lane->kind, EVENT_KINDS * n))
		return -ENOMEM;
	w->events += (uint32_t)n;
	w->calls += (uint32_t)n;
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
		for (unsigned fn = 0; fn <= UINT8_MAX; fn++)
			w->effect[fn][kind] = sorts_is_birth(kind, fn) ? EFFECT_BIRTH
					      : sorts_is_end(kind, fn) ? EFFECT_END
								       : EFFECT_OTHER;
	memset(w->op, OP_OTHER, sizeof(w->op));
	for (unsigned op = 0; op < OP_OTHER; op++) {
		const struct op_of *o = &group_ops[op];

		w->op[o->kind == EVENT_REALLOC_BEGIN][o->fn][o->sized] = (uint8_t)op;
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
	w->lane = &w->no_lane;
	w->turn = 0;
	w->count = 0;
	w->quiet = UINT64_MAX;
	w->far = w->other_addr = w->other_usable = w->other_arg = 0;
}

/* Puts the lanes, then the kinds of all of them, one lane after another. */
static void put_lanes(struct group_writer *w)
{
	for (size_t i = 0; i < w->slots.here_n; i++) {
		const struct home *h = w->slots.here[i];
		const uint8_t *bits = (const uint8_t *)h->old;

		column_varint(&w->column[GROUP_HOME], h->process);
		column_varint(&w->column[GROUP_HOME], h->old_n);
		for (uint32_t k = 0; k < (h->old_n + 7) / 8; k++)
			column_put(&w->column[GROUP_LIVE], bits[k]);
	}
	for (size_t i = 0; i < w->slots.lanes; i++) {
		const struct lane *l = w->slots.lane[i];

		column_varint(&w->column[GROUP_LANE], l->home->index);
		column_varint(&w->column[GROUP_LANE], l->thread);
		column_varint(&w->column[GROUP_LANE], l->kind.n);
		w->length[0][GROUP_KIND] += (uint32_t)l->kind.n;
		w->column[GROUP_KIND].failed |= l->kind.failed;
	}
}

/* Measures the columns of a frame; false if one failed. */
static bool measure(struct group_writer *w, unsigned frame, uint32_t *plain)
{
	unsigned first = group_first[frame], end = group_first[frame + 1];
	uint64_t bytes = (end - first) * sizeof(uint32_t);
	bool sound = true;

	for (unsigned i = first; i < end; i++) {
		if (i != GROUP_KIND)
			w->length[frame][i - first] = (uint32_t)w->column[i].n;
		bytes += w->length[frame][i - first];
		sound &= !w->column[i].failed;
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
	w->length[0][GROUP_KIND] = 0;
	sound &= part_wide(w);
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
	unsigned columns = group_first[frame + 1] - first;
	size_t lanes = frame ? 0 : w->slots.lanes;

	if (!i) {
		*data = w->length[frame];
		*bytes = columns * sizeof(uint32_t);
		return true;
	}
	if (--i < lanes) {
		*data = w->slots.lane[i]->kind.byte;
		*bytes = w->slots.lane[i]->kind.n;
		return true;
	}
	i = i - lanes + (frame == 0); /* the column of kinds consists of the lanes' kinds */
	if (i >= columns)
		return false;
	*data = w->column[first + i].byte;
	*bytes = w->column[first + i].n;
	return true;
}

void group_forget(struct group_writer *w, uint32_t process)
{
	slots_forget(&w->slots, process);
}
