// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * group_write.c - events to the columns of a group (FORMAT.md 8.3).
 *
 * A batch is traversed twice before anything is decided: once to prefetch the
 * cache lines that lead to the block and sort of each event, once to follow
 * them. This hides most of the cache misses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "group.h"

/* What an event is for its block. */
enum effect { EFFECT_OTHER, EFFECT_BIRTH, EFFECT_END };

struct prepared {
	uint32_t *cell; /* of its address; NULL: none yet */
	struct home *home;
	uint64_t hash; /* of its sort */
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
	uint32_t events;
	/* The current lane, and how many kinds it had when its turn began. */
	struct lane *lane;
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

/* Most bytes that an event adds to a column: OTHER, six varints of ten bytes and one more. */
#define EVENT_BYTES 64u
#define EVENT_KINDS 3u /* two remarks and itself */

/* Of four columns that are written at once, the first one counts. */
static void even_out(struct group_writer *w)
{
	static const uint8_t wide[] = { GROUP_SORT, GROUP_SLOT, GROUP_NEAR };

	for (unsigned i = 0; i < sizeof(wide); i++)
		for (unsigned k = 1; k < 4; k++)
			w->column[wide[i] + k].n = w->column[wide[i]].n;
}

static bool make_room(struct group_writer *w, size_t events)
{
	bool sound = true;

	even_out(w);
	for (unsigned i = 0; i < GROUP_COLUMNS; i++)
		sound &= column_room(&w->column[i], EVENT_BYTES * events);
	return sound;
}

static void put(struct group_writer *w, unsigned column, uint64_t byte)
{
	column_add(&w->column[column], byte);
}

static void put_varint(struct group_writer *w, unsigned column, uint64_t value)
{
	column_add_varint(&w->column[column], value);
}

static inline void put_wide(struct group_writer *w, unsigned column, uint64_t value)
{
	struct byte_column *c = &w->column[column];
	size_t n = c->n++;

	for (unsigned i = 0; i < 4; i++)
		c[i].byte[n] = (uint8_t)(value >> 8 * i);
}

static void put_kind(struct group_writer *w, unsigned kind)
{
	column_add(&w->lane->kind, kind);
}

/* ---- times ---- */

/* The run of events in this bucket is over. */
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

static inline void put_time(struct group_writer *w, const struct event *e)
{
	if (__builtin_expect(e->ticks >> w->shift == w->quiet && e->kind != EVENT_CONTROL, 1))
		w->count++;
	else
		put_odd_time(w, e);
}

/* ---- blocks ---- */

static unsigned put_near(struct group_writer *w, struct lane *l, uint64_t addr)
{
	uint64_t away = addr - l->last, eights = zigzag((uint64_t)((int64_t)away >> 3));

	if (away & 7 || eights >= UINT32_MAX) {
		put_wide(w, GROUP_NEAR, UINT32_MAX);
		put_varint(w, GROUP_FAR, zigzag(away));
	} else {
		put_wide(w, GROUP_NEAR, eights);
	}
	return NAME_NONE;
}

static unsigned name_of(struct group_writer *w, struct lane *l, const struct sort *s, uint64_t addr)
{
	struct pile *p = pile_of(&w->piles, l, s);
	unsigned depth = p->n < GROUP_PILE_DEPTH ? p->n : GROUP_PILE_DEPTH;

	for (unsigned i = 0; i < depth; i++)
		if (p->addr[p->n - 1 - i] == addr) {
			pile_pull(p, i);
			return NAME_PILE + i;
		}
	if (addr == l->given)
		return NAME_GIVEN;
	if (addr == l->last + l->usable + 8)
		return NAME_BEHIND;
	if (addr == l->last + l->usable)
		return NAME_NEXT;
	return addr == l->carve ? NAME_CARVED : put_near(w, l, addr);
}

/* The number of the sort; 0 without memory. */
static uint32_t guess_sort(struct group_writer *w, struct lane *l, const struct event *e,
			   uint64_t hash, enum group_guess *how)
{
	struct sorts *s = w->sorts;
	uint32_t *of_two = guess_of_two(&w->guesses, l), number = sorts_number(s, e, hash);

	if (number == *of_two) {
		*how = GUESS_OF_TWO;
	} else if (number == guess_of_one(&w->guesses, s->sort, l)) {
		*how = GUESS_OF_ONE;
	} else {
		*how = GUESS_NONE;
		put_wide(w, GROUP_SORT, number);
	}
	guess_learn(&w->guesses, s->sort, l, of_two, number);
	return number;
}

static bool birth(struct group_writer *w, const struct event *e, struct prepared *p)
{
	struct lane *l = w->lane;
	enum group_guess how;
	uint32_t slot, number;
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
	number = guess_sort(w, l, e, p->hash, &how);
	if (slot == SLOT_NONE || !number || !slots_born(l, slot))
		return false;
	name = name_of(w, l, &w->sorts->sort[number], e->addr);
	put_kind(w, KIND_BIRTH + how * NAMES + name);
	lane_handed(l, name, e->addr, e->usable);
	l->home->slot[slot].addr = e->addr;
	l->home->slot[slot].sort = number;
	*p->cell = slot + 1;
	return true;
}

static enum group_op op_of(const struct event *e, const struct sort *s)
{
	if (e->arg || e->error || e->factors)
		return OP_OTHER;
	for (unsigned op = 0; op < OP_OTHER; op++)
		if (group_ops[op].fn == e->fn && group_ops[op].kind == e->kind &&
		    (group_ops[op].sized ? s && e->size && s->size == e->size : !e->size))
			return (enum group_op)op;
	return OP_OTHER;
}

/* How a block is named relative to blocks that this thread, or its owner, allocated near it. */
static enum group_how how_of(struct group_writer *w, const struct lane *l, uint32_t slot)
{
	const struct slot *b = &l->home->slot[slot];
	uint32_t away;

	if (b->group == w->slots.group) {
		away = l->births - 1 - b->born;
		if (b->lane == l->number && away < HOW_NEAR)
			return (enum group_how)(HOW_RECENT + away);
		away = b->born - l->freed_born + 4;
		if (b->lane == l->freed_lane && away <= 8 && away != 4)
			return (enum group_how)(HOW_NEAR + away - (away > 4));
	}
	away = slot - l->freed_slot + 3;
	if (away <= 6 && away != 3)
		return (enum group_how)(HOW_BESIDE + away - (away > 3));
	put_wide(w, GROUP_SLOT, slot);
	return HOW_SLOT;
}

/* The kinds that precede the end of a block. */
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

static void put_end(struct group_writer *w, const struct event *e, enum group_how how,
		    const struct sort *s)
{
	enum group_op op = op_of(e, s);

	put_time(w, e);
	put_kind(w, KIND_END + how * OPS + op);
	if (op != OP_OTHER)
		return;
	put_varint(w, GROUP_OTHER, e->fn | (uint64_t)e->kind << 5 | (uint64_t)e->factors << 8);
	put_varint(w, GROUP_OTHER, e->error);
	put_varint(w, GROUP_OTHER, e->size);
	put_varint(w, GROUP_OTHER, e->arg);
}

/* The end of a block that is known. */
static bool end(struct group_writer *w, const struct event *e, uint32_t *cell)
{
	struct lane *l = w->lane;
	uint32_t slot = *cell - 1;
	struct slot *b = &l->home->slot[slot];
	const struct sort *s = &w->sorts->sort[b->sort];
	enum group_how how = how_of(w, l, slot);

	put_end(w, e, how, s);
	l->freed_slot = slot;
	*cell = 0;
	/* A reader may not know the address of a block from an earlier group. */
	if (b->group == w->slots.group) {
		l->freed_lane = b->lane;
		l->freed_born = b->born;
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
		put_end(w, e, HOW_NULL, NULL);
		return;
	}
	put_end(w, e, HOW_FAR, NULL);
	put_varint(w, GROUP_FAR, zigzag(e->addr - w->far));
	w->far = w->lane->given = e->addr;
}

/* A realloc that returned nothing: its block is still live, or ended with size 0. */
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

static enum effect effect_of(const struct event *e)
{
	if (e->addr && group_is_birth(e->kind, e->fn))
		return EFFECT_BIRTH;
	return group_is_end(e->kind, e->fn) ? EFFECT_END : EFFECT_OTHER;
}

/* Prefetches what leads to the blocks and sorts of n events. */
static bool prepare(struct group_writer *w, const struct event *e, size_t n)
{
	struct prepared *p = w->prepared;
	struct home *home = w->lane ? w->lane->home : NULL;

	for (size_t i = 0; i < n; i++) {
		if (!home || home->process != e[i].process) {
			home = slots_home(&w->slots, e[i].process);
			if (!home)
				return false;
		}
		p[i].home = home;
		p[i].effect = effect_of(&e[i]);
		places_prefetch(&home->places, e[i].addr);
		if (p[i].effect == EFFECT_BIRTH) {
			p[i].hash = sort_hash(&e[i]);
			sorts_prefetch(w->sorts, p[i].hash);
		}
	}
	return true;
}

static bool follow(struct group_writer *w, const struct event *e, size_t n)
{
	struct prepared *p = w->prepared;

	for (size_t i = 0; i < n; i++) {
		if (p[i].effect == EFFECT_BIRTH) {
			p[i].cell = places_make(&p[i].home->places, e[i].addr);
			if (!p[i].cell)
				return false;
			sorts_prefetch_sort(w->sorts, p[i].hash, e[i].stack);
		} else if (p[i].effect == EFFECT_END) {
			p[i].cell = places_find(&p[i].home->places, e[i].addr);
		} else {
			continue;
		}
		if (p[i].cell)
			__builtin_prefetch(p[i].cell);
	}
	for (size_t i = 0; i < n; i++)
		if (p[i].effect == EFFECT_END && p[i].cell && *p[i].cell)
			__builtin_prefetch(&p[i].home->slot[*p[i].cell - 1]);
	return true;
}

static void end_turn(struct group_writer *w)
{
	if (!w->lane || w->lane->kind.n == w->turn)
		return;
	put_varint(w, GROUP_TURN, w->lane->number);
	put_varint(w, GROUP_RUN, w->lane->kind.n - w->turn);
	w->turn = w->lane->kind.n;
}

static bool find_lane(struct group_writer *w, const struct event *e)
{
	if (w->lane && w->lane->thread == e->thread && w->lane->process == e->process)
		return true;
	end_turn(w);
	w->lane = slots_lane(&w->slots, e->process, e->thread);
	if (!w->lane)
		return false;
	w->turn = w->lane->kind.n;
	return column_room(&w->lane->kind, EVENT_KINDS * GROUP_BATCH);
}

static bool add(struct group_writer *w, const struct event *e, struct prepared *p)
{
	if (!find_lane(w, e))
		return false;
	if (p->effect == EFFECT_BIRTH)
		return birth(w, e, p);
	if (p->effect == EFFECT_OTHER) {
		other(w, e);
		return true;
	}
	/* A block near it may have been the first one a moment ago. */
	if (!p->cell)
		p->cell = places_find(&p->home->places, e->addr);
	before_end(w, e);
	if (e->addr && p->cell && *p->cell)
		return end(w, e, p->cell);
	end_far(w, e);
	return true;
}

int group_add(struct group_writer *w, const struct event *e, size_t n)
{
	if (!w->events && n)
		w->bucket = e->ticks >> w->shift;
	if (sorts_ready(w->sorts) || !make_room(w, n) ||
	    (w->lane && !column_room(&w->lane->kind, EVENT_KINDS * n)) || !prepare(w, e, n) ||
	    !follow(w, e, n))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!add(w, &e[i], &w->prepared[i]))
			return -ENOMEM;
	w->events += (uint32_t)n;
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

struct group_writer *group_writer_new(struct sorts *sorts)
{
	struct group_writer *w = calloc(1, sizeof(*w));

	if (w)
		w->sorts = sorts;
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
	w->events = 0;
	w->lane = NULL;
	w->count = 0;
	w->quiet = UINT64_MAX;
	w->far = w->other_addr = w->other_usable = w->other_arg = 0;
}

/* The lanes; the kinds of all of them, one lane after the other. */
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

/* The lengths of the columns of a frame; false if one failed. */
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
	bool sound = make_room(w, 1);

	if (!sound)
		return -ENOMEM;
	end_turn(w);
	if (w->count)
		put_step(w, STEP_LONG);
	for (size_t i = 0; i < w->slots.lanes; i++)
		slots_settle(&w->slots, w->slots.lane[i]);
	w->length[0][GROUP_KIND] = 0;
	even_out(w);
	put_lanes(w);
	*head = (struct mprof_group){ .events = w->events,
				      .lanes = (uint32_t)w->slots.lanes,
				      .homes = (uint32_t)w->slots.here_n,
				      .sorts = (uint32_t)w->sorts->n - 1,
				      .stacks = (uint32_t)w->sorts->stacks - 1,
				      .shift = (uint16_t)w->shift,
				      .exact = w->exact };
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
	i = i - lanes + (frame == 0); /* the column of kinds is that of the lanes */
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
