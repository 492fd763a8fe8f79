/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * last_blocks.h - the pass that copies the live blocks of one process when it ends or the trace
 * does, with what else says where its allocator keeps blocks.
 *
 * Not a part of struct analysis: the trace is that of a run that goes on, and is read once.
 */
#pragma once

#include "../util/hash.h"
#include "walk.h"

struct last_block {
	uint64_t addr, size;
	uint32_t stack; /* a node of stacks.h; 0 if unknown */
	bool own;	/* allocated by this process, not inherited by fork */
};

/* A part of the address space in which blocks began: a bit for each page. */
#define LAST_REGION_PAGES 4096u
struct last_region {
	uint64_t first; /* number of its first page */
	uint64_t bits[LAST_REGION_PAGES / 64];
};

struct last_blocks {
	struct walk *walk;
	uint32_t process; /* set before: its number in the run */
	unsigned shift;	  /* set before: of a page */
	struct last_block *block;
	size_t blocks, room;
	/* Memory that the program mapped itself, in order. */
	struct map_range *mapped;
	size_t mappings;
	bool began; /* one of its own events was read */
	/* Every page that a block of its program lay in, or one of its ancestors' before it was
	 * forked, since the program last mapped that page. */
	struct last_region **region; /* in no order */
	size_t regions, region_room;
	struct hash places; /* index + 1, by first / LAST_REGION_PAGES */
	struct last_region *recent;
};

extern const struct pass_ops last_blocks_pass;

/* Returns the first page from `from` on in which a block lay, or none did; `to` if there is none.
 */
uint64_t last_blocks_next(const struct last_blocks *b, uint64_t from, uint64_t to, bool had);
/* Returns the end of the last page before `to` in which a block lay; `from` if there is none. */
uint64_t last_blocks_end(const struct last_blocks *b, uint64_t from, uint64_t to);
