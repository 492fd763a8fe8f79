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

#define ADDRESS_MOST (1ull << 48) /* a damaged trace may say more */
#define LARGE_PAGES  (1u << 18)	  /* of a larger block, only this many at each end */

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

/* What lay there before is gone. */
static void forget_pages(struct last_blocks *s, uint64_t addr, uint64_t size)
{
	const uint64_t first = addr >> s->shift, last = (addr + size - 1) >> s->shift;

	for (uint64_t page = first; page <= last; page++) {
		const uint64_t at = hash_get(&s->places, page / LAST_REGION_PAGES + 1);
		const uint64_t i = page % LAST_REGION_PAGES;

		if (at)
			s->region[at - 1]->bits[i / 64] &= ~(1ull << i % 64);
		else
			page += LAST_REGION_PAGES - 1 - i;
	}
}

/* After its first event, those of its ancestors are not about its memory. */
static bool is_about(struct last_blocks *s, uint32_t process)
{
	s->began |= process == s->process;
	return !s->began || process == s->process;
}

static void take(struct last_blocks *s, const struct event *e, const struct note *n)
{
	if (!e->addr || e->addr > ADDRESS_MOST || e->size > ADDRESS_MOST ||
	    !is_about(s, e->process))
		return;
	if (n->did & NOTE_BEGAN)
		note_pages(s, e->addr, e->size);
	else if (n->did & NOTE_MAPPED && !e->error && e->size &&
		 (e->fn == MPROF_FN_MMAP || e->fn == MPROF_FN_MREMAP))
		forget_pages(s, e->addr, e->size);
}

static void batch(void *self, const struct batch *b)
{
	for (size_t i = 0; i < b->count; i++)
		take(self, &b->event[i], &b->note[i]);
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

static const struct last_region *known_region(const struct last_blocks *b, uint64_t page)
{
	const uint64_t at = hash_get(&b->places, page / LAST_REGION_PAGES + 1);

	return at ? b->region[at - 1] : NULL;
}

static bool has_page(const struct last_region *r, uint64_t page)
{
	const uint64_t i = page % LAST_REGION_PAGES;

	return r && r->bits[i / 64] >> i % 64 & 1;
}

/* A program may map terabytes: regions without a block are passed at once. */
uint64_t last_blocks_next(const struct last_blocks *b, uint64_t from, uint64_t to, bool had)
{
	while (from < to) {
		const struct last_region *r = known_region(b, from);
		uint64_t end = (from / LAST_REGION_PAGES + 1) * LAST_REGION_PAGES;

		end = end < to ? end : to;
		for (; r && from < end; from++)
			if (has_page(r, from) == had)
				return from;
		if (!r && !had)
			return from;
		from = end;
	}
	return to;
}

uint64_t last_blocks_end(const struct last_blocks *b, uint64_t from, uint64_t to)
{
	while (to > from) {
		const struct last_region *r = known_region(b, to - 1);
		uint64_t start = (to - 1) / LAST_REGION_PAGES * LAST_REGION_PAGES;

		start = start > from ? start : from;
		for (; r && to > start; to--)
			if (has_page(r, to - 1))
				return to;
		to = start;
	}
	return from;
}

const struct pass_ops last_blocks_pass = {
	.name = "last blocks",
	.bytes = sizeof(struct last_blocks),
	.batch = batch,
	.gone = gone,
	.release = release,
};
