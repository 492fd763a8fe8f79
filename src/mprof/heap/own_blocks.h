/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * own_blocks.h - the live blocks of one process by the numbers that events use for them.
 *
 * event.block is a block's slot + 1 while it lives (trace/block_numbers.h), so a table of them is
 * an array: without hashing or searching.
 *
 * Without memory the program ends (util/alloc.h).  Threads: one at a time.
 */
#pragma once

#include "../util/large.h"
#include "blocks.h"

struct own_blocks {
	struct block *block; /* addr 0 = none */
	uint32_t n, room;    /* n: the greatest number so far, + 1 */
};

/* Returns the block with this number, or NULL; 0 is not a number. */
static inline struct block *own_find(const struct own_blocks *o, uint32_t number)
{
	return number - 1 < o->n && o->block[number - 1].addr ? &o->block[number - 1] : NULL;
}

PREFETCHES own_prefetch(const struct own_blocks *o, uint32_t number)
{
	if (number - 1 < o->n) {
		__builtin_prefetch(&o->block[number - 1]);
		__builtin_prefetch((const char *)&o->block[number] - 1);
	}
}

void own_grow(struct own_blocks *o, uint32_t number);

/* Returns the position of a number, which is not 0, used or not. */
static inline struct block *own_place(struct own_blocks *o, uint32_t number)
{
	if (__builtin_expect(number - 1 >= o->n, 0))
		own_grow(o, number);
	return &o->block[number - 1];
}

static inline void own_release(struct own_blocks *o)
{
	large_free(o->block, o->room * sizeof(*o->block));
	*o = (struct own_blocks){ .block = NULL };
}
