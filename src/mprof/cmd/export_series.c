// SPDX-License-Identifier: LGPL-3.0-or-later
/* export_series.c - options of exports that tell of times and of single blocks. */
#include "export_series.h"

#include <string.h>

#include "../util/ranges.h"
#include "argument.h"

enum { SPLIT = 512, EVENTS, POINTS, DETAILED, TIME_UNIT };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Options of some formats:", 2 },
	{ "split", SPLIT, NULL, 0, "Write several files of at most 4 MiB and 16000 sites (pprof)",
	  2 },
	{ "events", EVENTS, NULL, 0, "Write every block, too (sqlite, jsonl)", 2 },
	{ "points", POINTS, "N", 0,
	  "Number of points in time (massif [100], chrome [1000], firefox [200])", 2 },
	{ "detailed", DETAILED, "N", 0,
	  "Write a tree for every Nth point and the peak (massif) [10]", 2 },
	{ "time-unit", TIME_UNIT, "UNIT", 0,
	  "Measure time in ms, B (bytes allocated and freed) or i (events) (massif) [ms]", 2 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static unsigned number(const char *arg, unsigned least, const char *what, struct argp_state *state)
{
	uint64_t n = 0;

	if (parse_whole(arg, least, 1000000, &n))
		argp_error(state, "%s '%s' is not a whole number from %u to 1000000", what, arg,
			   least);
	return (unsigned)n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct export_options *o = state->input;

	switch (key) {
	case SPLIT:
		o->split = true;
		return 0;
	case EVENTS:
		o->events = true;
		return 0;
	case POINTS:
		o->points = number(arg, 2, "--points", state);
		return 0;
	case DETAILED:
		o->detailed = number(arg, 0, "--detailed", state);
		return 0;
	case TIME_UNIT:
		o->time = (enum export_time)argument_word(arg, WORDS_TIME_UNIT, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp export_series_argp = { .options = options, .parser = parse };

const char *export_series_unknown(const struct export_options *o, unsigned flags)
{
	if (o->split && !(flags & EXPORT_SPLIT))
		return "--split";
	if (o->events && !(flags & EXPORT_SINGLY))
		return "--events";
	if (o->points && !(flags & EXPORT_POINTS))
		return "--points";
	if (o->time != EXPORT_TIME_MS && !(flags & EXPORT_TREES))
		return "--time-unit";
	return o->detailed != EXPORT_DETAILED && !(flags & EXPORT_TREES) ? "--detailed" : NULL;
}
