/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * rss.h - when a process of the run was largest in memory, from what the kernel
 * said while it ran; needs no event.
 *
 * The kernel keeps the most that was ever resident, but not since when.  Of two
 * looks at that mark of which the later one saw more, the process was largest
 * between them, and the last such pair of all brackets the moment.
 *
 * The kernel's counters lag behind by some pages for each processor, so marks of
 * different origins that differ by less than rss_lag() are the same.
 */
#ifndef MPROF_PASS_RSS_H
#define MPROF_PASS_RSS_H

#include "array.h"
#include "walk.h"

struct rss_moment {
	uint32_t process;
	uint64_t rss;		       /* bytes; 0: nobody looked */
	uint64_t from_ticks, to_ticks; /* after the first, no later than the second */
	uint64_t cpu_ns;	       /* CPU time of the process at to_ticks; 0: not known */
	uint64_t arena;		       /* by which its break had moved then */
	bool arena_known;
	/* It was seen by samples of what was resident: it may have been larger between two. */
	bool sampled;
};

/* 0 or -ENOMEM. */
int rss_find(struct rss_moment *m, const struct walk_input *in);

/* Its own looks. */
size_t rss_peaks(const struct walk_input *in, uint32_t process, const struct trace_peak **peaks);

/* What parents were told when processes ended: 0 or -ENOMEM; released in both cases. */
int rss_told_make(struct array *told, const struct walk_input *in);
/* The mark of this process; 0: none, or it may be of other programs. */
uint64_t rss_told(const struct array *told, uint32_t process);

static inline uint64_t rss_lag(uint64_t rss)
{
	return rss / 256 + (512u << 10);
}

#endif
