// SPDX-License-Identifier: LGPL-3.0-or-later
/* model.c - guessing the events of a group of chunks. */
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct model_op model_ops[OPS] = {
	[OP_FREE] = { MPROF_TAG_FREE, MPROF_FN_FREE, 0 },
	[OP_DELETE] = { MPROF_TAG_DELETE, MPROF_FN_DELETE, 0 },
	[OP_REALLOC] = { MPROF_TAG_REALLOC_BEGIN, MPROF_FN_REALLOC, 0 },
	[OP_DELETE_SIZED] = { 0, MPROF_FN_DELETE, 1 },
	[OP_ARRAY] = { 0, MPROF_FN_DELETE_ARRAY, 0 },
	[OP_ARRAY_SIZED] = { 0, MPROF_FN_DELETE_ARRAY, 1 },
	[OP_FREE_SIZED] = { 0, MPROF_FN_FREE_SIZED, 1 },
};

unsigned model_take_tag(const struct sort *s)
{
	if (s->end)
		return s->fn == MPROF_FN_REALLOC && !s->arg ? MPROF_TAG_REALLOC_END : 0;
	if (s->fn == MPROF_FN_CALLOC)
		return s->arg == 1 ? MPROF_TAG_CALLOC : 0;
	if (s->arg)
		return 0;
	return s->fn == MPROF_FN_MALLOC ? MPROF_TAG_MALLOC
	       : s->fn == MPROF_FN_NEW	? MPROF_TAG_NEW
					: 0;
}

unsigned model_name(const struct model *m, uint64_t addr, uint64_t usable)
{
	uint32_t i = m->pile[model_pile(usable)];

	for (unsigned depth = 0; i && depth < MODEL_DEPTH; depth++) {
		if (m->block[i - 1].addr == addr)
			return depth;
		i = m->block[i - 1].below;
	}
	if (addr == m->given)
		return NAME_GIVEN;
	if (addr == m->addr + m->usable + 8)
		return NAME_BEHIND;
	if (addr == m->addr + m->usable)
		return NAME_NEXT;
	return addr == m->carve ? NAME_SPLIT : NAME_NONE;
}

/* What glibc would give: the guess until a size has been seen. */
static uint16_t usual_usable(uint64_t size)
{
	return size <= 24 ? 24 : (uint16_t)(((size + 8 + 15) & ~15ull) - 8);
}

static int make_room(void **array, uint32_t *room, uint32_t n, size_t bytes)
{
	if (*room < n) {
		free(*array);
		*array = calloc(n, bytes);
		*room = *array ? n : 0;
	}
	return *room >= n ? 0 : -ENOMEM;
}

static int make_tables(struct model *m, unsigned bits)
{
	size_t n = 0;
	uint32_t *at;

	for (int i = 0; i < 3; i++) {
		m->bits[i] = i ? bits - 2 : bits;
		n += (size_t)1 << m->bits[i];
	}
	if (m->after_room < n) {
		free(m->after[0]);
		m->after[0] = calloc(n, sizeof(**m->after));
		m->after_room = m->after[0] ? n : 0;
	}
	if (!m->after_room)
		return -ENOMEM;
	at = m->after[0];
	memset(at, 0, n * sizeof(*at));
	m->after[1] = at + ((size_t)1 << m->bits[0]);
	m->after[2] = m->after[1] + ((size_t)1 << m->bits[1]);
	return 0;
}

unsigned model_bits(size_t words)
{
	unsigned bits = MODEL_BITS_MIN;

	while (bits < MODEL_BITS_MAX && (size_t)1 << bits < words)
		bits++;
	return bits;
}

int model_start(struct model *m, const struct group_head *h)
{
	if (make_room((void **)&m->block, &m->blocks_room, h->blocks + 1, sizeof(*m->block)) ||
	    make_room((void **)&m->sort, &m->sorts_room, h->sorts + 1, sizeof(*m->sort)) ||
	    make_tables(m, h->bits))
		return -ENOMEM;
	m->blocks = m->sorts = 0;
	memset(m->pile, 0, sizeof(m->pile));
	for (unsigned i = 0; i < MODEL_SIZES; i++)
		m->usable_of[i] = usual_usable(8ull * i);
	m->addr = m->usable = m->given = m->carve = m->last = 0;
	m->given_block = MODEL_NONE;
	m->stack = m->stack_max = 0;
	memset(m->history, 0, sizeof(m->history));
	return 0;
}

void model_free(struct model *m)
{
	free(m->block);
	free(m->sort);
	free(m->after[0]);
}
