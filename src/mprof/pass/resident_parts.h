/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * resident_parts.h - the pass that says what the resident memory of a process consisted of, at the
 * moments when its pages were sampled.
 *
 * Each resident private page belongs to one part, by the first that applies:
 *
 *   a live block has a byte on it    live, rounding, gaps: its requested bytes; what the
 *                                    allocator added to them (at most the rest of the pages); and
 *                                    what then remains of the pages
 *   the program mapped it itself     mapped
 *   it lies within 2 MiB (aligned) in which a block has begun
 *                                    retained: the allocator has it, and no block
 *   else                             other: stacks, variables, mprof's own memory
 *
 * `files` is the rest of the resident size: code, files, shared memory.  The kernel's counters lag
 * behind by some pages, so it may read 0 when it is small.  All parts together are the resident
 * size, or the private pages when those are more.
 *
 * Bytes.  Blocks and pages inherited by fork are other.
 */
#ifndef MPROF_PASS_RESIDENT_PARTS_H
#define MPROF_PASS_RESIDENT_PARTS_H

#include "array.h"
#include "walk.h"

struct resident_parts_sample {
	uint32_t process; /* number in the run */
	uint64_t ticks;
	uint64_t rss;
	uint64_t live, rounding, gaps, mapped, retained, other, files;
};

/* Areas of 2 MiB in which blocks of a process began. */
#define RESIDENT_AREAS_RECENT 64u
struct resident_areas {
	struct array key;			/* uint64_t; once sorted, each once */
	size_t sorted;				/* how many were left then */
	uint64_t recent[RESIDENT_AREAS_RECENT]; /* by the low bits of the key: key + 1 */
};

struct resident_parts {
	struct walk *walk;
	struct array sample; /* struct resident_parts_sample, in the order of time */
	/* ---- the pass's own ---- */
	struct array process; /* struct resident_areas by process */
};

extern const struct pass_ops resident_parts_pass;

#endif
