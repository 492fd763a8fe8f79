// SPDX-License-Identifier: LGPL-3.0-or-later
/* progress.c - how far a walk is. */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

static void show(void *context, const struct walk *w)
{
	struct progress *g = context;
	uint64_t end = 0, span, done;
	struct timespec now;
	size_t i;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!g->shown && now.tv_sec - g->start.tv_sec + (now.tv_nsec > g->start.tv_nsec) < 2)
		return;
	g->shown = true;
	for (i = 0; i < w->input.thread_count; i++)
		if (w->input.threads[i].last_ticks > end)
			end = w->input.threads[i].last_ticks;
	span = end > w->first_ticks ? end - w->first_ticks : 1;
	done = w->last_ticks < end ? w->last_ticks - w->first_ticks : span;
	fprintf(stderr, "\rmprof: reading, %3.0f %%, %.0f million events ",
		100.0 * (double)done / (double)span, (double)w->events / 1e6);
}

progress_fn *progress_start(struct progress *g)
{
	g->shown = false;
	clock_gettime(CLOCK_MONOTONIC, &g->start);
	return isatty(STDERR_FILENO) ? show : NULL;
}

void progress_done(struct progress *g)
{
	if (g->shown)
		fputs("\r\033[K", stderr);
}
