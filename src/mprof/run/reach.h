/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * reach.h - which live blocks of a stopped process its pointers lead to.
 *
 * Any aligned word whose low 48 bits are an address within a block counts as a pointer to it, as in
 * conservative garbage collection: a block that the program has lost may seem reachable by chance,
 * but a block that it still uses seems unreachable only if the program keeps its address in another
 * form.
 *
 * A block is unreachable if no root leads to it, over any number of other blocks.  Of the
 * unreachable ones, those that others point to are below these.  In a ring of them, the one with
 * the lowest address counts as the one to which nothing points.
 */
#pragma once

#include "../pass/last_blocks.h"
#include "roots.h"

#define REACH_NONE UINT32_MAX

/* A slot in a root that was the first one to lead to a block. */
struct reach_slot {
	uint64_t address;
	uint32_t range; /* index in roots.range; REACH_NONE - i: a register of thread i */
};

struct reach_block {
	uint64_t addr, end; /* end > addr */
	uint32_t source;    /* index in last_blocks.block */
	uint32_t slot;	    /* index + 1 in reach.slot; 0: unreachable */
	bool below;	    /* unreachable, and another such block points to it */
	bool seen;
};

struct reach {
	struct reach_block *block; /* by address, disjoint */
	size_t blocks;
	struct reach_slot *slot;
	size_t slots, room;
	/* Called now and then; may be NULL. */
	void (*alive)(void *context);
	void *context;
};

/* Fills r, whose alive and context are set. */
void reach_find(struct reach *r, const struct stopped *s, const struct roots *roots,
		const struct last_blocks *b, pid_t waiting);
void reach_release(struct reach *r);
