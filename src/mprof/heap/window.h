/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * window.h - the current events: the batch being applied and the next one.
 *
 * A ring of two batches, so that the following batch is visible when an event
 * is applied (WINDOW_BATCH to 2 * WINDOW_BATCH - 1 events ahead) and pull one
 * of those events forward.  Positions count from the first event of the batch
 * being applied.  The last events of the previous batch are kept as they were
 * applied, because events just after a border are also judged by them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "../trace/trace.h"

#define WINDOW_BATCH  256u
#define WINDOW_BEFORE 64u

struct window {
	struct event event[2 * WINDOW_BATCH];
	size_t base;  /* index of the first event of the batch: 0 or WINDOW_BATCH */
	size_t count; /* events known from there on */
	struct event before[WINDOW_BEFORE]; /* the last ones before base, oldest first */
	size_t befores;
};

static inline struct event *window_at(struct window *w, size_t i)
{
	return &w->event[(w->base + i) & (2 * WINDOW_BATCH - 1)];
}

/* Returns the event that comes n after one of the window; n is less than a batch. */
static inline const struct event *window_after(const struct window *w, const struct event *e,
					       size_t n)
{
	e += n;
	return e < w->event + 2 * WINDOW_BATCH ? e : e - 2 * WINDOW_BATCH;
}

/* Ends the batch of n events and begins the next one.  Half a nanosecond an event. */
static inline void window_next(struct window *w, size_t n)
{
	w->befores = n < WINDOW_BEFORE ? n : WINDOW_BEFORE;
	memcpy(w->before, window_at(w, n - w->befores), w->befores * sizeof(*w->before));
	w->base ^= WINDOW_BATCH;
}

/* Returns the i-th event, from 1, before the batch's event `at`; NULL if it was not kept. */
static inline const struct event *window_ago(struct window *w, size_t at, size_t i)
{
	if (i <= at)
		return window_at(w, at - i);
	i -= at;
	return i <= w->befores ? &w->before[w->befores - i] : NULL;
}

/* Moves the event at `from` forward to `to` (to <= from); those between move back by one. */
static inline void window_pull(struct window *w, size_t to, size_t from)
{
	struct event pulled = *window_at(w, from);

	for (; from > to; from--)
		*window_at(w, from) = *window_at(w, from - 1);
	*window_at(w, to) = pulled;
}
