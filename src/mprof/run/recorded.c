// SPDX-License-Identifier: LGPL-3.0-or-later
/* recorded.c - what a run has written to its file. */
#include "run.h"

#include <stdio.h>

#include "../trace/trace.h"

#define BATCH 256

static bool has_counts(const struct trace *t)
{
	const struct mprof_counts *c;
	uint32_t process, thread;
	size_t i, k;

	for (i = 0; (c = trace_counts(t, i, &process, &thread)); i++)
		for (k = 0; k < MPROF_FN_MAX; k++)
			if (c->fn[k].calls)
				return true;
	return false;
}

/* Are there totals of threads?  With MODE=Sample there may be no sample yet. */
static bool has_threads(const struct trace *t)
{
	const struct trace_totals *total;
	size_t n = trace_totals(t, &total), i;

	for (i = 0; i < n; i++)
		if (total[i].kind == MPROF_EXTENT_LANE)
			return true;
	return false;
}

static bool has_calls(struct trace *t)
{
	struct event batch[BATCH];
	size_t n, i;

	while ((n = trace_next(t, batch, BATCH)) > 0)
		for (i = 0; i < n; i++)
			if (batch[i].kind == EVENT_CALL || batch[i].kind == EVENT_REALLOC_END)
				return true;
	return false;
}

bool recorded_anything(const char *path, const char *magic)
{
	struct trace *t;
	bool any;

	if (trace_open_without_stacks(&t, path, magic))
		return true;
	any =
	    trace_is_guarded(t) || has_threads(t) ||
	    (trace_has_events(t) ? trace_header(t)->dropped_bytes || has_calls(t) : has_counts(t));
	trace_close(t);
	return any;
}

void recorded_rank(const char *path, const char *magic, char *rank, size_t size)
{
	const struct trace_fact *fact;
	struct trace *t;

	*rank = 0;
	if (trace_open_without_stacks(&t, path, magic))
		return;
	for (size_t i = 0, n = trace_facts(t, &fact); i < n && !*rank; i++)
		if (fact[i].fact->what == MPROF_FACT_RANK)
			snprintf(rank, size, "%s", fact[i].rank);
	trace_close(t);
}
