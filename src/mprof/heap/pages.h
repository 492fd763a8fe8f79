/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * pages.h - how many pages the live blocks of one process touch.
 *
 * A block covers [addr, addr + size): a block of 0 bytes touches no page,
 * one that ends where a page ends does not touch the next one.  Pages that a
 * block covers wholly can hold no other block and are only counted; pages
 * that it covers in part are shared and have a counter each, kept in regions of
 * 512 pages; the last one used is cached.
 *
 * pages_remove() must get exactly the arguments of pages_add(). Without memory the program ends
 * (util/alloc.h). Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../util/inline.h"

#define PAGES_REGION_SHIFT 9u
#define PAGES_REGION	   (1u << PAGES_REGION_SHIFT)

struct pages_region {
	uint64_t key;  /* page number >> PAGES_REGION_SHIFT */
	uint32_t used; /* counters that are not 0 */
	uint32_t count[PAGES_REGION];
};

struct pages {
	unsigned shift;	  /* log2 of the page size */
	uint64_t touched; /* pages that live blocks touch */
	struct pages_region *last;
	struct pages_region **slot; /* open addressing by key */
	size_t capacity, used;	    /* capacity: a power of two or 0 */
};

struct pages_region *pages_region_slow(struct pages *p, uint64_t key);

static inline uint32_t *pages_counter(struct pages *p, uint64_t page, struct pages_region **r)
{
	const uint64_t key = page >> PAGES_REGION_SHIFT;

	if (!p->last || p->last->key != key)
		p->last = pages_region_slow(p, key);
	*r = p->last;
	return &p->last->count[page & (PAGES_REGION - 1)];
}

/* Counts one more block in a page, or one less.  Without a branch, which could not be predicted. */
ALWAYS_INLINE void pages_change_part(struct pages *p, uint64_t page, bool add)
{
	struct pages_region *r;
	uint32_t *count = pages_counter(p, page, &r);
	const uint32_t first = !*count, last = *count == 1;

	*count += add ? 1 : 0 - (*count != 0);
	r->used += add ? first : 0 - last;
	p->touched += add ? first : -(uint64_t)last;
}

void pages_change_large(struct pages *p, uint64_t addr, uint64_t size, bool add);

ALWAYS_INLINE void pages_change(struct pages *p, uint64_t addr, uint64_t size, bool add)
{
	uint64_t first = addr >> p->shift, last = (addr + size - 1) >> p->shift;

	if (!size)
		return;
	if (size >> p->shift) {
		pages_change_large(p, addr, size, add);
		return;
	}
	pages_change_part(p, first, add);
	if (last != first)
		pages_change_part(p, last, add);
}

static inline void pages_add(struct pages *p, uint64_t addr, uint64_t size)
{
	pages_change(p, addr, size, true);
}

static inline void pages_remove(struct pages *p, uint64_t addr, uint64_t size)
{
	pages_change(p, addr, size, false);
}

/* Sets the pages that a block covers wholly: numbers in [*first, *end). */
static inline bool pages_whole(unsigned shift, uint64_t addr, uint64_t size, uint64_t *first,
			       uint64_t *end)
{
	const uint64_t mask = (1ull << shift) - 1;

	if (size > UINT64_MAX - mask - addr)
		return false;
	*first = (addr + mask) >> shift;
	*end = (addr + size) >> shift;
	return *first < *end;
}

/* page_size is in bytes; anything but a power of two counts as 4096. */
void pages_init(struct pages *p, uint32_t page_size);
void pages_clear(struct pages *p);
/* Returns the next region with a page in use, in no order; *at = 0 begins. */
const struct pages_region *pages_next(const struct pages *p, size_t *at);
