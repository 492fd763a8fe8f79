// SPDX-License-Identifier: LGPL-3.0-or-later
/* moment.c - see moment.h. */
#include "moment.h"

#include <string.h>

#include "../util/alloc.h"
#include "resident_pages.h"

static struct moment_region *region_of(struct moment *m, uint64_t key)
{
	struct moment_region **recent = &m->recent[key % MOMENT_RECENT];
	uint64_t *place;

	if (*recent && (*recent)->key == key)
		return *recent;
	place = hash_at(&m->places, key);
	if (!*place) {
		GROW(m->region, m->regions + 1, m->room);
		memset(m->recent, 0, sizeof(m->recent)); /* they may have moved */
		m->region[m->regions++] = (struct moment_region){ .key = key };
		*place = m->regions;
	}
	return *recent = &m->region[*place - 1];
}

/* Counts a page that is partly covered, once for each moment. */
static void add_page(struct moment *m, uint32_t process, uint64_t page)
{
	struct moment_region *r = region_of(m, moment_key(process, page));
	uint64_t *word = &r->word[page % (1u << MOMENT_SHIFT) / 32];
	const uint64_t bit = 1ull << page % 32;

	if (*word >> 32 != m->number)
		*word = (uint64_t)m->number << 32;
	m->pages += !(*word & bit) && (!m->within || resident_has(m->within, page));
	*word |= bit;
}

void moment_add(struct moment *m, unsigned shift, uint32_t process, uint64_t addr, uint64_t size)
{
	const uint64_t mask = (1ull << shift) - 1, behind = addr + size;
	uint64_t first, end, near = 0;

	if (!size || size > UINT64_MAX - mask - addr)
		return;
	/* Most blocks are within one page. */
	if (addr & mask && addr >> shift == behind >> shift) {
		add_page(m, process, addr >> shift);
		return;
	}
	if (pages_whole(shift, addr, size, &first, &end))
		m->pages += m->within ? resident_bytes(m->within, shift, first << shift,
						       end << shift, &near) >>
					    shift
				      : end - first;
	if (addr & mask)
		add_page(m, process, addr >> shift);
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
