/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stats.h - median and spread of a few figures, and percentiles of the runner's latency histograms.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* mad: the median of the distances from the median, not scaled to a standard deviation. */
struct middle {
	double median, mad;
};

/* Sorts v.  Without figures, returns 0, 0. */
struct middle stats_middle(double *v, size_t n);

/*
 * Two medians of n figures each differ significantly if by more than this: STATS_SIGMAS *
 * sqrt(a.mad^2 + b.mad^2), more for n below STATS_FULL, where a MAD may be small by chance. In
 * 10,000 trials with normal noise, two sets of seven figures from the same distribution differed in
 * 0.1 to 0.7 %.
 */
#define STATS_SIGMAS 3.0
#define STATS_FULL   7u
double stats_noise(struct middle a, struct middle b, size_t n);

/* Returns the number of calls in a histogram of mprof_run_result.latency. */
uint64_t latency_calls(const uint64_t *bucket);
/* Returns the latency in ns (upper bound of a bucket) that this many of a thousand calls do not
 * exceed; 0 without calls. */
double latency_ns(const uint64_t *bucket, uint64_t ticks_per_s, unsigned permille);
