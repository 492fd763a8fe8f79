/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * pins.h - what pins pages: the sites whose few live bytes are the only reason why a 4 KiB page
 * cannot be returned.
 *
 * A pinned page has live bytes, but fewer than PAGE_PINNED (page_use.h).  It belongs to the site
 * with the most live bytes there; if equal, to the lower number. So the pages add up to all pinned
 * pages, and `bytes` of all sites to the live bytes in them.
 *
 * Threads: one at a time.  A zeroed struct is empty.
 */
#pragma once

#include "page_use.h"

/* A live block; size: requested bytes; addr 0 = none. */
struct pin_block {
	uint64_t addr, size;
	uint32_t site;
};

struct pin_site {
	uint32_t site; /* node of the trace's stacks; 0 if unknown */
	uint64_t pages, bytes;
	uint64_t blocks; /* blocks that are at least partly on pinned pages */
};

struct pins {
	uint64_t pages;	       /* sum of all sites */
	struct pin_site *site; /* most pages first, then most bytes */
	size_t sites;
};

/* Releases the old contents of *p. */
void pins_make(struct pins *p, const struct page_use *use, const struct pin_block *block, size_t n);
void pins_release(struct pins *p);
