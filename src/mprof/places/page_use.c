// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * page_use.c - counts the pages with live blocks.
 *
 * A region has a counter for each of its pages, for its 64 KiB units and for
 * itself; each is a plain sum over the parts of blocks there, so removing them in any order leads
 * back to 0. Regions that a block covers entirely are kept as a span: they are full, whatever else
 * is there.
 */
#include "page_use.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/order.h"

#define REGION_SHIFT 21u
#define REGION_BYTES (1ull << REGION_SHIFT)
#define PAGE_BYTES   4096u

static struct page_region *region_slow(struct page_use *u, uint64_t key)
{
	uint64_t *known = hash_at(&u->known, key);

	if (!*known) {
		u->last = must_calloc(1, sizeof(*u->last));
		u->last->key = key;
		*known = (uintptr_t)u->last;
		GROW(u->region, u->regions + 1, u->region_room);
		u->region[u->regions++] = u->last;
	}
	u->last = (struct page_region *)(uintptr_t)*known;
	return u->last;
}

static inline struct page_region *region_at(struct page_use *u, uint64_t key)
{
	return u->last && u->last->key == key ? u->last : region_slow(u, key);
}

static struct page_region *region_find(const struct page_use *u, uint64_t key)
{
	return (struct page_region *)(uintptr_t)hash_get(&u->known, key);
}

/* Adds (sign 1) or subtracts (-1) `bytes` in a counter; returns the change in live pages. */
static inline uint64_t count(uint32_t *counter, uint32_t bytes, int sign)
{
	uint32_t before = *counter;

	*counter = sign > 0 ? before + bytes : before - bytes;
	return (uint64_t)(*counter != 0) - (uint64_t)(before != 0);
}

/* Counts [start, end), within one region, by pages or by units. */
static uint64_t count_parts(uint32_t *counter, uint64_t start, uint64_t end, unsigned shift,
			    int sign)
{
	const uint64_t grain = 1ull << shift;
	uint64_t i = start >> shift, last = (end - 1) >> shift, live;

	if (i == last)
		return count(&counter[i], (uint32_t)(end - start), sign);
	live = count(&counter[i], (uint32_t)(grain - (start & (grain - 1))), sign);
	while (++i < last)
		live += count(&counter[i], (uint32_t)grain, sign);
	return live + count(&counter[i], (uint32_t)(end - (last << shift)), sign);
}

/* Counts [addr, end), which is within one region. */
static inline void count_region(struct page_use *u, uint64_t addr, uint64_t end, int sign)
{
	struct page_region *r = region_at(u, addr >> REGION_SHIFT);
	const uint64_t start = addr & (REGION_BYTES - 1), stop = start + (end - addr);
	const uint64_t before = r->live;

	u->live[GRAIN_4K] += count_parts(r->page, start, stop, 12, sign);
	u->live[GRAIN_64K] += count_parts(r->unit, start, stop, 16, sign);
	r->live = sign > 0 ? before + (end - addr) : before - (end - addr);
	u->live[GRAIN_2M] += (uint64_t)(r->live != 0) - (uint64_t)(before != 0);
}

static void count_span(struct page_use *u, uint64_t first, uint64_t end, int sign)
{
	const uint64_t regions = sign > 0 ? end - first : first - end;
	size_t i;

	u->live[GRAIN_4K] += regions * REGION_PAGES;
	u->live[GRAIN_64K] += regions * REGION_UNITS;
	u->live[GRAIN_2M] += regions;
	if (sign < 0) {
		/* Large blocks are few and short-lived: the search begins with the last one. */
		for (i = u->spans; i-- > 0;)
			if (u->span[i].first == first && u->span[i].end == end)
				break;
		if (i < u->spans)
			u->span[i] = u->span[--u->spans];
		return;
	}
	GROW(u->span, u->spans + 1, u->span_room);
	u->span[u->spans++] = (struct page_span){ first, end };
}

static void count_large(struct page_use *u, uint64_t addr, uint64_t end, int sign)
{
	const uint64_t first = (addr + REGION_BYTES - 1) >> REGION_SHIFT,
		       last = end >> REGION_SHIFT;

	if (first >= last) {
		/* A block that is in at most two regions and fills none. */
		count_region(u, addr, first << REGION_SHIFT, sign);
		count_region(u, first << REGION_SHIFT, end, sign);
		return;
	}
	if (addr < first << REGION_SHIFT)
		count_region(u, addr, first << REGION_SHIFT, sign);
	count_span(u, first, last, sign);
	if (end > last << REGION_SHIFT)
		count_region(u, last << REGION_SHIFT, end, sign);
}

static inline void count_block(struct page_use *u, uint64_t addr, uint64_t size, int sign)
{
	const uint64_t end = addr + (size ? size : 1);

	if (end < addr)
		return;
	if (addr >> REGION_SHIFT == (end - 1) >> REGION_SHIFT && end - addr < REGION_BYTES)
		count_region(u, addr, end, sign);
	else
		count_large(u, addr, end, sign);
}

void page_use_add(struct page_use *u, uint64_t addr, uint64_t size)
{
	count_block(u, addr, size, 1);
}

void page_use_remove(struct page_use *u, uint64_t addr, uint64_t size)
{
	count_block(u, addr, size, -1);
}

void page_use_release(struct page_use *u)
{
	size_t i;

	for (i = 0; i < u->regions; i++)
		free(u->region[i]);
	free(u->region);
	hash_release(&u->known);
	free(u->span);
	memset(u, 0, sizeof(*u));
}

/* ---- questions ---- */

ORDER(by_first, struct page_span, RISING(first))

/* The spans are sorted and, like blocks, do not overlap. */
static bool in_span(const struct page_use *u, uint64_t key)
{
	const size_t i = FIRST_WHERE(k, u->spans, u->span[k].end > key);

	return i < u->spans && u->span[i].first <= key;
}

static void sort_spans(struct page_use *u)
{
	SORT(u->span, u->spans, by_first);
}

uint32_t page_use_at(const struct page_use *u, uint64_t addr)
{
	const struct page_region *r = region_find(u, addr >> REGION_SHIFT);

	return r ? r->page[addr >> 12 & (REGION_PAGES - 1)] : 0;
}

double page_use_of(uint64_t requested, const uint64_t live[PAGE_GRAINS], enum page_grain g)
{
	return live[g] ? (double)requested / ((double)live[g] * (double)(1ull << page_shift[g]))
		       : 0;
}

static enum page_pins page_pins_of(uint32_t live)
{
	if (live >= PAGE_BYTES)
		return PINS_FULL;
	if (live >= 1024)
		return PINS_4K;
	if (live >= 256)
		return PINS_1K;
	return live >= PAGE_PINNED ? PINS_256 : PINS_64;
}

void page_use_pins(const struct page_use *u, uint64_t pins[PAGE_PINS])
{
	const struct page_region *r;
	size_t i, page;

	memset(pins, 0, PAGE_PINS * sizeof(*pins));
	for (i = 0; i < u->spans; i++)
		pins[PINS_FULL] += (u->span[i].end - u->span[i].first) * REGION_PAGES;
	for (i = 0; i < u->regions; i++) {
		r = u->region[i];
		if (!r->live)
			continue;
		for (page = 0; page < REGION_PAGES; page++)
			if (r->page[page])
				pins[page_pins_of(r->page[page])]++;
	}
}

/* Counts the pages [first, end) of one region; their bits begin at `at` in the range. */
static uint64_t retained_in(const struct page_use *u, uint64_t key, const uint8_t *bits,
			    uint64_t at, uint64_t first, uint64_t end)
{
	const struct page_region *r = region_find(u, key);
	const bool full = u->spans && in_span(u, key);
	uint64_t n = 0, page;

	for (page = first; page < end; page++, at++) {
		if (!bits[at / 8]) {
			/* An allocator may reserve large parts of the address space. */
			page += 7 - at % 8;
			at |= 7;
			continue;
		}
		if (bits[at / 8] >> at % 8 & 1)
			n += !full && (!r || !r->page[page]);
	}
	return n;
}

uint64_t page_use_retained(struct page_use *u, const struct place_range *r, size_t n)
{
	uint64_t all = 0, page, end, stop, at;
	size_t i;

	sort_spans(u);
	for (i = 0; i < n; i++) {
		page = r[i].addr >> 12;
		end = page + r[i].pages;
		for (at = 0; page < end; at += stop - page, page = stop) {
			stop = (page / REGION_PAGES + 1) * REGION_PAGES;
			stop = stop < end ? stop : end;
			all +=
			    retained_in(u, page / REGION_PAGES, r[i].resident, at,
					page % REGION_PAGES, page % REGION_PAGES + (stop - page));
		}
	}
	return all;
}
