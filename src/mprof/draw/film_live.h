/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * film_live.h - the heap while a film is taken: live bytes of each page and, with channels, its
 * blocks. Used by film.c only.
 *
 * Only frames show pages, so a call only notes its block, and film_live_settle() applies what is
 * left of the calls since the last frame: most blocks end before they are seen in one.
 *
 * Invariants: a unit's live_mask has the bits of its pages with live bytes; a unit with a dirty
 * page is in `dirty` once; a settled block is in the list of the page where it begins, and is
 * `left` of every further page it touches; any other live block is in `fresh`. If blocks overlap,
 * as in a broken trace or allocator, some page may miss one of them, but nothing else goes wrong.
 */
#pragma once

#include "../places/placement.h"
#include "../util/hash.h"
#include "../util/large.h"
#include "film_frame.h"

/* A slot and its block. */
struct film_block {
	uint64_t addr, size, born;
	uint32_t site, thread;
	uint32_t listed; /* it is in `fresh` if this is `settles` */
	bool live;
};

/* A block that has ended but is in its pages. */
struct film_ended {
	uint64_t addr, size;
	uint32_t slot;
};

/* Some blocks of a page: one cache line, so that few loads wait for the one before. */
#define FILM_NODE 15u
struct film_node {
	uint32_t slot[FILM_NODE]; /* + 1; 0 = unused, as are all after it */
	uint32_t next;		  /* index + 1 of one with older blocks, which is full; 0 = none */
};

struct film_page {
	uint32_t live; /* bytes */
	uint32_t head; /* of the blocks that begin here: the first node's index + 1 */
	uint32_t left; /* slot + 1 of a block that began in an earlier page */
};

struct film_unit {
	uint64_t key;	/* address >> FILM_UNIT_SHIFT */
	uint32_t stamp; /* the last frame with a range here */
	uint16_t live_mask, resident, mapped, dirty;
	struct film_page page[FILM_UNIT_PAGES];
};

struct film_live {
	unsigned channels; /* enum film_channel */
	size_t units_most;
	struct film_unit *unit; /* in the order of first use */
	size_t units, units_room;
	struct hash known; /* key -> index + 1 */
	uint32_t last;	   /* index of the unit used last */
	uint32_t *dirty;
	size_t dirties, dirty_room;
	struct large block;	     /* struct film_block by slot */
	struct large node;	     /* struct film_node */
	uint32_t nodes, unused_node; /* unused: index + 1, linked by `next` */
	uint32_t *kept;		     /* see sweep() */
	size_t kept_room;
	uint32_t settles; /* how often, + 1 */
	uint32_t *fresh;  /* slots of blocks not yet added to a page; some have already ended */
	size_t freshes, fresh_room;
	struct film_ended *ended;
	size_t endeds, ended_room;
	uint32_t stamp;
	struct film_frame now;		      /* current sums; op and ns of the last call */
	uint64_t most_requested, most_usable; /* maxima since the last point */
	uint64_t sample_rss;
	uint64_t next_point; /* op; UINT64_MAX = no more */
	size_t point_room, frame_room;
	uint64_t left_out; /* bytes of blocks beyond the limits */
};

/* Call these when a block is allocated, and when it is freed. */
void film_live_begin(struct film_live *l, const struct place_block *b);
void film_live_end(struct film_live *l, const struct place_block *b);
/* Prefetches what the end of a block needs. */
PREFETCHES film_live_soon(const struct film_live *l, uint32_t slot)
{
	__builtin_prefetch(large_known(&l->block, slot, sizeof(struct film_block)), 1);
}
/* Makes the pages, and the sums of pages in `now`, those of the live blocks. */
void film_live_settle(struct film_live *l);
/* Call these when that is done.  Stores which pages are resident, and counts them in `now`. */
void film_live_residency(struct film_live *l, const struct place_range *r, size_t n);
/* Prefetches the first node of each dirty page of a unit.  Addresses are computed as integers: a
 * page without blocks has no node, and the array may be NULL. */
PREFETCHES film_live_cells_soon(const struct film_live *l, const struct film_unit *u)
{
	for (unsigned dirty = u->dirty; dirty; dirty &= dirty - 1)
		__builtin_prefetch((const void *)((uintptr_t)l->node.item +
						  (u->page[__builtin_ctz(dirty)].head - 1ul) *
						      sizeof(struct film_node)));
}
/* Returns the state of a page for a frame. */
void film_live_cell(const struct film_live *l, const struct film_unit *u, unsigned page,
		    struct film_cell *c);
void film_live_free(struct film_live *l);
