/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * window.h - the events at hand: the batch being applied and the next one.
 *
 * A ring of two batches, so that whoever applies an event can look at the
 * batch that follows (WINDOW_BATCH to 2 * WINDOW_BATCH - 1 events ahead) and
 * pull one of those events forward.  Positions count from the first event of
 * the batch being applied.
 */
#ifndef MPROF_HEAP_WINDOW_H
#define MPROF_HEAP_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

#include "../trace/trace.h"

#define WINDOW_BATCH 256u

struct window {
	struct event event[2 * WINDOW_BATCH];
	size_t base;  /* index of the first event of the batch: 0 or WINDOW_BATCH */
	size_t count; /* events known from there on */
};

static inline struct event *window_at(struct window *w, size_t i)
{
	return &w->event[(w->base + i) & (2 * WINDOW_BATCH - 1)];
}

/* Moves the event at `from` forward to `to` (to <= from); those between move back by one. */
static inline void window_pull(struct window *w, size_t to, size_t from)
{
	struct event pulled = *window_at(w, from);

	for (; from > to; from--)
		*window_at(w, from) = *window_at(w, from - 1);
	*window_at(w, to) = pulled;
}

#endif
