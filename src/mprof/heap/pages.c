// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * pages.c - how many pages the live blocks of one process touch.
 *
 * Regions without touched pages stay until the table of regions would have to
 * grow, and are dropped then: memory use follows the touched pages, and a block
 * that is allocated repeatedly does not allocate a region each time.
 */
#include "../util/alloc.h"
#include "pages.h"

#include <stdlib.h>

#define PAGES_FIRST 64u

static size_t region_home(size_t capacity, uint64_t key)
{
	return (size_t)(key * 0x9e3779b97f4a7c15ull >> 32) & (capacity - 1);
}

static void region_place(struct pages_region **slot, size_t capacity, struct pages_region *r)
{
	size_t i = region_home(capacity, r->key);

	while (slot[i])
		i = (i + 1) & (capacity - 1);
	slot[i] = r;
}

static size_t regions_in_use(const struct pages *p)
{
	size_t n = 0, i;

	for (i = 0; i < p->capacity; i++)
		n += p->slot[i] && p->slot[i]->used;
	return n;
}

/* Makes space for one more region: drops empty ones, doubles if they were few. */
static void regions_rebuild(struct pages *p)
{
	size_t in_use = regions_in_use(p), capacity = p->capacity ? p->capacity : PAGES_FIRST, i;
	struct pages_region **slot;

	if (in_use > capacity / 4)
		capacity *= 2;
	slot = must_calloc(capacity, sizeof(struct pages_region *));
	for (i = 0; i < p->capacity; i++) {
		if (p->slot[i] && p->slot[i]->used)
			region_place(slot, capacity, p->slot[i]);
		else
			free(p->slot[i]);
	}
	free(p->slot);
	p->slot = slot;
	p->capacity = capacity;
	p->used = in_use;
	p->last = NULL;
}

struct pages_region *pages_region_slow(struct pages *p, uint64_t key)
{
	struct pages_region *r;
	size_t i;

	if (p->capacity) {
		for (i = region_home(p->capacity, key); p->slot[i]; i = (i + 1) & (p->capacity - 1))
			if (p->slot[i]->key == key)
				return p->slot[i];
	}
	if (p->used >= p->capacity / 2)
		regions_rebuild(p);
	r = must_calloc(1, sizeof(*r));
	r->key = key;
	region_place(p->slot, p->capacity, r);
	p->used++;
	return r;
}

void pages_change_large(struct pages *p, uint64_t addr, uint64_t size, bool add)
{
	const uint64_t mask = (1ull << p->shift) - 1;
	uint64_t first, end;

	if (pages_whole(p->shift, addr, size, &first, &end))
		p->touched += add ? end - first : first - end;
	else if (size > UINT64_MAX - mask - addr)
		return; /* a damaged trace: there is no such block */
	if (addr & mask)
		pages_change_part(p, addr >> p->shift, add);
	if ((addr + size) & mask)
		pages_change_part(p, (addr + size) >> p->shift, add);
}

void pages_init(struct pages *p, uint32_t page_size)
{
	if (page_size < 512 || page_size & (page_size - 1))
		page_size = 4096;
	*p = (struct pages){ .shift = (unsigned)__builtin_ctz(page_size) };
}

void pages_clear(struct pages *p)
{
	size_t i;

	for (i = 0; i < p->capacity; i++)
		free(p->slot[i]);
	free(p->slot);
	pages_init(p, 1u << p->shift);
}

const struct pages_region *pages_next(const struct pages *p, size_t *at)
{
	while (*at < p->capacity) {
		const struct pages_region *r = p->slot[(*at)++];

		if (r && r->used)
			return r;
	}
	return NULL;
}
