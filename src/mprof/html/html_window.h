/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * html_window.h - exact answers about a window of time, from the trace: for `mprof view`, if the
 * window does not begin and end at points of the page.
 *
 * A window is (from, to], in ns since the start of the run.  Its peak is the time of most live
 * bytes in it, including the state at its beginning.  With snapshots, it walks only the slices of
 * the trace that contain the ends of the window and its peak, and for the peak the ends only if it
 * may be there, and for what was allocated it only reads allocations; without, it walks the trace
 * up to the end of the window, twice for the peak.  A filter of lifetimes cannot be combined with a
 * point in time.
 *
 * Errors: -errno with err filled; -ECANCELED when *cancel became true.  Threads: one at a time.
 */
#pragma once

#include "../pass/snapshots.h"
#include "html_data.h"

enum window_kind {
	WINDOW_PEAK,  /* live at the peak of the window */
	WINDOW_END,   /* live at its end */
	WINDOW_KEPT,  /* allocated in it and live at its end */
	WINDOW_TOTAL, /* allocated in it */
};

struct window_question {
	enum window_kind kind;
	int64_t from_ns, to_ns;
	struct site_filter filter; /* its from_ns and to_ns are ignored */
	const bool *cancel;
	void (*progress)(void *context, const struct walk *w);
	void *progress_context;
};

struct window_answer {
	int64_t ns; /* the moment; for WINDOW_TOTAL, the end */
	uint64_t bytes, blocks;
	uint64_t *node_bytes, *node_blocks; /* by node of the page */
	size_t nodes;
};

/* snapshots: of this trace, from a walk in which births were of the filter's functions; NULL if
 * none.  t: as opened, or as another query left it. */
int window_ask(struct window_answer *a, struct trace *t, const struct snapshots *snapshots,
	       const struct html_map *map, const struct window_question *q, struct error *err);
void window_answer_release(struct window_answer *a);
