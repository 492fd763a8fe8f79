/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * page_use.h - the pages with live blocks, at three sizes of page, and how full they are.
 *
 *   live bytes  of a page: requested bytes of live blocks in it; a block of 0 bytes counts as one,
 *               because it keeps its page, too
 *   L_g         live pages of size g: those with at least one live byte
 *   page use    R / (L_g * g): requested bytes of all live blocks divided by their pages
 *   retained    resident pages without a live byte: free but kept, or the allocator's own data
 *   pins        pages by their number of live bytes: few bytes pin a page
 *
 * Page use depends on addresses alone, so it can be compared between allocators, unlike usable
 * sizes and headers.
 *
 * 2 MiB regions that a block covers entirely cost nothing; otherwise a call is proportional to the
 * pages of its block. Blocks may overlap (a trace that lost events); all sums stay exact if each
 * block is removed as it was added.
 *
 * Without memory the program ends (util/alloc.h).  Threads: one at a time.  A zeroed struct is
 * empty.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../util/hash.h"
#include "placement.h"

enum page_grain { GRAIN_4K, GRAIN_64K, GRAIN_2M, PAGE_GRAINS };

static const unsigned page_shift[PAGE_GRAINS] = { 12, 16, 21 };

/* Classes of 4 KiB pages by live bytes. */
enum page_pins { PINS_64, PINS_256, PINS_1K, PINS_4K, PINS_FULL, PAGE_PINS };

#define PAGE_PINNED 64u /* a page with fewer live bytes is pinned */

#define REGION_PAGES 512u
#define REGION_UNITS 32u /* of 64 KiB */

struct page_region {
	uint64_t key; /* address >> 21 */
	uint64_t live;
	uint32_t unit[REGION_UNITS];
	uint32_t page[REGION_PAGES]; /* live bytes */
};

/* Regions that one block covers entirely: keys in [first, end). */
struct page_span {
	uint64_t first, end;
};

struct page_use {
	uint64_t live[PAGE_GRAINS]; /* L_g */
	struct page_region *last;
	struct page_region **region; /* in the order of first use */
	size_t regions, region_room;
	struct hash known; /* key -> region */
	struct page_span *span;
	size_t spans, span_room;
};

void page_use_add(struct page_use *u, uint64_t addr, uint64_t size);
void page_use_remove(struct page_use *u, uint64_t addr, uint64_t size);
void page_use_release(struct page_use *u);

/* Returns the live bytes of the 4 KiB page at addr, without blocks that cover its whole region. */
uint32_t page_use_at(const struct page_use *u, uint64_t addr);

/* R / (L_g * g); 0 without live blocks. */
double page_use_of(uint64_t requested, const uint64_t live[PAGE_GRAINS], enum page_grain g);

void page_use_pins(const struct page_use *u, uint64_t pins[PAGE_PINS]);

/* Counts the resident 4 KiB pages in the ranges of a frame that have no live byte. */
uint64_t page_use_retained(struct page_use *u, const struct place_range *r, size_t n);
