/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * resident_shares.h - the pass that divides resident pages among the call stacks whose live blocks
 * are on them, at the times when the pages of a process were sampled.
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
	uint32_t samples;
	struct array stack; /* double: bytes of the sample, by stack */
};

extern const struct pass_ops resident_shares_pass;
