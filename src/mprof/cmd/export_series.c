// SPDX-License-Identifier: LGPL-3.0-or-later
/* export_series.c - options of exports that contain times or single blocks. */
#include "export_series.h"

#include <string.h>

#define OPTIONS struct export_options
const struct option_row option_series[] = {
	OPTION_TITLE("Options of some formats:"),
	OPTION_FLAG(0, "split", split,
		    "Write several files of at most 4 MiB and 16000 call stacks (pprof)"),
	OPTION_FLAG(0, "events", events, "Also write every block (sqlite, jsonl)"),
	OPTION_NUMBER(0, "points", "N", points, 2, 1000000,
		      "Number of points in time (massif [100], chrome [1000], firefox [200])",
		      .example = "100"),
	OPTION_NUMBER(0, "detailed", "N", detailed, 0, 1000000,
		      "Write a tree for every Nth point and the peak (massif) [10]",
		      .example = "10"),
	OPTION_WORD(0, "time-unit", OPTION_EITHER, time, words_TIME_UNIT,
		    "Measure time in milliseconds, bytes allocated and freed, or events (massif) "
		    "[ms]"),
	OPTION_END,
};

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
