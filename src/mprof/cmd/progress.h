/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * progress.h - a line on stderr that shows how far a walk is, on a terminal and
 * when it takes more than a second.
 */
#ifndef MPROF_PROGRESS_H
#define MPROF_PROGRESS_H

#include <stdbool.h>
#include <time.h>

#include "../pass/walk.h"

struct progress {
	struct timespec start;
	bool shown;
};

typedef void progress_fn(void *context, const struct walk *w);

/* What to call during the walk, with g as its context; NULL when nobody would see it. */
progress_fn *progress_start(struct progress *g);
/* Behind the walk: the line is gone. */
void progress_done(struct progress *g);

#endif
