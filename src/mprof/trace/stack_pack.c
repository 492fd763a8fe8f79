// SPDX-License-Identifier: LGPL-3.0-or-later
/* stack_pack.c - stack records into columns, and the predictions of both sides. */
#include "stack_pack.h"

#include <errno.h>
#include <stdlib.h>

#include <mprof/format.h>

#define CHAIN_MAX 64 /* joined stacks searched for a caller */

int stacks_model_start(struct stacks_model *m, const struct stacks_head *h)
{
	*m = (struct stacks_model){ .stacks = h->stacks, .first = h->first, .id = h->first - 1 };
	m->stack = calloc((size_t)h->stacks + 1, sizeof(*m->stack));
	m->frame = malloc(((size_t)h->frames + 1) * sizeof(*m->frame)); /* filled in order */
	m->after = calloc((size_t)h->addresses + 1, sizeof(*m->after));
	m->address = calloc((size_t)h->addresses + 1, sizeof(*m->address));
	return m->stack && m->frame && m->after && m->address ? 0 : -ENOMEM;
}

void stacks_model_free(struct stacks_model *m)
{
	free(m->stack);
	free(m->frame);
	free(m->after);
	free(m->address);
}

uint32_t stacks_model_caller(const struct stacks_model *m, uint32_t joined, uint32_t depth)
{
	const struct packed_stack *s;

	for (int i = 0; depth && i < CHAIN_MAX; i++) {
		s = stacks_model_get(m, joined);
		if (!s)
			return 0;
		if (depth >= s->own)
			return depth - s->own < s->n ? m->frame[s->at + depth - s->own] : 0;
		joined = s->joined;
	}
	return 0;
}

struct known {
	uint64_t address;
	uint32_t number;
};

struct stack_packer {
	struct stacks_model model;
	struct byte_column column[STACKS_COLUMNS];
	struct {
		struct stacks_head head;
		uint32_t length[STACKS_COLUMNS];
	} start;
	struct known *known;
	size_t known_size; /* a power of two */
};

struct stack_packer *stack_packer_new(void)
{
	return calloc(1, sizeof(struct stack_packer));
}

static void clear(struct stack_packer *p)
{
	stacks_model_free(&p->model);
	p->model = (struct stacks_model){ 0 };
	free(p->known);
	p->known = NULL;
	p->known_size = 0;
}

void stack_packer_free(struct stack_packer *p)
{
	if (!p)
		return;
	clear(p);
	columns_free(p->column, STACKS_COLUMNS);
	free(p);
}

static struct known *find(struct stack_packer *p, uint64_t address)
{
	size_t i = (address * 0x9e3779b97f4a7c15ull) >> 40 & (p->known_size - 1);

	while (p->known[i].number && p->known[i].address != address)
		i = (i + 1) & (p->known_size - 1);
	return &p->known[i];
}

/* Makes space for one more address; most frames occur in other stacks, too. */
static bool grow_known(struct stack_packer *p)
{
	struct known *old = p->known, *bigger;
	size_t n = p->known_size, more = n ? 4 * n : 1024;
	uint32_t(*after)[3];

	if (2 * ((size_t)p->model.addresses + 1) <= n)
		return true;
	after = reallocarray(p->model.after, more / 2 + 1, sizeof(*after));
	if (!after)
		return false;
	memset(after + n / 2 + 1, 0, (more / 2 - n / 2) * sizeof(*after));
	p->model.after = after;
	bigger = calloc(more, sizeof(*bigger));
	if (!bigger)
		return false;
	p->known = bigger;
	p->known_size = more;
	for (size_t i = 0; i < n; i++)
		if (old[i].number)
			*find(p, old[i].address) = old[i];
	free(old);
	return true;
}

static uint32_t pack_frame(struct stack_packer *p, uint32_t caller, uint64_t address)
{
	struct stacks_model *m = &p->model;
	struct known *k = find(p, address);
	unsigned hit = 0;

	if (!k->number) {
		*k = (struct known){ address, ++m->addresses };
		column_put(&p->column[STACKS_HIT], 4);
		column_varint(&p->column[STACKS_ADDRESS], zigzag(address - m->last));
		m->last = address;
	} else {
		while (hit < 3 && m->after[caller][hit] != k->number)
			hit++;
		column_put(&p->column[STACKS_HIT], hit);
		if (hit == 3)
			column_wide(&p->column[STACKS_NUMBER], 3, k->number);
	}
	stacks_model_learn(m, caller, k->number);
	m->frame[m->frames++] = k->number;
	return k->number;
}

static bool pack_stack(struct stack_packer *p, const uint64_t *w, uint32_t frames)
{
	struct stacks_model *m = &p->model;
	uint32_t id = w[0] >> 32, flags = w[0] >> 4 & 15, joined = (uint32_t)w[1],
		 depth = w[1] >> 32;
	const struct packed_stack *base = stacks_model_get(m, joined);
	uint32_t caller = stacks_model_caller(m, joined, depth), at = m->frames;
	bool next = id == m->id + 1 && !flags;

	column_put(&p->column[STACKS_RECORD], next ? STACKS_NEXT : STACKS_OTHER);
	if (!next) {
		column_varint(&p->column[STACKS_ID], id);
		column_put(&p->column[STACKS_FLAGS], flags);
	}
	column_varint(&p->column[STACKS_JOINED], joined ? zigzag((uint64_t)id - joined) + 1 : 0);
	column_varint(&p->column[STACKS_DEPTH],
		      zigzag((uint64_t)(base ? base->own - 1 + base->n : 0) - depth));
	column_varint(&p->column[STACKS_FRAMES], frames);
	for (uint32_t i = 0; i < frames; i++) {
		if (!grow_known(p))
			return false;
		caller = pack_frame(p, caller, w[2 + i]);
	}
	m->id = id;
	if (id - m->first < m->stacks && depth < UINT32_MAX)
		m->stack[id - m->first] = (struct packed_stack){ depth + 1, joined, at, frames };
	return true;
}

static void pack_raw(struct stack_packer *p, const uint64_t *w, size_t words)
{
	column_put(&p->column[STACKS_RECORD], STACKS_RAW);
	column_varint(&p->column[STACKS_WORDS], words);
	for (size_t i = 0; i < words; i++)
		for (unsigned k = 0; k < 8; k++)
			column_put(&p->column[STACKS_WORD], w[i] >> 8 * k);
}

/* Returns the words of a record, 0 if it is invalid. */
static size_t words_of(const uint64_t *w, size_t n)
{
	const bool known = (*w & 15) >= MPROF_RECORD_STACK && (*w & 15) <= MPROF_RECORD_GAP;
	const size_t words = known ? mprof_record_words(*w) : 0;

	return words <= n ? words : 0;
}

/* Computes the sizes needed; false if the words are not valid records. */
static bool count(struct stacks_head *h, const uint64_t *w, size_t n)
{
	*h = (struct stacks_head){ 0 };
	for (size_t i = 0, words; i < n; i += words) {
		words = words_of(w + i, n - i);
		if (!words)
			return false;
		h->records++;
		if ((w[i] & 15) != MPROF_RECORD_STACK)
			continue;
		if (!h->stacks++)
			h->first = w[i] >> 32;
		h->frames += (uint32_t)words - 2;
	}
	return true;
}

int stack_pack(struct stack_packer *p, const uint64_t *w, size_t n)
{
	struct stacks_head h;

	clear(p);
	columns_clear(p->column, STACKS_COLUMNS);
	if (!n || !count(&h, w, n))
		return -EINVAL;
	if (stacks_model_start(&p->model, &h))
		return -ENOMEM;
	for (size_t i = 0, words; i < n; i += words) {
		words = words_of(w + i, n - i);
		if ((w[i] & 15) != MPROF_RECORD_STACK)
			pack_raw(p, w + i, words);
		else if (!pack_stack(p, w + i, (uint32_t)words - 2))
			return -ENOMEM;
	}
	h.addresses = p->model.addresses;
	p->start.head = h;
	return columns_finish(p->column, STACKS_COLUMNS, p->start.length) ? 0 : -ENOMEM;
}

bool stack_piece(void *packer, size_t i, const void **data, size_t *bytes)
{
	const struct stack_packer *p = packer;

	if (i > STACKS_COLUMNS)
		return false;
	*data = i ? (const void *)p->column[i - 1].byte : &p->start;
	*bytes = i ? p->column[i - 1].n : sizeof(p->start);
	return true;
}
