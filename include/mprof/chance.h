/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * chance.h - sampling as a Poisson process over the bytes requested: the gap to the next sample,
 * and the weight of a sample.
 *
 * Gaps are exponentially distributed, so a block of s bytes is sampled with probability p = 1 -
 * exp(-s / period), independent of earlier blocks.  A sample counts as 1/p calls and s/p bytes;
 * sums of these are unbiased for any mix of sizes (Horvitz and Thompson, 1952; jemalloc's
 * prof_unbias and Go's scaleHeapSample compute the same).
 *
 * Calls nothing in the C library.
 */
#ifndef MPROF_CHANCE_H
#define MPROF_CHANCE_H

#include <mprof/format.h>

/* xorshift64* (Vigna 2016).  *state: not 0. */
static inline uint64_t chance_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

/* Returns the initial state of the thread with this number. seed 0 = a different state each
 * time, from `now`. */
static inline uint64_t chance_start(uint64_t seed, uint64_t now, uint32_t number)
{
	uint64_t state = (seed ? seed : now) + number * 0x9e3779b97f4a7c15ull;

	state |= !state;
	chance_next(&state);
	return state;
}

/* Returns a uniformly distributed integer from 1 to 2 * mean - 1. */
static inline int64_t chance_even(uint64_t *state, uint64_t mean)
{
	return 1 + (int64_t)((unsigned __int128)chance_next(state) * (2 * mean - 1) >> 64);
}

/* Returns what remains of such an integer from a random one of its steps on: n with a probability
 * in proportion to 2 * mean - n, as the smaller one of two different integers up to 2 * mean. */
static inline int64_t chance_rest(uint64_t *state, uint64_t mean)
{
	int64_t a = 1 + (int64_t)((unsigned __int128)chance_next(state) * (2 * mean) >> 64);
	int64_t b = chance_even(state, mean);

	b += b >= a;
	return a < b ? a : b;
}

/* Returns -ln of a number from 2^-53 to 1; the error is below 1e-9. */
static inline double chance_minus_log(uint64_t random)
{
	const double ln2 = 0.693147180559945309;
	union {
		double d;
		uint64_t u;
	} x = { .d = (double)((random >> 11) + 1) * 0x1p-53 };
	int exponent = (int)(x.u >> 52) - 1023;
	double t, square, sum = 0;

	x.u = (x.u & ((1ull << 52) - 1)) | 1023ull << 52; /* in [1, 2) */
	if (x.d > 1.41421356) {
		x.d /= 2;
		exponent++;
	}
	t = (x.d - 1) / (x.d + 1);
	square = t * t;
	for (int i = 13; i > 0; i -= 2)
		sum = sum * square + 1.0 / i;
	return -(exponent * ln2 + 2 * t * sum);
}

/* 1 - exp(-x), without cancellation for small x. */
static inline double chance_of(double x)
{
	int halved = 0;
	double f;

	if (x > 40)
		return 1;
	for (; x > 0.03125; halved++)
		x /= 2;
	/* exp(-x) - 1, then (f + 1)^2 - 1 as often as x was halved. */
	f = -x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4 * (1 - x / 5))));
	while (halved--)
		f *= f + 2;
	return -f;
}

/* Returns the number of bytes to the next sample. */
static inline int64_t chance_gap(uint64_t *state, double period)
{
	return 1 + (int64_t)(chance_minus_log(chance_next(state)) * period);
}

struct weight {
	double calls, bytes, spare; /* 1/p, size/p, 1-p */
};

static inline struct weight chance_weight(double p, uint64_t size)
{
	return p > 0 ? (struct weight){ 1 / p, (double)size / p, 1 - p }
		     : (struct weight){ 0, 0, 0 };
}

/* The square root, in one instruction. */
static inline double chance_root(double x)
{
	double r;

	if (!(x > 0))
		return 0;
#if defined(__x86_64__)
	__asm__("sqrtsd %1, %0" : "=x"(r) : "x"(x));
#else
	__asm__("fsqrt %d0, %d1" : "=w"(r) : "w"(x));
#endif
	return r;
}

static inline void chance_add(struct mprof_sample_sums *to, const struct weight *w)
{
	to->samples++;
	to->calls += w->calls;
	to->bytes += w->bytes;
	to->calls_variance += w->spare * w->calls * w->calls;
	to->bytes_variance += w->spare * w->bytes * w->bytes;
}

static inline int64_t chance_whole(double v)
{
	return v < 0x1p62 ? (int64_t)(v + 0.5) : (int64_t)1 << 62;
}

/* Keeps the heaviest sample of a cell, which limits the range of its figures. */
static inline void chance_note_heaviest(struct mprof_sample_cell *c, const struct weight *w)
{
	const double calls = chance_root(w->spare) * w->calls;
	const double bytes = chance_root(w->spare) * w->bytes;

	if (calls > c->heaviest_calls)
		c->heaviest_calls = calls;
	if (bytes > c->heaviest_bytes)
		c->heaviest_bytes = bytes;
}

#endif
