// SPDX-License-Identifier: LGPL-3.0-or-later
/* progress.c - progress lines on a terminal. */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

bool progress_begin(struct progress *g)
{
	g->shown = false;
	clock_gettime(CLOCK_MONOTONIC, &g->start);
	return isatty(STDERR_FILENO);
}

bool progress_due(struct progress *g)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec - g->start.tv_sec + (now.tv_nsec > g->start.tv_nsec) >= 2)
		g->shown = true;
	return g->shown;
}

static void show(void *context, const struct walk *w)
{
	struct progress *g = context;
	uint64_t end = 0, span, done;
	size_t i;

	if (!progress_due(g))
		return;
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
	return progress_begin(g) ? show : NULL;
}

void progress_run(void *context, const char *what, const char *name, unsigned done, unsigned of)
{
	struct progress *g = context;

	g->shown = true;
	fprintf(stderr, "\r\033[Kmprof: playing, run %u of %u: %s %s", done + 1, of, what, name);
}

void progress_done(struct progress *g)
{
	if (g->shown)
		fputs("\r\033[K", stderr);
}
