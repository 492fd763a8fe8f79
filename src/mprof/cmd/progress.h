/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * progress.h - a line on stderr that shows the progress, on a terminal and for anything that takes
 * more than a second.
 */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "../pass/walk.h"

struct progress {
	struct timespec start;
	bool shown;
};

/* Returns true if the line would be visible. */
bool progress_begin(struct progress *g);
/* Should the line be written now? */
bool progress_due(struct progress *g);
/* Removes the line. */
void progress_done(struct progress *g);

typedef void progress_fn(void *context, const struct walk *w);

/*
 * Begins, and returns the function to call during a walk, with g as its context; NULL if the line
 * would not be visible.
 */
progress_fn *progress_start(struct progress *g);
/* Callback for runs, with g as its context; shown immediately, because a run takes a while. */
void progress_run(void *context, const char *what, const char *name, unsigned done, unsigned of);
