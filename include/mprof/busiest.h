/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * busiest.h - finds the call stacks with the most events, and marks those whose events are no
 * longer kept.
 *
 * A MODE notes the stack of some randomly chosen events.  An entry of the table counts the notes of
 * one stack.  A note of another stack that maps to the same entry lowers the count; at 0, the entry
 * passes to that stack (the majority vote of Boyer and Moore).  So the table does not grow, and
 * stacks with many events stay in it.
 *
 * Any thread may use all functions; none waits.  A note that meets another one at the same place
 * may be missed.  A forked child inherits all of it.
 */
#ifndef MPROF_BUSIEST_H
#define MPROF_BUSIEST_H

#include <mprof/live.h>
#include <mprof/module.h>

#define BUSIEST_BITS  12
#define BUSIEST_NOTES 32u /* fewer are not enough to compare stacks */
#define BUSIEST_ONE   (1ull << 32)

struct busiest {
	uint64_t place[1u << BUSIEST_BITS]; /* id + 1, and above it the notes; 0: none */
	uint32_t notes;
	uint64_t reduced[LIVE_IDS / 64]; /* a bit for each stack whose events are not kept */
};

/* NULL: no memory. */
static inline struct busiest *busiest_new(void *(*memory)(size_t bytes, size_t touched))
{
	/* Stacks have small numbers, so little of it is used. */
	return (struct busiest *)memory(sizeof(struct busiest), sizeof(uint64_t) << BUSIEST_BITS);
}

/* [hot] Has the recorder stopped keeping this stack's events? */
MPROF_HOT int busiest_is_reduced(const struct busiest *b, uint32_t id)
{
	return b && __atomic_load_n(&b->reduced[id / 64], __ATOMIC_RELAXED) >> id % 64 & 1;
}

static inline void busiest_note(struct busiest *b, uint32_t id)
{
	uint64_t *place = &b->place[id * 0x9e3779b1u >> (32 - BUSIEST_BITS)];
	uint64_t had = __atomic_load_n(place, __ATOMIC_RELAXED), now;

	if ((uint32_t)had == id + 1)
		now = had + BUSIEST_ONE;
	else if (had >> 32)
		now = had - BUSIEST_ONE;
	else
		now = BUSIEST_ONE | (id + 1);
	__atomic_compare_exchange_n(place, &had, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	__atomic_fetch_add(&b->notes, 1, __ATOMIC_RELAXED);
}

/* Returns the notes in places that have `least` or more. */
static inline uint64_t busiest_sum(const struct busiest *b, uint64_t least)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < 1u << BUSIEST_BITS; i++) {
		const uint64_t n = __atomic_load_n(&b->place[i], __ATOMIC_RELAXED) >> 32;

		sum += n >= least ? n : 0;
	}
	return sum;
}

/* Are there enough notes for busiest_reduce()? */
static inline int busiest_says(const struct busiest *b)
{
	return __atomic_load_n(&b->notes, __ATOMIC_RELAXED) >= BUSIEST_NOTES;
}

/*
 * Stops keeping the events of the smallest set of stacks that has half of the notes, and forgets
 * all notes.  One thread at a time.
 */
static inline void busiest_reduce(struct busiest *b)
{
	const uint64_t half = (busiest_sum(b, 1) + 1) / 2;
	uint64_t least = 1, most = (uint64_t)__atomic_load_n(&b->notes, __ATOMIC_RELAXED) + 1;

	/* The stacks with `least` notes or more have half of all, those with `most` do not. */
	while (most - least > 1) {
		const uint64_t middle = least + (most - least) / 2;

		if (busiest_sum(b, middle) >= half)
			least = middle;
		else
			most = middle;
	}
	__atomic_store_n(&b->notes, 0, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 1u << BUSIEST_BITS; i++) {
		const uint64_t had = __atomic_exchange_n(&b->place[i], 0, __ATOMIC_RELAXED);
		const uint32_t id = (uint32_t)had - 1;

		if (had >> 32 >= least)
			__atomic_fetch_or(&b->reduced[id / 64], 1ull << id % 64, __ATOMIC_RELAXED);
	}
}

#endif
