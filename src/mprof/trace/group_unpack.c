// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * group_unpack.c - symbols and columns back into words (FORMAT.md 8.4).
 *
 * Nothing in the columns is believed: reading behind the end of one gives zeros,
 * and a number of something that is not there ends the group.
 */
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "group.h"
#include "model.h"
#include "model_clock.h"

struct group_unpacker {
	struct model model;
	struct model_clock clock;
	struct cursor column[GROUP_COLUMNS];
	uint64_t *word, *end; /* where the next one goes */
	int64_t now;
	uint64_t base, ticks, addr; /* as the words so far say */
	uint64_t gap, stall;	    /* events until the clock is put right, that it stands still */
	int64_t missed;
	uint64_t value;
	uint32_t stack;
	uint32_t events;
};

static inline uint64_t get(struct group_unpacker *u, unsigned column)
{
	return cursor_get(&u->column[column]);
}

static uint64_t get_wide(struct group_unpacker *u, unsigned column, unsigned bytes)
{
	return cursor_wide(&u->column[column], bytes);
}

static uint64_t get_varint(struct group_unpacker *u, unsigned column)
{
	return cursor_varint(&u->column[column]);
}

/* ---- words ---- */

static inline bool put(struct group_unpacker *u, uint64_t word)
{
	if (u->word == u->end)
		return false;
	*u->word++ = word;
	return true;
}

/* Time's word when it needs one; *dt is what is left to tell. */
static inline bool put_time(struct group_unpacker *u, uint64_t ticks, uint64_t *dt)
{
	*dt = ticks - u->ticks;
	u->ticks = ticks;
	if (*dt <= MPROF_DT_MAX)
		return true;
	*dt = 0;
	return put(u, mprof_word_time(ticks & MPROF_TICKS_MASK));
}

static bool put_long(struct group_unpacker *u, uint64_t head, const uint64_t *v)
{
	if (u->end - u->word < (ptrdiff_t)MPROF_LONG_WORDS)
		return false;
	u->word[0] = head;
	memcpy(u->word + 1, v, 4 * sizeof(*v));
	u->word += MPROF_LONG_WORDS;
	return true;
}

/* ---- times ---- */

static void put_right(struct group_unpacker *u, uint16_t class)
{
	struct model_clock *c = &u->clock;
	int64_t guessed = u->now + c->rate[class], unit;
	uint64_t how = get_varint(u, GROUP_MOVE), by;

	if (how == MOVE_STALL) {
		u->stall = get_varint(u, GROUP_STALL);
		u->missed = 0;
		return;
	}
	by = how == MOVE_EXACT ? get_varint(u, GROUP_EXACT) : how - MOVE_UNITS + 1;
	/* As much as a sound group has; more would only overflow. */
	unit = how == MOVE_EXACT ? CLOCK_ONE : c->unit;
	if (by > CLOCK_SPAN_MAX * CLOCK_ONE / (uint64_t)unit || u->now > CLOCK_NOW_MAX)
		by = 0;
	if (how == MOVE_EXACT)
		u->now = u->now / CLOCK_ONE * CLOCK_ONE;
	u->now += (int64_t)by * unit;
	c->class[c->since++] = class;
	if (c->error && u->now - guessed < 4 * c->error)
		model_clock_learn(c, u->now - guessed);
	c->since = 0;
	u->gap = get_varint(u, GROUP_GAP);
}

static void stand_still(struct group_unpacker *u, uint16_t class)
{
	struct model_clock *c = &u->clock;

	c->class[c->since++] = class;
	u->missed += c->rate[class];
	if (--u->stall)
		return;
	if (c->error)
		model_clock_learn(c, -u->missed);
	c->since = 0;
	u->gap = get_varint(u, GROUP_GAP);
}

/* The time of the next event, which has this symbol. */
static inline uint64_t next_time(struct group_unpacker *u, uint32_t symbol)
{
	struct model_clock *c = &u->clock;
	uint16_t class = model_clock_class(symbol);

	if (u->gap && !u->stall) {
		u->gap--;
		c->class[c->since++] = class;
		u->now += c->rate[class];
	} else {
		if (!u->stall)
			put_right(u, class);
		if (u->stall)
			stand_still(u, class);
	}
	return u->base + (uint64_t)u->now / CLOCK_ONE;
}

/* ---- what hands out ---- */

static bool get_sort(struct group_unpacker *u, const struct group_head *h)
{
	struct model *m = &u->model;
	struct sort *s = &m->sort[m->sorts];
	uint64_t fn = get(u, GROUP_FN), stack = get_varint(u, GROUP_STACK);

	if (m->sorts >= h->sorts)
		return false;
	*s = (struct sort){ .fn = fn & 31,
			    .end = fn >> 5 & 1,
			    .newest = MODEL_NONE,
			    .oldest = MODEL_NONE,
			    .hole_newer = MODEL_NONE,
			    .hole_older = MODEL_NONE };
	s->stack = stack == 0 ? m->stack : stack == 1 ? m->stack_max + 1 : (uint32_t)(stack - 2);
	m->stack = s->stack;
	if (s->stack > m->stack_max)
		m->stack_max = s->stack;
	s->size = get_varint(u, GROUP_SIZE);
	s->usable = unzigzag(get_varint(u, GROUP_USABLE)) + model_expect(m, s->size);
	s->arg = get_varint(u, GROUP_ARG);
	m->sorts++;
	return true;
}

static inline bool get_take(struct group_unpacker *u, const struct group_head *h, uint32_t sort)
{
	struct model *m = &u->model;
	const struct sort *s = &m->sort[sort];
	uint64_t addr, dt, now = next_time(u, SYMBOL_SORT + 8 * sort), delta;
	unsigned name = (unsigned)get(u, GROUP_REF), tag = model_take_tag(s);

	if (name == NAME_NONE)
		addr = m->last + unzigzag(get_wide(u, GROUP_NEAR, 8));
	else
		addr = model_address(m, name, s->usable);
	if (m->blocks >= h->blocks ||
	    (s->stack != u->stack && !put(u, mprof_word_stack(0, s->stack))))
		return false;
	u->stack = s->stack;
	model_took(m, sort, name, addr);
	delta = addr - u->addr;
	u->addr = addr;
	if (!put_time(u, now, &dt))
		return false;
	if (tag && mprof_alloc_is_short(0, s->size, s->usable - s->size, delta))
		return put(u, mprof_word_alloc(tag, dt, s->size, s->usable - s->size, delta));
	return put_long(u, mprof_word_long(s->fn, dt, 0, 0),
			(uint64_t[4]){ addr, s->size, s->usable, s->arg });
}

/* ---- what gives back ---- */

static bool put_give(struct group_unpacker *u, unsigned op, uint64_t addr, uint64_t size,
		     uint32_t symbol)
{
	uint64_t dt, now = next_time(u, symbol);

	if (!put_time(u, now, &dt))
		return false;
	if (model_ops[op].tag)
		return put(u, mprof_word_free(model_ops[op].tag, dt, addr));
	return put_long(u, mprof_word_long(model_ops[op].fn, dt, 0, 0),
			(uint64_t[4]){ addr, model_ops[op].sized ? size : 0 });
}

static inline bool give_block(struct group_unpacker *u, unsigned op, uint32_t number,
			      uint32_t symbol)
{
	struct model *m = &u->model;
	struct block *b;
	uint64_t size;

	if (number >= m->blocks || m->block[number].sort == MODEL_NONE)
		return false;
	b = &m->block[number];
	size = m->sort[b->sort].size;
	model_gave(m, number);
	return put_give(u, op, b->addr, size, symbol);
}

static inline bool get_ranked(struct group_unpacker *u, uint32_t sort, unsigned op, uint32_t symbol)
{
	struct model *m = &u->model;
	struct sort *s = &m->sort[sort];
	unsigned rank = (unsigned)get(u, GROUP_RANK);
	uint32_t number;

	if (rank)
		s->rank = (uint8_t)(rank - 1);
	number = model_ranked(s, s->rank);
	return number < m->blocks && m->block[number].sort == sort &&
	       give_block(u, op, number, symbol);
}

static bool get_given(struct group_unpacker *u, uint32_t symbol)
{
	struct model *m = &u->model;
	unsigned op = symbol & 7;
	uint32_t jump;

	if (op == OP_TAKE)
		return false;
	switch (symbol & ~7u) {
	case SYMBOL_NULL:
		return put_give(u, op, 0, 0, symbol);
	case SYMBOL_FAR:
		m->last += unzigzag(get_wide(u, GROUP_FAR, 8));
		m->given = m->last;
		return put_give(u, op, m->last, 0, symbol);
	case SYMBOL_NEXT:
		return give_block(u, op, m->given_block + 1, symbol);
	case SYMBOL_BEFORE:
		return give_block(u, op, m->given_block - 1, symbol);
	default:
		jump = (uint32_t)get_wide(u, GROUP_JUMP, 4);
		return give_block(u, op, m->given_block + (jump >> 1 ^ -(jump & 1)), symbol);
	}
}

/* ---- other words ---- */

static const uint8_t classes[MPROF_FN_MAX] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = MPROF_CLASS_##class,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
};

/* The address that the next short word counts from, as the reader of the words has it. */
static void follow(struct group_unpacker *u, uint64_t head, uint64_t addr)
{
	unsigned fn = mprof_word_fn(head), class = fn < MPROF_FN_MAX ? classes[fn] : 0;

	if (addr && !(mprof_word_flags(head) & MPROF_LONG_BEGIN) &&
	    (class == MPROF_CLASS_ALLOC || class == MPROF_CLASS_REALLOC))
		u->addr = addr;
}

static bool get_raw(struct group_unpacker *u)
{
	uint64_t head = get_varint(u, GROUP_HEAD) & ~((uint64_t)MPROF_DT_MAX << 4), v[4], dt;

	if (!put_time(u, next_time(u, SYMBOL_RAW), &dt))
		return false;
	head |= dt << 4;
	if (mprof_word_tag(head) == MPROF_TAG_CONTROL)
		return put(u, head);
	if (mprof_word_tag(head) != MPROF_TAG_LONG)
		return false;
	for (int i = 0; i < 4; i++)
		v[i] = u->value += unzigzag(get_varint(u, GROUP_VALUE));
	follow(u, head, v[0]);
	return put_long(u, head, v);
}

static bool get_other(struct group_unpacker *u, const struct group_head *h, uint32_t symbol)
{
	uint32_t id;

	switch (symbol) {
	case SYMBOL_NEW:
		return get_sort(u, h) && get_take(u, h, u->model.sorts - 1);
	case SYMBOL_RAW:
		return get_raw(u);
	case SYMBOL_STATE:
		return put(u, get_varint(u, GROUP_HEAD));
	case SYMBOL_TAKES:
		u->stack = (uint32_t)get_varint(u, GROUP_ID);
		return put(u, mprof_word_stack(0, u->stack));
	case SYMBOL_GIVES:
		id = (uint32_t)get_varint(u, GROUP_ID);
		return put(u, mprof_word_stack(MPROF_STACK_OF_FREES, id));
	default:
		return symbol >= SYMBOL_NULL && get_given(u, symbol);
	}
}

/* ---- the whole ---- */

static inline uint32_t get_symbol(struct group_unpacker *u)
{
	struct model *m = &u->model;
	size_t context[3] = { model_context(m, 0), model_context(m, 1), model_context(m, 2) };
	unsigned how = (unsigned)get(u, GROUP_SYMBOL);
	uint32_t symbol =
	    how < 3 ? m->after[how][context[how]] : (uint32_t)get_wide(u, GROUP_NUMBER, 4);

	model_symbol(m, context, symbol);
	return symbol;
}

static bool get_record(struct group_unpacker *u, const struct group_head *h)
{
	uint32_t symbol = get_symbol(u), sort = (symbol - SYMBOL_SORT) / 8;

	if (u->clock.since >= h->events)
		return false;
	if (symbol < SYMBOL_SORT)
		return get_other(u, h, symbol);
	if (sort >= u->model.sorts)
		return false;
	if (symbol % 8 == OP_TAKE)
		return get_take(u, h, sort);
	return get_ranked(u, sort, symbol % 8, symbol);
}

static bool head_is_possible(const struct group_head *h, size_t n)
{
	return h->records && h->records <= n && h->events && h->events <= n && h->blocks <= n &&
	       h->sorts <= h->blocks && h->bits >= MODEL_BITS_MIN && h->bits <= MODEL_BITS_MAX &&
	       h->error < 1u << 30 && h->pace < 1u << 22;
}

static bool make_room(struct group_unpacker *u, const struct group_head *h)
{
	if (u->clock.room < h->events) {
		free(u->clock.class);
		u->clock.class = calloc(h->events, sizeof(*u->clock.class));
		u->clock.room = u->clock.class ? h->events : 0;
	}
	return u->clock.room >= h->events && !model_start(&u->model, h);
}

/* The rates of what happens often. */
static void get_rates(struct group_unpacker *u)
{
	uint64_t n = get_varint(u, GROUP_RATE), class = 0, units;

	for (; n && class < CLOCK_RATES; n--) {
		class += get_varint(u, GROUP_RATE) + 1;
		units = unzigzag(get_varint(u, GROUP_RATE));
		if (class <= CLOCK_RATES && units + (1u << 24) < 1u << 25)
			u->clock.rate[class - 1] = model_clock_rate(&u->clock, (int64_t)units);
	}
}

static void start(struct group_unpacker *u, const struct group_head *h, uint64_t base,
		  uint64_t *words, size_t n)
{
	model_clock_start(&u->clock, h->sorts, h->pace, h->error);
	u->word = words;
	u->end = words + n;
	u->now = u->missed = 0;
	u->base = u->ticks = base;
	u->addr = u->value = 0;
	u->stack = 0;
	u->stall = 0;
	u->gap = get_varint(u, GROUP_GAP);
	get_rates(u);
}

bool group_unpack(struct group_unpacker **at, const uint8_t *plain, size_t bytes, uint64_t base,
		  uint64_t *words, size_t n)
{
	struct group_unpacker *u = *at ? *at : calloc(1, sizeof(*u));
	struct group_head h;

	*at = u;
	if (!u || bytes < sizeof(h))
		return false;
	memcpy(&h, plain, sizeof(h));
	if (!head_is_possible(&h, n) || !make_room(u, &h) ||
	    !cursors_find(u->column, GROUP_COLUMNS, plain + sizeof(h), bytes - sizeof(h)))
		return false;
	start(u, &h, base & MPROF_TICKS_MASK, words, n);
	for (uint32_t i = 0; i < h.records; i++)
		if (!get_record(u, &h))
			return false;
	return u->word == u->end;
}

void group_unpacker_free(struct group_unpacker *u)
{
	if (!u)
		return;
	model_free(&u->model);
	free(u->clock.class);
	free(u);
}
