// SPDX-License-Identifier: LGPL-3.0-or-later
/* stats.c - medians and percentiles. */
#include "stats.h"

#include <math.h>
#include <stdlib.h>

#include <mprof/runner.h>

#include "../util/alloc.h"
#include "../util/order.h"

ORDER(by_value, double, COMPARE(*x, *y))

static double middle_of(double *v, size_t n)
{
	SORT(v, n, by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

struct middle stats_middle(double *v, size_t n)
{
	struct middle m = { 0, 0 };
	double *far;
	size_t i;

	if (!n)
		return m;
	m.median = middle_of(v, n);
	far = must_calloc(n, sizeof(*far));
	for (i = 0; i < n; i++)
		far[i] = fabs(v[i] - m.median);
	m.mad = middle_of(far, n);
	free(far);
	return m;
}

double stats_noise(struct middle a, struct middle b, size_t n)
{
	const double few = n && n < STATS_FULL ? (double)STATS_FULL / (double)n : 1;

	return STATS_SIGMAS * few * sqrt(a.mad * a.mad + b.mad * b.mad);
}

uint64_t latency_calls(const uint64_t *bucket)
{
	uint64_t n = 0;
	size_t b;

	for (b = 0; b < MPROF_RUN_LATENCY; b++)
		n += bucket[b];
	return n;
}

double latency_ns(const uint64_t *bucket, uint64_t ticks_per_s, unsigned permille)
{
	const uint64_t calls = latency_calls(bucket);
	uint64_t seen = 0;
	size_t b;

	if (!calls || !ticks_per_s)
		return 0;
	for (b = 0; b < MPROF_RUN_LATENCY; b++) {
		seen += bucket[b];
		/* seen / calls >= permille / 1000, without overflow. */
		if (bucket[b] && (double)seen * 1000 >= (double)calls * permille)
			break;
	}
	/* Bucket 4e + q holds ticks from 2^e * (1 + q / 4) on. */
	return ldexp(1 + (double)(b % 4 + 1) / 4, (int)(b / 4)) * 1e9 / (double)ticks_per_s;
}
