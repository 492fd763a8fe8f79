/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * sizes.h - a table by exact size of block, and the pass that fills one with
 * all allocations of the run: the size classes.
 *
 * malloc, calloc (the product), realloc (the new size, also when the block
 * stayed where it was) and all others that returned a block count; failed
 * calls do not.  Waste of a class is what its blocks could have held beyond
 * the requested size, over all its allocations: usable size - size.
 */
#pragma once

#include "../util/hash.h"
#include "walk.h"

#define SIZES_SMALL 65536u /* while the pass counts, smaller sizes have separate slots */

struct size_class {
	uint64_t size;	/* of each block, bytes */
	uint64_t count; /* blocks; bytes = size * count */
	uint64_t waste; /* bytes over all of them */
};

/* A zeroed struct is empty. */
struct size_table {
	struct size_class *small; /* by size */
	size_t smalls;		  /* of these; 0 before the first one */
	struct size_class *large; /* the others, in the order in which they came */
	size_t larges, room;
	struct hash index; /* of a large one, by size, + 1 */
};

void size_table_add(struct size_table *t, uint64_t size, uint64_t waste);
/* Returns all classes, ascending, in a new array (caller frees). */
struct size_class *size_table_sorted(const struct size_table *t, size_t *n);

#define SIZES_POWERS 65u

struct sizes {
	struct walk *walk;
	bool brief; /* set before the walk: fill `total` and `bytes` only */
	struct size_table table;
	struct size_class *class; /* ascending by size; computed by finish */
	size_t classes;
	struct size_class total; /* size: 0, count, waste */
	uint64_t bytes;		 /* sum of all classes */
	/* [0]: size 0; [i]: sizes from 2^(i - 1) to below 2^i.  `size` is the bytes of all its
	 * blocks */
	struct size_class power[SIZES_POWERS];
};

extern const struct pass_ops sizes_pass;

/* Counts a call that returned a block, if the pass is brief. */
static inline void sizes_brief(struct sizes *s, uint64_t size, uint64_t slack)
{
	s->total.count++;
	s->total.waste += slack;
	s->bytes += size;
}

void sizes_add_large(struct sizes *s, uint64_t size, uint64_t slack);

/* The same if it is not brief. */
static inline void sizes_add(struct sizes *s, uint64_t size, uint64_t slack)
{
	struct size_class *c;

	if (size >= SIZES_SMALL) {
		sizes_add_large(s, size, slack);
		return;
	}
	c = &s->table.small[size];
	c->size = size;
	c->count++;
	c->waste += slack;
}
