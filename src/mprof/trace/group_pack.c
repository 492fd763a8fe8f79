// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * group_pack.c - the chunks of one thread into symbols and columns (FORMAT.md 8.4).
 *
 * First all words are read and become symbols, then their times are fitted with
 * a clock (model_clock.h).  The tables from addresses to blocks and from sorts
 * to their numbers are needed on this side only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/large.h"
#include "group_packer.h"

static void put(struct group_packer *p, unsigned column, uint64_t byte)
{
	column_put(&p->column[column], byte);
}

static void put_wide(struct group_packer *p, unsigned column, unsigned bytes, uint64_t value)
{
	column_wide(&p->column[column], bytes, value);
}

static void put_varint(struct group_packer *p, unsigned column, uint64_t value)
{
	column_varint(&p->column[column], value);
}

/* In the table of `key`s, from place i on. */
static struct found *find_from(const struct group_packer *p, struct found *table, uint64_t key,
			       size_t i)
{
	i &= p->found_size - 1;
	while (table[i].group == p->group && table[i].key != key)
		i = (i + 1) & (p->found_size - 1);
	return &table[i];
}

static struct found *find_sort(const struct group_packer *p, uint64_t hash)
{
	return find_from(p, p->sort, hash, (hash * 0x9e3779b97f4a7c15ull) >> 40);
}

/* Blocks that are neighbours are neighbours here: most are met one after the other. */
static struct found *find_block(const struct group_packer *p, uint64_t addr)
{
	return find_from(p, p->block, addr,
			 ((addr >> 10) * 0x9e3779b97f4a7c15ull >> 40) + (addr >> 4 & 63));
}

/* ---- symbols ---- */

/* The guesses of 5, 2 and 1 symbols. */
static void guess(const struct group_packer *p, size_t *context, uint32_t *symbol)
{
	for (unsigned i = 0; i < 3; i++) {
		context[i] = model_context(&p->model, i);
		symbol[i] = p->model.after[i][context[i]];
	}
}

/* The first of n symbols (0: none) that is guessed, else the first that there is. */
static uint32_t put_symbol(struct group_packer *p, const uint32_t *symbol, unsigned n)
{
	uint32_t guessed[3], chosen = 0;
	unsigned how = 3;
	size_t context[3];

	guess(p, context, guessed);
	for (unsigned g = 0; g < 3 && how == 3; g++)
		for (unsigned i = 0; i < n && how == 3; i++)
			if (symbol[i] && symbol[i] == guessed[g]) {
				chosen = symbol[i];
				how = g;
			}
	for (unsigned i = 0; i < n && !chosen; i++)
		chosen = symbol[i];
	put(p, GROUP_SYMBOL, how);
	if (how == 3)
		put_wide(p, GROUP_NUMBER, 4, chosen);
	model_symbol(&p->model, context, chosen);
	p->start.head.records++;
	return chosen;
}

static void put_one(struct group_packer *p, uint32_t symbol)
{
	put_symbol(p, &symbol, 1);
}

static void add_event(struct group_packer *p, uint32_t symbol, unsigned words)
{
	p->timed[p->start.head.events++] = (struct timed){
		.ticks = p->ticks,
		.at = p->seen++,
		.class = model_clock_class(symbol),
		.words = (uint8_t)words,
	};
}

/* Before an event: whose it is. */
static void tell_thread(struct group_packer *p)
{
	if (p->thread == p->thread_told)
		return;
	p->thread_told = p->thread;
	put_one(p, SYMBOL_STATE);
	put_varint(p, GROUP_HEAD, mprof_word_thread(p->thread));
	p->words++;
}

/* Before an event of which no sort says the stack.  which: 0 takes, 1 gives. */
static void tell_stack(struct group_packer *p, unsigned which)
{
	if (p->stack[which] == p->told[which])
		return;
	p->told[which] = p->stack[which];
	put_one(p, SYMBOL_TAKES + which);
	put_varint(p, GROUP_ID, p->stack[which]);
	p->words++;
}

/* Before an event that gives back. */
static void tell_gives(struct group_packer *p)
{
	tell_stack(p, 1);
	if (!p->touched)
		return;
	put_one(p, SYMBOL_STATE);
	put_varint(p, GROUP_HEAD, p->touched);
	p->words++;
	p->touched = 0;
}

/* ---- what hands out ---- */

static uint64_t hash_sort(const struct sort *s)
{
	uint64_t h = s->size;

	h = (h ^ s->stack) * 0xd6e8feb86659fd93ull;
	h = (h ^ h >> 32 ^ s->usable) * 0xd6e8feb86659fd93ull;
	h = (h ^ h >> 32 ^ s->arg ^ (uint64_t)s->fn << 50 ^ (uint64_t)s->end << 56) *
	    0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}

static bool same_sort(const struct sort *a, const struct sort *b)
{
	return a->size == b->size && a->usable == b->usable && a->arg == b->arg &&
	       a->stack == b->stack && a->fn == b->fn && a->end == b->end;
}

static void put_sort(struct group_packer *p, const struct sort *s)
{
	struct model *m = &p->model;

	put(p, GROUP_FN, s->fn | s->end << 5);
	put_varint(p, GROUP_STACK,
		   s->stack == m->stack		  ? 0
		   : s->stack == m->stack_max + 1 ? 1
						  : (uint64_t)s->stack + 2);
	m->stack = s->stack;
	if (s->stack > m->stack_max)
		m->stack_max = s->stack;
	put_varint(p, GROUP_SIZE, s->size);
	put_varint(p, GROUP_USABLE, zigzag(s->usable - model_expect(m, s->size)));
	put_varint(p, GROUP_ARG, s->arg);
}

/* The number of a sort; symbols are put for it. */
static uint32_t take_sort(struct group_packer *p, const struct sort *s)
{
	uint64_t hash = hash_sort(s);
	struct model *m = &p->model;
	struct found *f;

	for (;; hash++) {
		f = find_sort(p, hash);
		if (f->group != p->group)
			break;
		if (same_sort(&m->sort[f->number], s)) {
			put_one(p, SYMBOL_SORT + 8 * f->number);
			return f->number;
		}
	}
	*f = (struct found){ hash, m->sorts, p->group };
	put_one(p, SYMBOL_NEW);
	put_sort(p, s);
	m->sort[m->sorts] = *s;
	return m->sorts++;
}

static void pack_take(struct group_packer *p, struct sort *s, uint64_t addr)
{
	struct model *m = &p->model;
	uint32_t number;
	uint64_t delta = addr - p->addr_told;
	unsigned name, words;

	s->stack = p->stack[0];
	s->newest = s->oldest = s->hole_newer = s->hole_older = MODEL_NONE;
	tell_thread(p);
	number = take_sort(p, s);
	/* A sort says the stack, but its word is written where the last one was another. */
	words = s->stack != p->told[0];
	p->told[0] = s->stack;
	words += model_take_tag(s) && mprof_alloc_is_short(0, s->size, s->usable - s->size, delta)
		     ? 1
		     : MPROF_LONG_WORDS;
	add_event(p, SYMBOL_SORT + 8 * number, words);
	name = model_name(m, addr, s->usable);
	put(p, GROUP_REF, name);
	if (name == NAME_NONE)
		put_wide(p, GROUP_NEAR, 8, zigzag(addr - m->last));
	*find_block(p, addr) = (struct found){ addr, m->blocks, p->group };
	model_took(m, number, name, addr);
	p->addr = p->addr_told = addr;
}

/* ---- what gives back ---- */

static void give_far(struct group_packer *p, unsigned op, uint64_t addr)
{
	struct model *m = &p->model;

	put_one(p, SYMBOL_FAR + op);
	add_event(p, SYMBOL_FAR + op, 1);
	put_wide(p, GROUP_FAR, 8, zigzag(addr - m->last));
	m->last = m->given = addr;
}

static void give_block(struct group_packer *p, unsigned op, uint32_t number, unsigned words)
{
	struct model *m = &p->model;
	uint32_t own = m->block[number].sort, away = number - m->given_block, symbol[4];
	struct sort *s = &m->sort[own];
	unsigned rank = RANK_NEWEST;

	while (rank < RANKS && model_ranked(s, rank) != number)
		rank++;
	symbol[0] = rank < RANKS ? SYMBOL_SORT + 8 * own + op : 0;
	symbol[1] = away == 1 ? SYMBOL_NEXT + op : 0;
	symbol[2] = away == UINT32_MAX ? SYMBOL_BEFORE + op : 0;
	symbol[3] = SYMBOL_JUMP + op;
	symbol[0] = put_symbol(p, symbol, 4);
	add_event(p, symbol[0], words);
	if (symbol[0] >= SYMBOL_SORT) {
		put(p, GROUP_RANK, rank == s->rank ? 0 : rank + 1);
		s->rank = (uint8_t)rank;
	} else if (symbol[0] == symbol[3]) {
		put_wide(p, GROUP_JUMP, 4, (uint32_t)(away << 1 ^ -(away >> 31)));
	}
	model_gave(m, number);
}

/* given: the size that the program said, for ops that have it.  False: not packed. */
static bool pack_give(struct group_packer *p, unsigned op, uint64_t addr, uint64_t given,
		      unsigned words)
{
	struct model *m = &p->model;
	struct found *f;
	bool live;

	tell_thread(p);
	if (!addr) {
		if (words != 1)
			return false;
		tell_gives(p);
		put_one(p, SYMBOL_NULL + op);
		add_event(p, SYMBOL_NULL + op, 1);
		return true;
	}
	f = find_block(p, addr);
	live = f->group == p->group && m->block[f->number].sort != MODEL_NONE;
	if (words != 1 &&
	    (!live || (model_ops[op].sized && m->sort[m->block[f->number].sort].size != given)))
		return false;
	tell_gives(p);
	if (live)
		give_block(p, op, f->number, words);
	else
		give_far(p, op, addr);
	return true;
}

/* ---- other words ---- */

static void pack_raw(struct group_packer *p, const uint64_t *w, unsigned n, unsigned which)
{
	tell_thread(p);
	if (n > 1 && which)
		tell_gives(p);
	else if (n > 1)
		tell_stack(p, 0);
	put_one(p, SYMBOL_RAW);
	add_event(p, SYMBOL_RAW, n);
	put_varint(p, GROUP_HEAD, w[0] & ~((uint64_t)MPROF_DT_MAX << 4));
	for (unsigned i = 1; i < n; i++) {
		put_varint(p, GROUP_VALUE, zigzag(w[i] - p->value));
		p->value = w[i];
	}
}

static const uint8_t classes[MPROF_FN_MAX] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = MPROF_CLASS_##class,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
};

static unsigned op_of(const uint64_t *w)
{
	unsigned fn = mprof_word_fn(w[0]);

	for (unsigned op = OP_DELETE_SIZED; op < OPS; op++)
		if (model_ops[op].fn == fn && model_ops[op].sized == (w[2] != 0))
			return op;
	return 0;
}

/* False when the words are bad. */
static bool pack_long(struct group_packer *p, const uint64_t *w)
{
	unsigned fn = mprof_word_fn(w[0]), class = fn < MPROF_FN_MAX ? classes[fn] : 0, op;
	bool begin = mprof_word_flags(w[0]) & MPROF_LONG_BEGIN;
	bool plain = !(w[0] >> 24); /* neither flags nor an error */

	if (!class || (begin && class != MPROF_CLASS_REALLOC))
		return false;
	if (plain && w[1] && (class == MPROF_CLASS_ALLOC || class == MPROF_CLASS_REALLOC)) {
		struct sort s = { .size = w[2],
				  .usable = w[3],
				  .arg = w[4],
				  .fn = (uint8_t)fn,
				  .end = class == MPROF_CLASS_REALLOC };

		pack_take(p, &s, w[1]);
		return true;
	}
	op = op_of(w);
	if (plain && op && w[1] && !w[3] && !w[4] && pack_give(p, op, w[1], w[2], MPROF_LONG_WORDS))
		return true;
	pack_raw(p, w, MPROF_LONG_WORDS, class == MPROF_CLASS_FREE || begin);
	if (w[1] && !begin && (class == MPROF_CLASS_ALLOC || class == MPROF_CLASS_REALLOC))
		p->addr = p->addr_told = w[1];
	return true;
}

static bool pack_state(struct group_packer *p, uint64_t w)
{
	switch (mprof_word_tag(w)) {
	case MPROF_TAG_TIME:
		if (w >> 4 < p->ticks)
			return false;
		p->ticks = w >> 4;
		return true;
	case MPROF_TAG_THREAD:
		p->thread = (uint32_t)(w >> 4);
		return p->thread && !(w >> 36);
	case MPROF_TAG_STACK:
		p->stack[w >> 4 & 1] = (uint32_t)(w >> 8);
		return !(w >> 40) && (w >> 4 & 15) <= MPROF_STACK_OF_FREES;
	case MPROF_TAG_TOUCHED:
		p->touched = w;
		return !(w >> 52);
	case MPROF_TAG_LOST:
		tell_thread(p);
		put_one(p, SYMBOL_STATE);
		put_varint(p, GROUP_HEAD, w);
		p->words++;
		p->seen++;
		return (w >> 4 & 255) < MPROF_LOST_REASONS;
	default:
		return false;
	}
}

static void pack_alloc(struct group_packer *p, uint64_t w)
{
	static const uint8_t fn[] = { [MPROF_TAG_MALLOC] = MPROF_FN_MALLOC,
				      [MPROF_TAG_CALLOC] = MPROF_FN_CALLOC,
				      [MPROF_TAG_REALLOC_END] = MPROF_FN_REALLOC,
				      [MPROF_TAG_NEW] = MPROF_FN_NEW };
	unsigned tag = mprof_word_tag(w);
	struct sort s = { .size = mprof_word_size(w),
			  .usable = mprof_word_size(w) + mprof_word_slack(w),
			  .arg = tag == MPROF_TAG_CALLOC,
			  .fn = fn[tag],
			  .end = tag == MPROF_TAG_REALLOC_END };

	pack_take(p, &s, p->addr + mprof_word_delta(w));
}

/* One record of at most n words; 0 when it is bad. */
static size_t pack_record(struct group_packer *p, const uint64_t *w, size_t n)
{
	unsigned tag = mprof_word_tag(*w);
	uint64_t ticks = p->ticks + mprof_word_dt(*w);

	switch (tag) {
	case MPROF_TAG_MALLOC:
	case MPROF_TAG_CALLOC:
	case MPROF_TAG_REALLOC_END:
	case MPROF_TAG_NEW:
		p->ticks = ticks;
		pack_alloc(p, *w);
		return 1;
	case MPROF_TAG_FREE:
	case MPROF_TAG_DELETE:
	case MPROF_TAG_REALLOC_BEGIN:
		p->ticks = ticks;
		return pack_give(p, tag - MPROF_TAG_FREE + OP_FREE, mprof_word_addr(*w), 0, 1);
	case MPROF_TAG_LONG:
		p->ticks = ticks;
		return n >= MPROF_LONG_WORDS && pack_long(p, w) ? MPROF_LONG_WORDS : 0;
	case MPROF_TAG_CONTROL:
		p->ticks = ticks;
		pack_raw(p, w, 1, 0);
		return mprof_word_fn(*w) - MPROF_CONTROL_THREAD_CREATE <=
		       MPROF_CONTROL_EXEC - MPROF_CONTROL_THREAD_CREATE;
	default:
		return pack_state(p, *w);
	}
}

static int pack_chunk(struct group_packer *p, const struct group_chunk *c, uint32_t thread)
{
	if ((c->ticks & MPROF_TICKS_MASK) < p->ticks)
		return -EINVAL;
	p->ticks = c->ticks & MPROF_TICKS_MASK;
	p->addr = 0;
	p->stack[0] = p->stack[1] = 0;
	p->touched = 0;
	p->thread = thread;
	for (size_t i = 0, got; i < c->n; i += got) {
		got = pack_record(p, c->word + i, c->n - i);
		if (!got || p->ticks > MPROF_TICKS_MASK)
			return -EINVAL;
	}
	return 0;
}

/* ---- the whole ---- */

struct group_packer *group_packer_new(void)
{
	return calloc(1, sizeof(struct group_packer));
}

void group_packer_free(struct group_packer *p)
{
	if (!p)
		return;
	columns_free(p->column, GROUP_COLUMNS);
	model_free(&p->model);
	free(p->clock.class);
	free(p->timed);
	free(p->block);
	free(p->sort);
	free(p);
}

static int make_room(struct group_packer *p, size_t words)
{
	size_t size = 1024;

	while (size < 2 * words)
		size *= 2;
	if (p->found_size < size) {
		free(p->block);
		free(p->sort);
		p->found_size = 0;
		p->block = large_calloc(size, sizeof(*p->block));
		p->sort = large_calloc(size, sizeof(*p->sort));
		if (!p->block || !p->sort)
			return -ENOMEM;
		p->found_size = size;
	}
	if (p->timed_room < words) {
		free(p->timed);
		free(p->clock.class);
		p->timed_room = 0;
		p->timed = calloc(words, sizeof(*p->timed));
		p->clock.class = calloc(words, sizeof(*p->clock.class));
		if (!p->timed || !p->clock.class)
			return -ENOMEM;
		p->timed_room = words;
	}
	return 0;
}

static int start(struct group_packer *p, size_t words, uint32_t thread)
{
	struct group_head h = { .blocks = (uint32_t)words,
				.sorts = (uint32_t)words,
				.bits = model_bits(words) };

	if (make_room(p, words) || model_start(&p->model, &h))
		return -ENOMEM;
	if (!++p->group) {
		memset(p->block, 0, p->found_size * sizeof(*p->block));
		memset(p->sort, 0, p->found_size * sizeof(*p->sort));
		p->group = 1;
	}
	columns_clear(p->column, GROUP_COLUMNS);
	memset(&p->start, 0, sizeof(p->start));
	p->start.head.bits = h.bits;
	p->ticks = p->value = p->addr_told = 0;
	p->told[0] = p->told[1] = 0;
	p->thread_told = thread;
	p->words = p->seen = 0;
	return 0;
}

static void mark_turns(struct group_packer *p, const struct group_turns *t)
{
	uint64_t at = 0;

	/* When an event without a time is first, the next one with a time is. */
	for (uint32_t i = 0; t->bit && i < p->start.head.events; i++)
		for (; at <= p->timed[i].at; at++)
			p->timed[i].first |= t->bit[(t->first + at) / 8] >> (t->first + at) % 8 & 1;
}

int group_pack(struct group_packer *p, const struct group_chunk *chunk, size_t n, uint32_t thread,
	       const struct group_turns *turns, uint32_t error, uint64_t *events)
{
	uint64_t base = chunk[0].ticks & MPROF_TICKS_MASK, span, pace;
	size_t words = 0;
	int ret;

	for (size_t i = 0; i < n; i++)
		words += chunk[i].n;
	if (!words || words > GROUP_WORDS_MAX)
		return -EINVAL;
	ret = start(p, words, thread);
	for (size_t i = 0; i < n && !ret; i++)
		ret = pack_chunk(p, &chunk[i], thread);
	span = p->ticks - base;
	if (ret || span > CLOCK_SPAN_MAX || !p->start.head.events)
		return ret ? ret : -EINVAL;
	*events = p->seen;
	mark_turns(p, turns);
	pace = span / p->start.head.events;
	p->start.head.pace = (uint32_t)(pace < error ? pace : error) + 1;
	p->start.head.error = error;
	if (group_fit_times(p, base))
		return -ENOMEM;
	p->start.head.blocks = p->model.blocks;
	p->start.head.sorts = p->model.sorts;
	if (!columns_finish(p->column, GROUP_COLUMNS, p->start.length))
		return -ENOMEM;
	return p->words <= GROUP_WORDS_MAX ? 0 : -EINVAL;
}

uint32_t group_words(const struct group_packer *p)
{
	return p->words;
}

bool group_piece(const void *packer, size_t i, const void **data, size_t *bytes)
{
	const struct group_packer *p = packer;

	if (i > GROUP_COLUMNS)
		return false;
	if (!i) {
		*data = &p->start;
		*bytes = sizeof(p->start);
		return true;
	}
	*data = p->column[i - 1].byte;
	*bytes = p->column[i - 1].n;
	return true;
}
