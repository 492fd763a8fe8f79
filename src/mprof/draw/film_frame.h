/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* film_frame.h - what one frame of a film shows: its pages, and sums over the heap. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FILM_PAGE	4096u
#define FILM_UNIT_PAGES 16u
#define FILM_UNIT_SHIFT 16u		     /* 64 KiB */
#define FILM_UNITS_MOST (1u << 20)	     /* 64 GiB of used address space */
#define FILM_BLOCK_MOST (UINT64_C(16) << 30) /* most bytes of a block that are drawn */
#define FILM_UNIT_BYTES 4096u		     /* most memory of a unit */
#define FILM_PIN_BYTES	64u /* a page with fewer live bytes, but not 0, is pinned */

/* Data of each page besides live bytes and residency. */
enum film_channel {
	FILM_BLOCKS = 1, /* cell.blocks, size, born, of the block with most bytes in the page */
	FILM_SITE = 2,	 /* cell.site: the site with most bytes in the page */
	FILM_THREAD = 4, /* cell.thread: the thread with most bytes in the page */
	FILM_ALL = 7,
};

enum film_cell_flags {
	/* Valid only if frame.residency is set. */
	FILM_RESIDENT = 1,
	FILM_MAPPED = 2, /* mapped, resident or not */
};

/*
 * A page in a frame. If two have equally many bytes, the block or class that was allocated first
 * counts. Channels that are not kept are 0, as are all channels of a page without live bytes.
 */
struct film_cell {
	uint64_t size; /* requested */
	uint64_t born; /* op of its allocation */
	uint32_t site; /* node of the trace's stacks; 0 if unknown */
	uint32_t thread;
	uint16_t live; /* requested bytes in the page, up to 4096; a block of 0 bytes counts as 1 */
	uint16_t blocks; /* blocks with a byte in the page */
	uint8_t flags;
	uint8_t reserved[3];
};

/* Sums over the whole heap at the time of the frame. */
struct film_frame {
	uint64_t op, ns;	    /* op: calls before it; ns as the source has it */
	uint64_t number;	    /* among all frames of the source, from 0 */
	uint64_t requested, usable; /* live bytes: R and U */
	uint64_t blocks;	    /* live blocks */
	uint64_t rss;		    /* of the last sample so far; 0 if unknown */
	uint64_t live_pages;	 /* with a live byte: page use is requested / (live_pages * 4096) */
	uint64_t pinned_pages;	 /* with 1 to 63 live bytes */
	uint64_t resident_pages; /* from the ranges; 0 without residency */
	uint64_t retained_pages; /* resident pages without a live byte */
	bool residency;		 /* this frame has ranges */
	bool peak;		 /* the frame at which most requested bytes are live */
};
