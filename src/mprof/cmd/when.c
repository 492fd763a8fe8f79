// SPDX-License-Identifier: LGPL-3.0-or-later
/* when.c - see when.h. */
#include "when.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../util/format.h"
#include "../util/ranges.h"

#define BATCH 256u

static bool percent(const char *arg, double *value)
{
	return strchr(arg, '%') && !parse_fraction(arg, "%", value) && *value <= 100;
}

static int take_when(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	struct when *w = to;

	w->text = arg;
	if (!strcmp(arg, "peak"))
		w->kind = WHEN_PEAK;
	else if (!strcmp(arg, "end"))
		w->kind = WHEN_END;
	else if (!parse_whole(arg, 0, UINT64_MAX, &w->calls))
		w->kind = WHEN_CALLS;
	else if (percent(arg, &w->percent))
		w->kind = WHEN_PERCENT;
	else if (!parse_time(arg, &w->ns))
		w->kind = WHEN_TIME;
	else
		return option_invalid(err, row, arg,
				      "peak, end, a number of calls, a time such as 1.5s, or a "
				      "percentage such as 50%%");
	return 0;
}

static const char *const moments[] = { "peak", "end", NULL };
const struct option_type option_when = { "when", take_when, moments, COMPLETE_NOTHING };

/* ---- calls ---- */

uint64_t when_calls(const struct when *w, uint64_t calls)
{
	return w->kind == WHEN_PERCENT ? (uint64_t)((double)calls * w->percent / 100) : w->calls;
}

int when_out_of(const struct when *w, uint64_t calls, struct error *err)
{
	return fail(err, -ERANGE, "--at %s: there %s only %s", w->text, calls == 1 ? "is" : "are",
		    format_many(calls, "call", "calls").s);
}

/* Reads up to the n-th call; *until is that event, or the last one.  Returns the calls it saw. */
static uint64_t read_calls(struct trace *t, uint64_t n, struct walk_until *until)
{
	struct event batch[BATCH];
	uint64_t calls = 0;
	size_t got, i;

	*until = (struct walk_until){ .set = true };
	trace_skip(t, n, &calls, &until->event);
	while (calls < n && (got = trace_next(t, batch, BATCH)))
		for (i = 0; i < got && calls < n; i++) {
			calls += event_is_call(&batch[i]);
			until->event++;
			until->ticks = batch[i].ticks;
		}
	trace_rewind(t);
	return calls;
}

static int find_call(const struct when *w, struct trace *t, struct walk_until *until,
		     struct error *err)
{
	const uint64_t all =
	    w->kind == WHEN_PERCENT ? read_calls(t, UINT64_MAX, until) : UINT64_MAX;
	const uint64_t n = when_calls(w, all), seen = read_calls(t, n, until);

	if (!n)
		*until = (struct walk_until){ .set = true, .ticks = trace_ticks(t, 0) };
	return seen < n ? when_out_of(w, seen, err) : 0;
}

/* ---- times ---- */

static int find_time(const struct when *w, struct trace *t, struct walk_until *until,
		     struct error *err)
{
	struct walk_input input;
	uint64_t last;

	walk_input_from_trace(&input, t);
	last = walk_end_ticks(&input, &(struct walk_until){ .set = false });
	*until = (struct walk_until){ .set = true,
				      .ticks = w->kind == WHEN_END ? last : trace_ticks(t, w->ns) };
	last = walk_run_end_ticks(&input);
	if (until->ticks <= last)
		return 0;
	return fail(err, -ERANGE, "--at %s: the recording ends after %s", w->text,
		    format_since(trace_ns(t, last)).s);
}

const char *when_unheeded(const struct profile_options *o)
{
	const struct site_filter *f = &o->sites.filter;

	if (f->lifetime_min_ns || f->lifetime_max_ns != UINT64_MAX)
		return "--at and --lifetime: the lifetime of a live block is not known yet";
	return NULL;
}

int when_find(const struct when *w, struct trace *t, struct walk_until *until, struct error *err)
{
	/* What reads totals refuses any moment, and says why. */
	if (w->kind != WHEN_PEAK && !trace_has_events(t)) {
		*until = (struct walk_until){ .set = true };
		return 0;
	}
	switch (w->kind) {
	case WHEN_CALLS:
	case WHEN_PERCENT:
		return find_call(w, t, until, err);
	case WHEN_TIME:
	case WHEN_END:
		return find_time(w, t, until, err);
	default:
		*until = (struct walk_until){ .set = false };
		return 0;
	}
}
