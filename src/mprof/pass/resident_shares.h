/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * resident_shares.h - divides resident pages among the call stacks whose live blocks are on them,
 * at times when the pages of a process were sampled: a part of the pass of resident_parts.h.
 *
 * A resident page belongs to the blocks on it, in proportion to their bytes there, so the shares
 * include rounding and gaps: they add up to the resident pages under live blocks, which are
 * live + rounding + gaps of resident_parts.h.  Blocks inherited by fork have no share.
 *
 * In each sample, stacks with a small share are added up (RESIDENT_REST); in the sample with the
 * largest resident size, all are kept.
 */
#pragma once

#include "array.h"
#include "walk.h"

#define RESIDENT_REST UINT32_MAX
#define RESIDENT_PART 512u /* a share below 1 / RESIDENT_PART of the sum is small */

struct resident_share {
	uint32_t sample; /* index, as in resident_parts.sample */
	uint32_t stack;	 /* node of stacks.h, 0 if unknown; or RESIDENT_REST */
	uint64_t bytes;
};

struct resident_shares {
	struct array share;   /* struct resident_share, by sample */
	struct array largest; /* all shares of one sample; empty if there is none */
	/* Data of that sample: */
	uint32_t process; /* number in the run */
	uint64_t ticks, rss, bytes;
	/* ---- the pass's own ---- */
	uint32_t samples;   /* index of the last one + 1 */
	struct array stack; /* double: bytes of the sample, by stack */
};

/* sample: its index.  The heap is in its state at the time of the sample. */
void resident_shares_add(struct resident_shares *all, uint32_t sample, const struct heap *h,
			 uint32_t process, const struct trace_residency *r);
