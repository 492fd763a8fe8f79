/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * progress.h - a line on stderr that shows how far it is, on a terminal and when
 * it takes more than a second.
 */
#ifndef MPROF_CMD_PROGRESS_H
#define MPROF_CMD_PROGRESS_H

#include <stdbool.h>
#include <time.h>

#include "../pass/walk.h"

struct progress {
	struct timespec start;
	bool shown;
};

/* True if somebody would see it. */
bool progress_begin(struct progress *g);
/* Whether to write the line now. */
bool progress_due(struct progress *g);
/* Behind it: the line is gone. */
void progress_done(struct progress *g);

typedef void progress_fn(void *context, const struct walk *w);

/* Begins.  What to call during a walk, with g as its context; NULL when nobody would see it. */
progress_fn *progress_start(struct progress *g);
/* Called back by runs, with g as its context; a run takes a while, so it is told at once. */
void progress_run(void *context, const char *what, const char *name, unsigned done, unsigned of);

#endif
