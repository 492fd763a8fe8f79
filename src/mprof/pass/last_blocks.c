// SPDX-License-Identifier: LGPL-3.0-or-later
/* last_blocks.c - see last_blocks.h. */
#include "last_blocks.h"

#include <stdlib.h>

#include "../util/alloc.h"

static struct last_region *region_of(struct last_blocks *s, uint64_t page)
{
	const uint64_t key = page / LAST_REGION_PAGES;
	struct last_region *r = s->recent;
	uint64_t *place;

	if (r && r->first / LAST_REGION_PAGES == key)
		return r;
	place = hash_at(&s->places, key + 1);
	if (!*place) {
		GROW(s->region, s->regions + 1, s->region_room);
		s->region[s->regions++] = must_calloc(1, sizeof(*r));
		*place = s->regions;
	}
	s->recent = r = s->region[*place - 1];
	r->first = key * LAST_REGION_PAGES;
	return r;
}

#define LARGE_PAGES (1u << 18) /* of a larger block, only so many at each end are noted */

static void note_pages(struct last_blocks *s, uint64_t addr, uint64_t size)
{
	const uint64_t first = addr >> s->shift, last = (addr + (size ? size - 1 : 0)) >> s->shift;

	for (uint64_t page = first; page <= last; page++) {
		struct last_region *r = region_of(s, page);
		const uint64_t i = page - r->first;

		r->bits[i / 64] |= 1ull << i % 64;
		if (page - first == LARGE_PAGES && last - page > LARGE_PAGES)
			page = last - LARGE_PAGES;
	}
}

static void batch(void *self, const struct batch *b)
{
	struct last_blocks *s = self;

	for (size_t i = 0; i < b->count; i++)
		if (b->note[i].did & NOTE_BEGAN && b->event[i].addr &&
		    b->event[i].addr + b->event[i].size >= b->event[i].addr)
			note_pages(s, b->event[i].addr, b->event[i].size);
}

static void forget(struct last_blocks *s)
{
	for (size_t i = 0; i < s->regions; i++)
		free(s->region[i]);
	s->regions = s->blocks = s->mappings = 0;
	s->recent = NULL;
	free(s->mapped);
	s->mapped = NULL;
	hash_release(&s->places);
}

static void gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	struct last_blocks *s = self;
	const struct heap_process *p = h->process[process];
	struct heap_live_round round = { .thread = 0 };
	const struct block *b;

	(void)ticks;
	if (p->number != s->process)
		return;
	if (why == GONE_EXEC) {
		forget(s);
		return;
	}
	s->blocks = 0;
	while ((b = heap_next_live(h, process, &round)))
		*GROW_ONE(s->block, s->blocks, s->room) =
		    (struct last_block){ .addr = b->addr,
					 .size = b->size,
					 .stack = b->stack,
					 .own = !(b->owner & BLOCK_INHERITED) };
	free(s->mapped);
	s->mappings = p->space.mapped.count;
	s->mapped =
	    must_memdup(p->space.mapped.range, s->mappings * sizeof(*p->space.mapped.range));
}

static void release(void *self)
{
	struct last_blocks *s = self;

	forget(s);
	free(s->region);
	free(s->block);
}

bool last_blocks_had(const struct last_blocks *b, uint64_t page)
{
	const uint64_t at = hash_get(&b->places, page / LAST_REGION_PAGES + 1);
	const uint64_t i = page % LAST_REGION_PAGES;

	return at && b->region[at - 1]->bits[i / 64] >> i % 64 & 1;
}

const struct pass_ops last_blocks_pass = {
	.name = "last blocks",
	.bytes = sizeof(struct last_blocks),
	.batch = batch,
	.gone = gone,
	.release = release,
};
