/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * site_totals.h - sites of a profile (MODE=Profile): the same figures as
 * sites.h derives from events, read from totals.
 *
 * Unknown for a profile, and 0: rounding, foreign frees, live blocks at the
 * largest resident size, times of calls, and epochs.  Lifetimes are summed in
 * ticks. A site's own peak is exact per process; of a stack of several
 * processes and of a group of stacks it is the sum, an upper bound.
 *
 * Growth.  A profile has the live bytes of each stack at two earlier times, past_bytes.  A process
 * that lasted for less than half of the run counts as if it had not grown, because what many
 * processes leave one after another looks like growth.
 *
 * From samples (MODE=Sample) every figure is an estimate: sums of weights, rounded, with
 * their variances in site_values.error.  Temporary blocks, reallocs, mappings
 * and the called functions are unknown.
 *
 * The peak.  Each program of each process has its own peak; their total at one
 * time is unknown, so the greatest one is used, or the peak of the process that
 * the filter names.
 */
#pragma once

#include "../trace/trace.h"
#include "sites.h"
#include "tree.h"

/*
 * Fills s after the walk of a profile, which has no events.  Of its options, the filter may name a
 * process only.  Blocks of processes that are gone (tree.h) are not live, unless the filter names
 * the process.  Fills left_bytes of the tree's processes, too.
 *
 * By size (of a profile with SITE_SIZES), a site's part is the least size of a class: 0, 1, 2, 4
 * ... Only calls, bytes, frees and live blocks are known.
 *
 * By process, live blocks at the peak are those at the peak of each process.  By thread, a site has
 * the blocks that the thread allocated and those that it freed, including blocks of other threads.
 * So live blocks are unknown, and 0.
 */
void site_totals_read(struct sites *s, const struct trace *t, struct tree *tree);

/* Returns the first of these options that a profile cannot answer, as in "--thread"; NULL if
 * none. */
const char *site_totals_lack(const struct sites_options *o, const struct trace *t);

/* Figures that do not belong to a stack: of all threads of all processes. */
struct site_lanes {
	struct mprof_counts_fn fn[MPROF_FN_MAX];
	uint64_t calls; /* sum over all of them */
	uint64_t threads;
	uint64_t sizes[MPROF_SIZE_BINS], freed_sizes[MPROF_SIZE_BINS]; /* see struct mprof_lane */
	uint64_t missed, strange;
	uint64_t unmap_calls, unmap_bytes; /* see struct mprof_lane */
	int64_t realloc_grown;		   /* see struct mprof_cell_more */
};
void site_lanes_read(struct site_lanes *lanes, const struct trace *t);

/* What the processes have that are not gone. */
struct site_now {
	uint64_t processes, live_bytes;
	uint64_t peak_bytes; /* of the one with the highest, also of those that are gone */
};
void site_now_read(struct site_now *now, const struct trace *t, const struct tree *tree);
