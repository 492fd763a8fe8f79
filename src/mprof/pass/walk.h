/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * walk.h - the one walk over a trace: events are read in batches, applied to
 * the heap, and passed with their notes to every pass.
 *
 * There are boundaries between events: a fork copies a heap, an exec or the end of a
 * process clears one, and a sample of resident pages is compared with one.  A
 * batch is cut at each boundary, so that the heap and all passes have then seen
 * exactly the events before it.
 *
 * Errors: walk_run returns -ECANCELED when it was cancelled.  Without memory the program ends.
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pass.h"
#include "walk_input.h"

struct walk_pass {
	const struct pass_ops *ops;
	void *self;
};

struct boundary;

/* Where a walk ends before the trace does: after an event, or after all events of a time. */
struct walk_until {
	bool set;
	uint64_t ticks;
	uint64_t event; /* its number, from 1; 0 = every event up to and at these ticks */
};

struct walk {
	struct walk_input input;
	struct heap heap;
	struct window window;
	struct names *names; /* for an input that does not name blocks */
	struct note note[WINDOW_BATCH];
	struct boundary *boundary; /* in the order of time */
	size_t boundaries, next_boundary;
	const struct walk_pass *pass;
	size_t passes;
	uint64_t first_ticks, last_ticks; /* of the first and last event */
	uint64_t events;
	uint64_t ns_mult; /* ns = ticks * ns_mult / 2^32, for durations */
	/* Called periodically; may be NULL. */
	void (*progress)(void *context, const struct walk *w);
	void *progress_context;
	/* Called between two batches: `here` events of the next one are in the window; may be
	 * NULL. */
	void (*between)(void *context, struct walk *w, size_t here);
	void *between_context;
	/* Called with between_context after all events and ends, before finish(); may be NULL. */
	void (*ended)(void *context, struct walk *w);
	/* Begins in the middle, see snapshots.h: sets heap, window and the following members of
	 * this struct to their state between two batches.  Returns the number of events of the
	 * next one.  NULL = begin at the beginning. */
	size_t (*resume)(void *context, struct walk *w);
	void *resume_context;
	const bool *cancel; /* another thread may set it: then the walk ends soon; may be NULL */
	struct walk_until until; /* set before walk_run */
	bool stopped;  /* it ended there: blocks that were live are reported as GONE_TRACE_ENDS */
	bool over;     /* all events were delivered; only ends of processes remain */
	bool no_pages; /* set before walk_run: no pass reads live.pages, do not count them */
	/* Set before walk_run, may be NULL: passes up to n events from `first` on to all passes
	 * in its own way.  Returns how many; the other events go to the batch() of each pass. */
	size_t (*fused)(void *self, struct walk *w, size_t first, size_t n);
	void *fused_self;
};

/* Takes run after run (heap/event_run.h), for walk.fused: `take` returns how many events it took.
 */
static inline size_t walk_take_runs(size_t (*take)(void *self, struct walk *w, size_t first,
						   size_t n),
				    void *self, struct walk *w, size_t first, size_t n)
{
	size_t i, now = 1;

	for (i = 0; i < n && now; i += now)
		now = take(self, w, first + i, n - i);
	return i;
}

void walk_input_from_trace(struct walk_input *in, struct trace *t);
/* Returns the ticks of the last event, or of the walk's end if that is earlier; at least the
 * start's. */
uint64_t walk_end_ticks(const struct walk_input *in, const struct walk_until *until);
/* Returns the ticks of the last event or sample of the run, or end of a process. */
uint64_t walk_run_end_ticks(const struct walk_input *in);
/* Fills w completely.  The input, passes and what they point to must outlive it. */
void walk_init(struct walk *w, const struct walk_input *in, const struct walk_pass *pass,
	       size_t passes);
int walk_run(struct walk *w, struct error *err);
void walk_release(struct walk *w);
/* Walks t, rewound before and after; tell may be NULL.  Pages are not counted.  The caller releases
 * the pass. */
int walk_trace(struct trace *t, const struct walk_pass *pass,
	       void (*tell)(void *context, const struct walk *w), void *context, struct error *err);

static inline uint64_t walk_duration_ns(const struct walk *w, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * w->ns_mult >> 32);
}

/* Returns the lifetime of a block that ends at `ticks`. */
static inline uint64_t walk_lifetime_ns(const struct walk *w, const struct block *b, uint64_t ticks)
{
	return ticks > b->start ? walk_duration_ns(w, ticks - b->start) : 0;
}

static inline int64_t walk_ns(const struct walk *w, uint64_t ticks)
{
	return w->input.ns(w->input.context, ticks);
}

/* The same, and 0 before the start. */
static inline uint64_t walk_since_ns(const struct walk *w, uint64_t ticks)
{
	const int64_t ns = walk_ns(w, ticks);

	return ns > 0 ? (uint64_t)ns : 0;
}
