/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * resizes.h - the pass for realloc and reallocarray: results of the calls,
 * bytes copied, and chains.
 *
 * Copied: the lesser of old and new size whenever the block moved, unless it is known
 * that its pages were moved instead (heap_moved_pages).  An allocator other
 * than glibc's may have done this unnoticed, so this is an upper bound. Chain:
 * the calls that resized one block until it was freed or its process ended; its
 * length is their number.
 */
#pragma once

#include "../util/hash.h"
#include "array.h"
#include "walk.h"

#define RESIZES_BUCKETS 33u
#define RESIZES_SIZES	65u

#define RESIZES_PAIRS 65536u /* exact pairs that are kept */
#define RESIZES_MOST  500u   /* pairs in the result */

/* Calls from one exact size to another. */
struct resizes_exact {
	uint64_t from, to, calls;
};

/* A chain that is not yet over. */
struct resizes_chain {
	uint64_t copied; /* bytes so far */
	uint32_t calls;	 /* so far; 0 = no chain */
};

struct resizes_sort {
	uint64_t grew, shrank, same; /* calls */
};

struct resizes {
	struct walk *walk;
	uint64_t calls;
	uint64_t of_nothing; /* realloc(NULL, n), which is a malloc */
	uint64_t freed;	     /* realloc(p, 0) that freed p */
	uint64_t failed;
	struct resizes_sort in_place, moved;
	uint64_t remapped; /* how many of the moved ones are known to have moved without a copy */
	uint64_t copied_bytes;
	uint64_t grown_bytes, shrunk_bytes; /* sums of differences */
	/* calls by the bits of old and new size: 0 for 0 bytes, n for 2^(n-1) to 2^n - 1 */
	uint64_t pair[RESIZES_SIZES][RESIZES_SIZES];
	struct hash exact; /* while walking: calls, by old size << 32 | new size */
	/* after the walk: pairs with most calls first, and the calls of other pairs */
	struct resizes_exact *most;
	size_t mosts;
	uint64_t more_calls;
	/* [i]: chains of 2^i to below 2^(i + 1) calls */
	uint64_t chain[RESIZES_BUCKETS];
	uint64_t chains;
	uint64_t longest;	/* calls */
	uint64_t longest_bytes; /* size of its block at the end */
	uint64_t longest_copied;
	struct array open;	     /* struct large by process, see resizes_open() */
	struct resizes_chain *large; /* those that do not fit there; the first is not used */
	size_t larges, large_room;
	uint32_t large_free; /* the first free one, which has the next one; 0 = none */
};

extern const struct pass_ops resizes_pass;

/* ---- for the loops of resizes.c and analysis.c ---- */

/* Call it at the end of a realloc of the block `old` with this number; NULL if there was none. */
void resizes_call(struct resizes *s, const struct event *e, uint32_t process,
		  const struct block *old, uint32_t number);
/* Returns the open chains of a process: uint32_t by number of the block, see resizes.c. */
static inline struct large *resizes_open(struct resizes *s, uint32_t process)
{
	return array_large(&s->open, process);
}

PREFETCHES resizes_prefetch(const struct large *open, uint32_t number)
{
	__builtin_prefetch(large_known(open, number, sizeof(uint32_t)), 1);
}

/* The same if it returned a block for none. */
static inline void resizes_of_nothing(struct resizes *s)
{
	s->calls++;
	s->of_nothing++;
}

/* Call it when a block ended otherwise. */
void resizes_ended(struct resizes *s, uint32_t process, const struct block *b, uint32_t number);
