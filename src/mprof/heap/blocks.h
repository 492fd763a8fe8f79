/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * blocks.h - a table of blocks, found by address.
 *
 * Open addressing with Fibonacci hashing, linear probing and backward-shift deletion, so that a
 * table never fills up with the remains of ended blocks.  It doubles at three quarters full: 53 to
 * 107 bytes a block.  Small tables are kept sparse, because short probes are easier to predict:
 * mispredicted ends of probes take half of the time of a lookup.  Address 0 marks an empty slot and
 * is never a key.
 *
 * Without memory the program ends (util/alloc.h).  Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* struct block.owner: an index of a thread, and flags of the block. */
#define BLOCK_THREAD	0x00ffffffu
#define BLOCK_INHERITED 0x80000000u /* inherited by fork, so not the process's own */
#define BLOCK_RESIZED	0x40000000u /* realloc returned it for another block */

#define BLOCKS_SPARSE 16384u /* slots; up to here a table is kept at most a quarter full */

struct block {
	uint64_t addr;
	uint64_t size;	     /* bytes requested */
	uint64_t start;	     /* ticks when it was returned */
	uint32_t slack;	     /* usable bytes beyond size, saturating */
	uint32_t owner;	     /* BLOCK_... */
	uint32_t stack;	     /* of the call that returned it: a node of stacks.h, 0 if unknown */
	uint32_t fn : 8;     /* enum mprof_fn of that call */
	uint32_t order : 24; /* number of its event, modulo 2^24, which orders events of one time */
};

struct blocks {
	struct block *slot; /* NULL until the first put */
	uint64_t capacity;  /* a power of two, 0 without slots */
	uint64_t used;
	unsigned shift; /* 64 - log2(capacity) */
};

/* A copy for a function that is called rarely: the fields of the original stay in registers. */
#define BLOCK_APART(b) ((const struct block[]){ *(b) })

/* Did the block begin no later than the event with this time and number? */
static inline bool block_began_by(const struct block *b, uint64_t ticks, uint64_t number)
{
	/* Events of one time are less than 2^23 apart. */
	return b->start < ticks ||
	       (b->start == ticks && (((uint32_t)number - b->order) & 0xffffff) < 1u << 23);
}

static inline uint64_t blocks_hash(const struct blocks *t, uint64_t addr)
{
	return addr * 0x9e3779b97f4a7c15ull >> t->shift;
}

/* Returns the block at addr or NULL.  Valid until the next put or take. */
static inline struct block *blocks_find(const struct blocks *t, uint64_t addr)
{
	uint64_t i;

	if (!t->used)
		return NULL;
	for (i = blocks_hash(t, addr); t->slot[i].addr; i = (i + 1) & (t->capacity - 1))
		if (t->slot[i].addr == addr)
			return &t->slot[i];
	return NULL;
}

/* Returns how many blocks a table may hold before it grows. */
static inline uint64_t blocks_limit(uint64_t capacity)
{
	return capacity <= BLOCKS_SPARSE ? capacity / 4 : capacity / 4 * 3;
}

void blocks_grow(struct blocks *t);

/* Adds a block whose address is not in the table. */
static inline void blocks_put(struct blocks *t, const struct block *b)
{
	uint64_t i;

	if (t->used >= blocks_limit(t->capacity))
		blocks_grow(t);
	for (i = blocks_hash(t, b->addr); t->slot[i].addr; i = (i + 1) & (t->capacity - 1))
		;
	t->slot[i] = *b;
	t->used++;
}

/* Removes the block that blocks_find() returned. */
void blocks_take(struct blocks *t, struct block *b);
/* Returns the next block in no particular order; NULL begins and ends the round. */
const struct block *blocks_next(const struct blocks *t, const struct block *b);
void blocks_release(struct blocks *t);
