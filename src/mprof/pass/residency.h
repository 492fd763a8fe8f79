/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * residency.h - the pass that compares live blocks with the pages in memory, at
 * the times when these were sampled (physical compactness).
 *
 *   live_resident_bytes = bytes of live blocks that lie on resident pages
 *   needed              = that / page size, upwards
 *   under_live          = resident pages that hold a byte of a live block
 *   compactness         = needed / under_live
 *   resident            = all resident pages of private writable mappings:
 *                         what the allocator holds, plus data and stacks
 *
 * Only a process's own blocks count: after fork, inherited blocks lie on
 * pages that are resident but under no own block.
 */
#pragma once

#include "array.h"
#include "moment.h"
#include "walk.h"

struct residency_sample {
	uint32_t process; /* number in the run */
	uint64_t ticks;
	uint64_t live_bytes, live_resident_bytes;
	uint64_t needed, under_live, resident; /* pages */
	uint64_t rss;			       /* bytes, of the whole process */
	double compactness;		       /* 0 if under_live == 0 */
};

struct residency {
	struct walk *walk;
	bool brief; /* set before the walk: counts pages under blocks only for `fullest` */
	struct moment moment; /* if brief, the moment of `fullest` */
	uint32_t process;     /* index of its process */
	struct array sample;  /* struct residency_sample, in the order of time */
	size_t compared;      /* samples with under_live > 0 */
	double min, max, mean;
	struct residency_sample fullest; /* the sample with most live bytes */
};

extern const struct pass_ops residency_pass;
