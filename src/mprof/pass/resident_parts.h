/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * resident_parts.h - the pass that finds the composition of the resident memory
 * of a process at the times when its pages were sampled.
 *
 * Each resident private page belongs to one part, by the first that applies:
 *
 *   a live block has a byte on it      live, rounding, gaps: its requested bytes; what the
 *                                      allocator added to them (at most the rest of the
 *                                      pages); and the remainder of the pages
 *   the program mapped it directly     mapped
 *   it is in 2 MiB (aligned) in which  retained: the allocator keeps it without a block
 *   a block has begun
 *   none of these                      other: stacks, variables, mprof's own memory
 *
 * `files` is the remainder of the resident size: code, files, shared memory.
 * The kernel's counters lag by some pages, so a small value may read 0.  The
 * parts add up to the resident size, or to the private pages if these are more.
 *
 * Gaps are not only what was freed: `aligned` says how much of them the alignment of live blocks
 * can have left, and `ended` is the most that was ever freed.
 *
 * All figures are bytes. Blocks and pages inherited by fork count as other.
 */
#pragma once

#include "array.h"
#include "walk.h"

struct resident_parts_sample {
	uint32_t process; /* number in the run */
	uint64_t ticks;
	uint64_t rss;
	uint64_t live, rounding, gaps, mapped, retained, other, files;
	uint64_t
	    ended; /* of blocks that ended until then, with the allocator's additions; at most */
	uint64_t aligned_blocks; /* live ones from posix_memalign and similar functions */
	uint64_t aligned; /* the sum of their alignments, as their addresses show, up to a page */
};

/* Areas of 2 MiB in which blocks of a process began. */
#define RESIDENT_AREAS_RECENT 64u
struct resident_areas {
	struct array key;			/* uint64_t; unique once sorted */
	size_t sorted;				/* number of sorted ones */
	uint64_t recent[RESIDENT_AREAS_RECENT]; /* by the low bits of the key: key + 1 */
	uint64_t ended;				/* as in the samples */
};

struct resident_parts {
	struct walk *walk;
	struct array sample; /* struct resident_parts_sample, in the order of time */
	/* ---- the pass's own ---- */
	struct array process; /* struct resident_areas by process */
};

extern const struct pass_ops resident_parts_pass;
