// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * clock.c - from ticks to nanoseconds since the run's start.
 *
 * The header's clock_hz is a quick estimate.  Every fact carries ticks
 * and CLOCK_MONOTONIC read together, which gives a slope since the start; the
 * longer the span the better.  A process may have been suspended between the
 * two readings, so we take the median of the slopes over the longer half of the
 * spans, not the last one.
 */
#include "clock.h"

#include "../util/now.h"
#include "../util/order.h"
#include "reader.h"

#include <stdlib.h>
#include <time.h>

#define SPAN_MIN_NS 1000000 /* for a shorter span, reading the clocks costs more than 0.01 % */

ORDER(by_slope, double, COMPARE(*x, *y))

static int64_t span_ns(const struct trace *t, const struct mprof_fact *f)
{
	int64_t ns;

	if (f->ticks <= t->header.start_ticks || f->ticks > MPROF_TICKS_MASK ||
	    __builtin_sub_overflow(f->mono_ns, t->header.start_mono_ns, &ns))
		return 0;
	return ns;
}

/* Returns ns per tick according to the facts; 0 if they are not sufficient. */
static double slope_of_facts(const struct trace *t)
{
	int64_t longest = 0;
	double *slope, median = 0;
	size_t n = 0;

	for (size_t i = 0; i < t->facts; i++)
		if (span_ns(t, t->fact[i].fact) > longest)
			longest = span_ns(t, t->fact[i].fact);
	slope = longest < SPAN_MIN_NS ? NULL : calloc(t->facts, sizeof(*slope));
	if (!slope)
		return 0;
	for (size_t i = 0; i < t->facts; i++) {
		const struct mprof_fact *f = t->fact[i].fact;
		int64_t ns = span_ns(t, f);

		if (ns >= longest / 2)
			slope[n++] = (double)ns / (double)(f->ticks - t->header.start_ticks);
	}
	SORT(slope, n, by_slope);
	median = slope[n / 2];
	free(slope);
	return median;
}

void clock_calibrate(struct trace *t)
{
	double guess = 1e9 / (double)t->header.clock_hz;
	double slope = slope_of_facts(t);

	if (t->header.clock == MPROF_CLOCK_MONOTONIC)
		slope = (double)(1ull << t->header.clock_shift);
	/* A value far from the estimate is a broken fact or a suspended machine, not a better
	 * figure. */
	else if (slope < guess / 2 || slope > guess * 2)
		slope = guess;
	if (slope > 1e9)
		slope = 1e9;
	t->ns_per_tick = (uint64_t)(slope * 4294967296.0);
}

int64_t trace_ns(const struct trace *t, uint64_t ticks)
{
	const uint64_t start = t->header.start_ticks;
	const bool before = ticks < start;
	const uint64_t span = before ? start - ticks : ticks - start;
	const unsigned __int128 ns = (unsigned __int128)span * t->ns_per_tick >> 32;

	if (ns > INT64_MAX)
		return before ? INT64_MIN : INT64_MAX;
	return before ? -(int64_t)ns : (int64_t)ns;
}

uint64_t trace_ticks(const struct trace *t, uint64_t ns)
{
	const unsigned __int128 span = ((unsigned __int128)ns << 32) / t->ns_per_tick;
	uint64_t ticks = t->header.start_ticks;

	if (ns > INT64_MAX || span > MPROF_TICKS_MASK - ticks)
		return MPROF_TICKS_MASK;
	ticks += (uint64_t)span;
	/* Both conversions round down. */
	while (ticks < MPROF_TICKS_MASK && trace_ns(t, ticks + 1) <= (int64_t)ns)
		ticks++;
	return ticks;
}

#if defined(__x86_64__)
#include <x86intrin.h>
static uint64_t counter(void)
{
	return __rdtsc();
}
#elif defined(__aarch64__)
static uint64_t counter(void)
{
	uint64_t now;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(now));
	return now;
}
#else
static uint64_t counter(void)
{
	return 0;
}
#endif

uint64_t clock_ticks(const struct mprof_file_header *h)
{
	uint64_t now;

	/* A dump, or merged profiles (combine.c), count from the date of their start. */
	if (h->clock == MPROF_CLOCK_MONOTONIC && h->start_mono_ns == h->start_real_ns)
		return h->start_ticks + (uint64_t)(now_ns(CLOCK_REALTIME) - h->start_real_ns);
	now = h->clock == MPROF_CLOCK_MONOTONIC ? (uint64_t)now_ns(CLOCK_MONOTONIC) : counter();
	return now >> (h->clock_shift & 63);
}

void clock_stamp(const struct mprof_file_header *h, struct mprof_fact *fact)
{
	fact->ticks = clock_ticks(h);
	fact->mono_ns = now_ns(CLOCK_MONOTONIC);
	fact->real_ns = now_ns(CLOCK_REALTIME);
}
