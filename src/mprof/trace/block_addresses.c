// SPDX-License-Identifier: LGPL-3.0-or-later
/* block_addresses.c - regions and leaves. */
#include "block_addresses.h"

#include <stdlib.h>

#include "../util/large.h"

#define SLAB_FIRST 128u	      /* leaves, 16 KiB */
#define SLAB_MOST  (1u << 16) /* 8 MiB, in large pages */

/* A key is an address in its region, too. */
static struct places_region *find(const struct places *p, uint64_t key)
{
	size_t i = (size_t)(places_first(p, key) - p->region);

	while (p->region[i].key && p->region[i].key != key)
		i = (i + 1) & (p->room - 1);
	return &p->region[i];
}

bool places_room(struct places *p, size_t n)
{
	struct places old = *p;
	size_t room = p->room ? p->room : 256;

	if (2 * (p->used + n) <= p->room)
		return true;
	while (2 * (p->used + n) > room)
		room *= 2;
	p->region = large_extend(NULL, 0, room * sizeof(*p->region));
	if (!p->region) {
		p->region = old.region;
		return false;
	}
	p->room = room;
	p->shift = 64 - (unsigned)__builtin_ctzll(room);
	for (size_t i = 0; i < old.room; i++)
		if (old.region[i].key)
			*find(p, old.region[i].key) = old.region[i];
	if (old.room)
		large_free(old.region, old.room * sizeof(*old.region));
	return true;
}

static size_t slab_leaves(size_t slab)
{
	return slab < 9 ? (size_t)SLAB_FIRST << slab : SLAB_MOST;
}

static size_t slab_bytes(size_t slab)
{
	return slab_leaves(slab) * PLACES_LEAF * sizeof(uint32_t);
}

static uint32_t *new_leaf(struct places *p)
{
	if (!p->left) {
		uint32_t **bigger = realloc(p->slab, (p->slabs + 1) * sizeof(*bigger));

		if (!bigger)
			return NULL;
		p->slab = bigger;
		p->slab[p->slabs] = large_extend(NULL, 0, slab_bytes(p->slabs));
		if (!p->slab[p->slabs])
			return NULL;
		p->left = slab_leaves(p->slabs++);
	}
	p->left--;
	return p->slab[p->slabs - 1] +
	       (slab_leaves(p->slabs - 1) - 1 - p->left) * (size_t)PLACES_LEAF;
}

/* Gives a region with one cell a leaf. */
static bool promote(struct places *p, struct places_region *r)
{
	uint32_t *leaf = new_leaf(p);

	if (!leaf)
		return false;
	leaf[r->one & ~PLACES_ONE] = r->cell;
	r->leaf = leaf;
	p->promoted++;
	return true;
}

static bool start_region(struct places *p, struct places_region *r, uint64_t addr, bool large)
{
	if (large) {
		r->one = PLACES_ONE | places_number(addr);
	} else {
		r->leaf = new_leaf(p);
		if (!r->leaf)
			return false;
	}
	r->key = places_key(addr);
	p->used++;
	return true;
}

uint32_t *places_make(struct places *p, uint64_t addr, bool large)
{
	struct places_region *r;
	uint32_t *cell;

	if (!places_room(p, 1))
		return NULL;
	r = find(p, places_key(addr));
	if (!r->key && !start_region(p, r, addr, large))
		return NULL;
	cell = places_cell(r, addr);
	if (cell)
		return cell;
	return promote(p, r) ? &r->leaf[places_number(addr)] : NULL;
}

void places_start(struct places *p)
{
	static struct places_region none[2];

	*p = (struct places){ .region = none, .shift = 63 };
}

void places_free(struct places *p)
{
	for (size_t i = 0; i < p->slabs; i++)
		large_free(p->slab[i], slab_bytes(i));
	free(p->slab);
	if (p->room)
		large_free(p->region, p->room * sizeof(*p->region));
	places_start(p);
}
