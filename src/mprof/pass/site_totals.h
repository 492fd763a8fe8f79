/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * site_totals.h - sites of a profile (MODE=Profile): the same figures as sites.h makes
 * of events, read from totals.
 *
 * Not known of a profile, and 0: what rounding up costs, foreign frees, what lived when
 * the process was largest, when calls were, and epochs.  Lifetimes are summed in ticks.
 * A site's own peak is exact per process; of a stack of several processes and of a group
 * of stacks it is the sum, an upper bound.
 *
 * Of samples (MODE=Sample) every figure is an estimate: sums of weights, rounded, with
 * their variances in site_values.error.  Temporary blocks, reallocs, mappings and the
 * functions that were called are not known.
 *
 * The peak.  Each program of each process knows its own, and nobody knows what they held
 * together at one time: it is the greatest one, of the process that the filter names if
 * it does.
 */
#ifndef MPROF_SITE_TOTALS_H
#define MPROF_SITE_TOTALS_H

#include "../trace/trace.h"
#include "sites.h"

/*
 * After the walk of a profile, which has no events: fills s.  Of its options, part must
 * not be SITE_BY_SIZE, and the filter may name a process only.  0 or -ENOMEM.
 *
 * By process, what lived at the peak is what lived at the peak of each process.  By thread, a
 * site has what the thread allocated and what it freed, whoever allocated that: what lives of
 * it is not known, and 0.
 */
int site_totals_read(struct sites *s, const struct trace *t);

/* What of these options a profile cannot answer, as in "--thread"; NULL: nothing. */
const char *site_totals_lack(const struct sites_options *o);

/* What is not of a stack: of all threads of all processes. */
struct site_lanes {
	struct mprof_counts_fn fn[MPROF_FN_MAX];
	uint64_t calls; /* of all these */
	uint64_t threads;
	uint64_t sizes[MPROF_SIZE_BINS], freed_sizes[MPROF_SIZE_BINS]; /* see struct mprof_lane */
	uint64_t missed, strange;
	uint64_t unmap_calls, unmap_bytes; /* see struct mprof_lane */
	int64_t realloc_grown;		   /* see struct mprof_cell_more */
};
void site_lanes_read(struct site_lanes *lanes, const struct trace *t);

/* The time of the last thing that the file says, in ticks. */
uint64_t site_totals_end(const struct trace *t);

#endif
