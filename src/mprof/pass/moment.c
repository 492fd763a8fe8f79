// SPDX-License-Identifier: LGPL-3.0-or-later
/* moment.c - see moment.h. */
#include "moment.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "resident_pages.h"

#define REGION_SHIFT 9u

struct moment_region {
	uint64_t key;
	uint32_t number;			 /* the moment that its bits belong to */
	uint64_t bit[(1u << REGION_SHIFT) / 64]; /* for each page */
};

static struct moment_region *region_of(struct moment *m, uint64_t key)
{
	uint64_t *place;

	if (m->last < m->regions && m->region[m->last].key == key)
		return &m->region[m->last];
	place = hash_at(&m->places, key);
	if (!*place) {
		GROW(m->region, m->regions + 1, m->room);
		m->region[m->regions++] = (struct moment_region){ .key = key };
		*place = m->regions;
	}
	m->last = *place - 1;
	return &m->region[m->last];
}

/* Counts a page that is partly covered, once for each moment. */
static void add_page(struct moment *m, uint32_t process, uint64_t page)
{
	/* Numbers of pages have at most 52 bits. */
	struct moment_region *r = region_of(m, page >> REGION_SHIFT | (uint64_t)process << 43);
	uint64_t *bits = &r->bit[page / 64 % (sizeof(r->bit) / sizeof(r->bit[0]))];
	const uint64_t bit = 1ull << page % 64;

	if (r->number != m->number) {
		memset(r->bit, 0, sizeof(r->bit));
		r->number = m->number;
	}
	m->pages += !(*bits & bit) && (!m->within || resident_has(m->within, page));
	*bits |= bit;
}

void moment_add(struct moment *m, unsigned shift, uint32_t process, const struct block *b)
{
	const uint64_t mask = (1ull << shift) - 1, behind = b->addr + b->size;
	uint64_t first, end, near = 0;

	if (!b->size || b->size > UINT64_MAX - mask - b->addr)
		return;
	/* Most blocks are within one page. */
	if (b->addr & mask && b->addr >> shift == behind >> shift) {
		add_page(m, process, b->addr >> shift);
		return;
	}
	if (pages_whole(shift, b->addr, b->size, &first, &end))
		m->pages += m->within ? resident_bytes(m->within, shift, first << shift,
						       end << shift, &near) >>
					    shift
				      : end - first;
	if (b->addr & mask)
		add_page(m, process, b->addr >> shift);
	if (behind & mask)
		add_page(m, process, behind >> shift);
}

void moment_gone(struct moment *m, const struct heap *h, uint32_t process)
{
	const struct heap_process *p = h->process[process];
	struct heap_round round = { 0 };
	const struct block *b;

	while ((b = heap_next_block(p, &round)))
		if (!(b->owner & BLOCK_INHERITED))
			moment_ended(m, p->pages.shift, process, b);
}
