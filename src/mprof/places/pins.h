/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * pins.h - who holds pages with little: the sites whose live blocks are all
 * that keeps a 4 KiB page from being given back.
 *
 * A pinned page has live bytes, but fewer than PAGE_PINNED (page_use.h).  It
 * belongs to the site that has most of them there; of equals, to the one with
 * the lower number.  So pages add up to all pinned pages, and `bytes` of all
 * sites to the live bytes in them.
 *
 * Threads: one at a time.  A zeroed struct is empty.
 */
#pragma once

#include "page_use.h"

/* A live block; size is what was asked for, addr 0: none. */
struct pin_block {
	uint64_t addr, size;
	uint32_t site;
};

struct pin_site {
	uint32_t site; /* node of the trace's stacks, 0 not known */
	uint64_t pages, bytes;
	uint64_t blocks; /* that lie on pinned pages, in part at least */
};

struct pins {
	uint64_t pages, bytes; /* of all */
	struct pin_site *site; /* most pages first, then most bytes */
	size_t sites;
};

/* What *p held is released. */
void pins_make(struct pins *p, const struct page_use *use, const struct pin_block *block, size_t n);
void pins_release(struct pins *p);
