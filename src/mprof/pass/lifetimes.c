// SPDX-License-Identifier: LGPL-3.0-or-later
/* lifetimes.c - how long blocks lived. */
#include "lifetimes.h"

static void start(void *self, struct walk *w)
{
	struct lifetimes *s = self;

	s->walk = w;
	s->least_ns = UINT64_MAX;
}

static void batch(void *self, const struct batch *b)
{
	struct lifetimes *s = self;
	uint64_t blocks = 0, under_1us = 0, under_1ms = 0, other_thread = 0, ns, ticks;
	uint64_t least = s->least_ns, most = s->most_ns;
	double sum = s->sum_ns;
	size_t i;

	for (i = 0; i < b->ends; i++) {
		const struct note *n = &b->note[b->end[i]];

		if (!(n->did & NOTE_ENDED))
			continue;
		ticks = b->event[b->end[i]].ticks;
		ns = ticks > n->old.start ? walk_duration_ns(s->walk, ticks - n->old.start) : 0;
		s->bucket[63 - __builtin_clzll(ns | 1)]++;
		blocks++;
		under_1us += ns < 1000;
		under_1ms += ns < 1000000;
		other_thread += (n->old.owner & BLOCK_THREAD) != n->thread;
		least = ns < least ? ns : least;
		most = ns > most ? ns : most;
		sum += (double)ns;
	}
	s->blocks += blocks;
	s->under_1us += under_1us;
	s->under_1ms += under_1ms;
	s->other_thread += other_thread;
	s->least_ns = least;
	s->most_ns = most;
	s->sum_ns = sum;
}

static void finish(void *self, struct walk *w)
{
	struct lifetimes *s = self;

	(void)w;
	if (!s->blocks)
		s->least_ns = 0;
}

const struct pass_ops lifetimes_pass = {
	.name = "lifetimes",
	.start = start,
	.batch = batch,
	.finish = finish,
};
