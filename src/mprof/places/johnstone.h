/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * johnstone.h - the four measures of fragmentation of Johnstone and Wilson, "The
 * Memory Fragmentation Problem: Solved?", ISMM 1998 (doi 10.1145/286860.286864).
 *
 * M is the memory that the allocator holds, R the live requested bytes. In the paper, M is what was
 * taken from the system; here it is resident memory, because an allocator may return pages and keep
 * their addresses.
 *
 *   1 average          mean of M / R - 1 over the calls, by samples: a recorded program, whose
 *                      samples are some time apart, compares with its playback; hides spikes
 *   2 at_live_peak     M / R - 1 where R is greatest; not where memory is requested
 *   3 at_memory_peak   M / R - 1 where M is greatest; large where R is small then.
 *                      Maas et al., "Adaptive Huge-Page Subrelease", ISMM 2021, call
 *                      it realized fragmentation
 *   4 of_peaks         greatest M / greatest R - 1; two moments, may look too good
 *
 * They mean nothing for a heap that is small compared with what any allocator holds: `known` is
 * false below JOHNSTONE_LEAST, and `realized_known`, for 3 alone, if R is below it at that time.
 * Samples where R is less than a 64th of its peak are left out of 1, because they would dominate
 * it.
 *
 * They are computed from the available samples. 2 and 4 need a sample where R is within a hundredth
 * of its peak, 1 and 3 need `least` samples.
 *
 * Threads: one at a time.  A zeroed struct with `peak` set is ready.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define JOHNSTONE_LEAST (4u << 20) /* bytes of R */

struct johnstone {
	uint64_t peak;	/* the greatest R; 0 = unknown, so no sample is left out */
	uint64_t least; /* samples */
	double average, at_live_peak, at_memory_peak, of_peaks; /* 0.25 = a quarter more */
	bool known;						/* true if any of these is known: */
	bool average_known, live_known, realized_known;		/* 1; 2 and 4; 3 */
	/* Figures of the samples: */
	uint64_t samples, live_peak, live_peak_memory, memory_peak, memory_peak_live;
	uint64_t op, ops; /* of the last one; those that the sum is of */
	double sum;
};

/* op: how many calls there have been; it never falls. */
void johnstone_add(struct johnstone *j, uint64_t op, uint64_t live, uint64_t memory);
/* Computes the four measures. */
void johnstone_finish(struct johnstone *j);
