/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stats.h - the middle of a few figures and how far they spread, and
 * percentiles of the runner's histograms of latency.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* mad: the median of the distances from the median; not scaled to a standard deviation. */
struct middle {
	double median, mad;
};

/* v is put into order.  Of no figures: 0, 0. */
struct middle stats_middle(double *v, size_t n);

/*
 * Two medians of n figures each are told apart when they differ by more than
 * this: STATS_SIGMAS * sqrt(a.mad^2 + b.mad^2), more of it for n below
 * STATS_FULL, where a MAD is small by chance.  In 10,000 rounds of normal noise
 * seven figures each of the same kind were told apart in 0.1 to 0.7 % of them.
 */
#define STATS_SIGMAS 3.0
#define STATS_FULL   7u
double stats_noise(struct middle a, struct middle b, size_t n);

/* How many calls a histogram of mprof_run_result.latency has. */
uint64_t latency_calls(const uint64_t *bucket);
/* So many of a thousand calls took at most this long, in ns (the bucket's upper end); 0: none. */
double latency_ns(const uint64_t *bucket, uint64_t ticks_per_s, unsigned permille);
