/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * rss.h - finds when the resident set of a process was largest, from the kernel's figures during
 * the run; needs no events.
 *
 * The kernel keeps the largest resident size, but not its time. If the second of two readings is
 * higher, the size was reached between them; the last such pair brackets the time.
 *
 * The kernel's counters lag by some pages for each processor, so marks of
 * different origin that differ by less than rss_lag() count as equal.
 */
#pragma once

#include "array.h"
#include "walk_input.h"

struct rss_moment {
	uint32_t process;
	uint64_t rss;		       /* bytes; 0 if not read */
	uint64_t from_ticks, to_ticks; /* reached after the first, and by the second */
	uint64_t cpu_ns;	       /* CPU time of the process at to_ticks; 0 if unknown */
	uint64_t arena;		       /* how far its break had moved by then */
	bool arena_known;
	/* It is from samples of resident memory: it may have been larger between two. */
	bool sampled;
};

void rss_find(struct rss_moment *m, const struct walk_input *in);
/* For one process. */
void rss_find_process(struct rss_moment *m, const struct walk_input *in, uint32_t process);

/* Returns the readings of a process itself. */
size_t rss_peaks(const struct walk_input *in, uint32_t process, const struct trace_peak **peaks);

/* Collects the figures that parents received when processes ended; use array_release(). */
void rss_told_make(struct array *told, const struct walk_input *in);
/* Returns the mark of this process; 0 if there is none, or if it may be another program's. */
uint64_t rss_told(const struct array *told, uint32_t process);
/* Returns the largest mark of programs that were not recorded, which processes without recorded
 * children ran and waited for, or were before exec, if it shows in theirs; or 0. */
uint64_t rss_of_children(const struct array *told);

/* Returns the most bytes of the recorded processes that were in swap at one time, in samples. */
uint64_t rss_swapped(const struct walk_input *in);
/* Returns the limit of memory of the control group in which the run began; 0: none is known. */
uint64_t rss_limit(const struct walk_input *in);

static inline uint64_t rss_lag(uint64_t rss)
{
	return rss / 256 + (512u << 10);
}
