/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * block_addresses.h - from addresses to the slots of the blocks that begin there.
 *
 * A hash of regions of 512 bytes leads to leaves of 32 cells: cells are never
 * deleted, lookups do not probe, and neighbours share a line.  A plain hash of
 * addresses takes two to five times as long on heaps of a million blocks.  Larger
 * leaves take more memory where blocks are large, smaller ones more time.
 *
 * A region has no leaf while only one address in it was of a block, which was large: its cell is
 * in the region.  A leaf of four million blocks of 500 bytes each took three quarters of the
 * memory and half of the time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../util/large.h"

#define PLACES_LEAF  32u
#define PLACES_LARGE 480u /* bytes of a block that is hardly ever in one region with another */

struct places_region {
	uint64_t key; /* 0 = none */
	union {
		uint32_t *leaf;
		struct {
			uint32_t cell; /* the only one, if `one` has PLACES_ONE */
			uint32_t one;  /* PLACES_ONE | its number */
		};
	};
};
#define PLACES_ONE (1u << 31) /* no address of a leaf has the highest bit */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(struct places_region) == 16,
	       "PLACES_ONE is the highest bit of the pointer, and four regions share a line");

struct places {
	struct places_region *region; /* open addressing; two empty ones at first */
	size_t room, used;	      /* room: a power of two, or 0 */
	unsigned shift;
	uint32_t promoted; /* regions that got a leaf later: cells in these have moved */
	uint32_t **slab;   /* memory of leaves */
	size_t slabs, left;
};

/* Makes p empty; it takes no memory before its first cell is made. */
void places_start(struct places *p);
/* Makes p empty again. */
void places_free(struct places *p);
/* Makes room for n more regions.  False without memory. */
bool places_room(struct places *p, size_t n);
/* Returns the cell of an address, creating it if necessary; NULL without memory.  large: a block of
 * PLACES_LARGE bytes begins there.  If p->promoted changes, cells have to be found again. */
uint32_t *places_make(struct places *p, uint64_t addr, bool large);

/* Returns the key of a region: without the bits that are the number of its cell.  The lowest four
 * bits are not among these: addresses that are not multiples of 16 have separate regions. */
static inline uint64_t places_key(uint64_t addr)
{
	return addr | (PLACES_LEAF - 1) << 4;
}

/* Returns the number of an address in its region. */
static inline uint32_t places_number(uint64_t addr)
{
	return (uint32_t)(addr >> 4) & (PLACES_LEAF - 1);
}

/* Returns the cell of an address in its region, or NULL. */
static inline uint32_t *places_cell(const struct places_region *r, uint64_t addr)
{
	const uint32_t number = places_number(addr);

	if (__builtin_expect(r->one & PLACES_ONE, 0))
		return r->one == (PLACES_ONE | number) ? (uint32_t *)&r->cell : NULL;
	return &r->leaf[number];
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
	return places_cell(r, addr);
}

static inline uint32_t *places_find(const struct places *p, uint64_t addr)
{
	return places_from(p, places_first(p, addr), addr);
}
