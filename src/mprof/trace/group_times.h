/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* group_times.h - the times of a group's events, in order, from its columns (FORMAT.md 8.3). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../util/inline.h"
#include "bytes.h"

#define TIMES_PLAIN 128u /* runs of fewer events have their pace in a table */

struct event;

struct group_times {
	uint64_t count, at, pace; /* events until the next step, the next one's time, and from each
				   * to the next */
	uint64_t bucket, next;	  /* where the next step leads */
	uint64_t exact_count;
	struct cursor *column; /* of the group; the caller's */
	unsigned shift;
	bool exact, next_is_exact;
	uint64_t paces[TIMES_PLAIN]; /* by the number of events in a bucket */
};

/* Begins a group.  column: all of its columns, by enum group_column. */
void times_begin(struct group_times *t, struct cursor *column, uint64_t first_ticks, unsigned shift,
		 bool exact);
/* Puts the times of the next n events. */
void times_put(struct group_times *t, struct event *e, size_t n);
/* Returns the first time of a step; with exact times, any time. */
uint64_t times_slow(struct group_times *t);

/* Returns the time of the next event. */
ALWAYS_INLINE uint64_t times_next(struct group_times *t)
{
	const uint64_t at = t->at;

	if (__builtin_expect(!t->count, 0))
		return times_slow(t);
	t->count--;
	t->at = at + t->pace;
	return at;
}
