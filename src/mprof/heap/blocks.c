// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * blocks.c - a table of blocks, found by address.
 *
 * Invariant: between the slot a block's hash names and the slot it is in,
 * no slot is empty.
 */
#include "../util/alloc.h"
#include "blocks.h"

#include <stdlib.h>

#define BLOCKS_FIRST 64u

_Static_assert(sizeof(struct block) == 40, "what a table of blocks takes of memory");

void blocks_grow(struct blocks *t)
{
	const struct blocks old = *t;
	const uint64_t capacity = old.capacity ? 2 * old.capacity : BLOCKS_FIRST;
	uint64_t i;

	*t = (struct blocks){ .slot = must_calloc(capacity, sizeof(*t->slot)),
			      .capacity = capacity,
			      .shift = 64 - (unsigned)__builtin_ctzll(capacity) };
	for (i = 0; i < old.capacity; i++)
		if (old.slot[i].addr)
			blocks_put(t, &old.slot[i]);
	free(old.slot);
}

void blocks_take(struct blocks *t, struct block *b)
{
	const uint64_t mask = t->capacity - 1;
	uint64_t hole = (uint64_t)(b - t->slot), i = hole, home;

	for (;;) {
		i = (i + 1) & mask;
		if (!t->slot[i].addr)
			break;
		/* A block may move back into the hole unless its home is after the hole. */
		home = blocks_hash(t, t->slot[i].addr);
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			t->slot[hole] = t->slot[i];
			hole = i;
		}
	}
	t->slot[hole].addr = 0;
	t->used--;
}

const struct block *blocks_next(const struct blocks *t, const struct block *b)
{
	uint64_t i = b ? (uint64_t)(b - t->slot) + 1 : 0;

	for (; i < t->capacity; i++)
		if (t->slot[i].addr)
			return &t->slot[i];
	return NULL;
}

void blocks_release(struct blocks *t)
{
	free(t->slot);
	*t = (struct blocks){ .slot = NULL };
}
