/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * lifetimes.h - the pass that measures how long blocks lived: from the call
 * that returned a block to the call that freed it.
 *
 * Counts only own blocks that were freed; a block passed to realloc ends there, even if it stays in
 * place.  An inversion counts as 0 ns.
 */
#pragma once

#include "walk.h"

#define LIFETIMES_BUCKETS 64u

struct lifetimes {
	struct walk *walk;
	/* [0]: 0 and 1 ns; [i]: from 2^i to below 2^(i + 1) ns */
	uint64_t bucket[LIFETIMES_BUCKETS];
	uint64_t blocks; /* computed by finish */
	uint64_t under_1us, under_1ms;
	uint64_t other_thread; /* freed by another thread than the one that allocated it */
	uint64_t least_ns, most_ns;
	double sum_ns; /* computed by finish, from: */
	unsigned __int128 sum;
};

extern const struct pass_ops lifetimes_pass;

/* Counts a block that ended; other: another thread freed it. */
static inline void lifetimes_add(struct lifetimes *s, uint64_t ns, bool other)
{
	s->sum += ns;
	s->bucket[63 - __builtin_clzll(ns | 1)]++;
	s->under_1us += (ns - 1000) >> 63; /* without a branch; as below, ns is below 2^63 */
	s->under_1ms += (ns - 1000000) >> 63;
	if (__builtin_expect(other, 0))
		s->other_thread++;
	if (__builtin_expect(ns < s->least_ns, 0))
		s->least_ns = ns;
	if (__builtin_expect(ns > s->most_ns, 0))
		s->most_ns = ns;
}
