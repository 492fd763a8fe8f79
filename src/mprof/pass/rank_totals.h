/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * rank_totals.h - the totals of a profile by rank of a parallel program, or, where no
 * process has a rank, by host.
 */
#pragma once

#include "../trace/trace.h"

struct rank_total {
	const char *rank, *host; /* "" if unknown; for a host, rank is "" */
	uint32_t process;	 /* the one with the greatest peak */
	uint32_t processes;
	uint64_t calls, bytes, live_calls, live_bytes;
	uint64_t peak_bytes; /* the greatest peak of its processes */
};

struct rank_totals {
	struct rank_total *item; /* by number of the rank, or name of the host */
	size_t count;		 /* 0 if there is one rank and one host, or none is known */
	bool by_rank;
	uint64_t median_peak;
	const struct rank_total *outlier; /* its peak is far from the median; may be NULL */
};

/* An outlier is named among at least this many ranks, and if it differs from the median by this
 * part. */
#define RANK_OUTLIER_OF	  3u
#define RANK_OUTLIER_PART 1.25

void rank_totals_read(struct rank_totals *r, const struct trace *t);
void rank_totals_release(struct rank_totals *r);
