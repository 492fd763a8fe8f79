// SPDX-License-Identifier: LGPL-3.0-or-later
/* lifetimes.c - how long blocks lived. */
#include "lifetimes.h"

static void start(void *self, struct walk *w)
{
	struct lifetimes *s = self;

	s->least_ns = UINT64_MAX;
}

static void batch(void *self, const struct batch *b)
{
	struct lifetimes *s = self;
	size_t i;

	for (i = 0; i < b->ends; i++) {
		const struct note *n = &b->note[b->end[i]];

		if (n->did & NOTE_ENDED)
			lifetimes_add(s,
				      walk_lifetime_ns(s->walk, &n->old, b->event[b->end[i]].ticks),
				      (n->old.owner & BLOCK_THREAD) != n->thread);
	}
}

static void finish(void *self, struct walk *w)
{
	struct lifetimes *s = self;
	unsigned i;

	s->sum_ns = (double)s->sum;
	for (i = 0; i < LIFETIMES_BUCKETS; i++)
		s->blocks += s->bucket[i];
	if (!s->blocks)
		s->least_ns = 0;
}

const struct pass_ops lifetimes_pass = {
	.name = "lifetimes",
	.bytes = sizeof(struct lifetimes),
	.start = start,
	.batch = batch,
	.finish = finish,
};
