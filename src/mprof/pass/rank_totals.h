/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * rank_totals.h - the totals of a profile by rank of a parallel program, or, where no
 * process has a rank, by host.
 */
#pragma once

#include "../trace/trace.h"

struct rank_total {
	const char *rank, *host; /* "": not known; of a host, rank is "" */
	uint32_t process;	 /* the one with the greatest peak */
	uint32_t processes;
	uint64_t calls, bytes, live_calls, live_bytes;
	uint64_t peak_bytes; /* the greatest one of its processes */
};

struct rank_totals {
	struct rank_total *item; /* by number of the rank, or name of the host */
	size_t count;		 /* 0: one rank and one host, or none is known */
	bool by_rank;
	uint64_t median_peak;
	const struct rank_total *outlier; /* its peak is far from the median; NULL: none is */
};

/* Least number of ranks to name one that stands out; least difference relative to the median. */
#define RANK_OUTLIER_OF	  3u
#define RANK_OUTLIER_PART 1.25

void rank_totals_read(struct rank_totals *r, const struct trace *t);
void rank_totals_release(struct rank_totals *r);
