/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * block_addresses.h - from addresses to the slots of the blocks that begin there.
 *
 * A hash of regions of 512 bytes leads to leaves of 32 cells: cells are never
 * deleted, lookups do not probe, and neighbours share a line.  A plain hash of
 * addresses takes two to five times as long on heaps of a million blocks.  Larger
 * leaves take more memory where blocks are large, smaller ones more time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../util/large.h"

#define PLACES_LEAF 32u

struct places_region {
	uint64_t key; /* 0 = none */
	uint32_t *leaf;
};

struct places {
	struct places_region *region; /* open addressing; two empty ones at first */
	size_t room, used;	      /* room: a power of two, or 0 */
	unsigned shift;
	uint32_t **slab; /* memory of leaves */
	size_t slabs, left;
};

/* Makes p empty; it takes no memory before its first cell is made. */
void places_start(struct places *p);
/* Makes p empty again. */
void places_free(struct places *p);
/* Makes room for n more regions.  False without memory. */
bool places_room(struct places *p, size_t n);
/* Returns the cell of an address, creating it if necessary; NULL without memory. */
uint32_t *places_make(struct places *p, uint64_t addr);

/* Returns the key of a region: without the bits that are the number of its cell.  The lowest four
 * bits are not among these: addresses that are not multiples of 16 have separate regions. */
static inline uint64_t places_key(uint64_t addr)
{
	return addr | (PLACES_LEAF - 1) << 4;
}

/* Returns the first region to compare when an address is searched; for the caller to prefetch.
 * 2^64 divided by the golden ratio, for each region, spreads those of a heap evenly. */
static inline const struct places_region *places_first(const struct places *p, uint64_t addr)
{
	return &p->region[(
	    size_t)(places_key(addr) * (0x9e3779b97f4a7c15ull / (16 * PLACES_LEAF)) >> p->shift)];
}

/* Returns the cell of an address, or NULL if there has never been a block near it.
 * r: of places_first(), since when no more room has been made. */
static inline uint32_t *places_from(const struct places *p, const struct places_region *r,
				    uint64_t addr)
{
	uint64_t key = places_key(addr);

	while (__builtin_expect(r->key != key, 0)) {
		if (!r->key)
			return NULL;
		r = r + 1 < p->region + p->room ? r + 1 : p->region;
	}
	return &r->leaf[addr >> 4 & (PLACES_LEAF - 1)];
}

static inline uint32_t *places_find(const struct places *p, uint64_t addr)
{
	return places_from(p, places_first(p, addr), addr);
}
