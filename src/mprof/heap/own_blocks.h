/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * own_blocks.h - the live blocks of one process by the numbers that events use for them.
 *
 * event.block is a block's slot + 1 while it lives (trace/block_numbers.h), so a table of them is
 * an array: without hashing or searching.  It takes more memory than anything else in a walk, so
 * its blocks are packed: two in a cache line.
 *
 * Without memory the program ends (util/alloc.h).  Threads: one at a time.
 */
#pragma once

#include "../util/inline.h"
#include "../util/large.h"
#include "blocks.h"

/* A packed struct block. */
struct own_block {
	uint64_t addr; /* 0 = none */
	uint64_t start;
	uint32_t sizes; /* size << 8 | slack; OWN_WIDE: too large for that */
	uint32_t owner;
	uint32_t stack; /* if it is wide, the place of this and its sizes in `wide` */
	uint32_t fn : 8;
	uint32_t order : 24;
};
_Static_assert(sizeof(struct own_block) == 32, "two in a cache line");

#define OWN_WIDE 255u

struct own_wide {
	uint64_t size;
	uint32_t slack, stack; /* stack: of an unused one, the next unused one + 1 */
};

struct own_blocks {
	struct own_block *block;
	uint32_t n, room; /* n: the greatest number so far, + 1 */
	struct own_wide *wide;
	size_t wides, wide_room;
	uint32_t unused; /* the first one + 1 */
	uint64_t *live;	 /* by own_mark(): a bit for each number, else NULL */
};

/* Returns the block with this number, or NULL; 0 is not a number. */
static inline struct own_block *own_find(const struct own_blocks *o, uint32_t number)
{
	return number - 1 < o->n && o->block[number - 1].addr ? &o->block[number - 1] : NULL;
}

/* Takes any number: nothing reads at the address, so it may be outside of the array. */
PREFETCHES own_prefetch(const struct own_blocks *o, uint32_t number)
{
	const size_t place = number - (number != 0);

	__builtin_prefetch((const void *)((uintptr_t)o->block + place * sizeof(*o->block)));
}

void own_more(struct own_blocks *o, uint32_t number);
void own_widen(struct own_blocks *o, struct own_block *at, const struct block *b);
void own_drop_wide(struct own_blocks *o, const struct own_block *at);
void own_release(struct own_blocks *o);
/* Makes rounds over the live blocks quick, which must not change any more. */
void own_mark(struct own_blocks *o);

static inline void own_grow(struct own_blocks *o, uint32_t number)
{
	if (__builtin_expect(number > o->room, 0))
		own_more(o, number);
	o->n = number;
}

/* Returns the position of a number, which is not 0, used or not. */
static inline struct own_block *own_place(struct own_blocks *o, uint32_t number)
{
	if (__builtin_expect(number - 1 >= o->n, 0))
		own_grow(o, number);
	return &o->block[number - 1];
}

ALWAYS_INLINE struct block own_block(const struct own_blocks *o, const struct own_block *at)
{
	struct block b = {
		.addr = at->addr,
		.size = at->sizes >> 8,
		.start = at->start,
		.slack = at->sizes & OWN_WIDE,
		.owner = at->owner,
		.stack = at->stack,
		.fn = at->fn,
		.order = at->order,
	};

	if (__builtin_expect(at->sizes == OWN_WIDE, 0)) {
		b.size = o->wide[at->stack].size;
		b.slack = o->wide[at->stack].slack;
		b.stack = o->wide[at->stack].stack;
	}
	return b;
}

/* Does a block have fewer bytes than that?  Without unpacking it: most are small. */
static inline bool own_is_less(const struct own_blocks *o, const struct own_block *at,
			       uint32_t bytes)
{
	return at->sizes >> 8 < bytes && (at->sizes != OWN_WIDE || o->wide[at->stack].size < bytes);
}

/* Puts a block at an unused position. */
ALWAYS_INLINE void own_put(struct own_blocks *o, struct own_block *at, const struct block *b)
{
	*at = (struct own_block){
		.addr = b->addr,
		.start = b->start,
		.sizes = (uint32_t)b->size << 8 | b->slack,
		.owner = b->owner,
		.stack = b->stack,
		.fn = b->fn,
		.order = b->order,
	};
	if (__builtin_expect(b->size >> 24 || b->slack >= OWN_WIDE, 0))
		own_widen(o, at, BLOCK_APART(b));
}

ALWAYS_INLINE void own_drop(struct own_blocks *o, struct own_block *at)
{
	if (__builtin_expect(at->sizes == OWN_WIDE, 0))
		own_drop_wide(o, at);
	at->addr = 0;
}
