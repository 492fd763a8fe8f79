/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * unmatched.h - what was at the address of a free where no block was live: the block that was freed
 * before, by its process or before a fork by its parent, or the live block that contains it.
 * Another walk up to that free, for a program that has made such an error.
 */
#pragma once

#include "pass.h"

struct unmatched {
	/* Set before: the free, as the first walk noted it. */
	const struct heap_problem *of;
	uint32_t stack;	   /* of the free; 0 = not recorded */
	struct block live; /* contains the address, which is not its own; size 0 = there is none */
	/* Else the block that was there last; size 0 and stack 0 = there was none. */
	bool known;
	struct block freed;
	uint64_t freed_ticks;
	uint32_t freed_thread; /* number in the run */
	uint32_t freed_stack;  /* of its free; 0 = not recorded */
};

/* Fills u for the first such free that the heap noted; u->of is NULL without one.  Rewinds t. */
int unmatched_find(struct unmatched *u, const struct heap *h, struct trace *t, struct error *err);
