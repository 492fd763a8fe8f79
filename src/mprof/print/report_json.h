/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* report_json.h - parts of the JSON report, each an object or members of one. */
#ifndef MPROF_PRINT_REPORT_JSON_H
#define MPROF_PRINT_REPORT_JSON_H

#include "json.h"
#include "report.h"

/* A time; ticks 0 is not known. */
static inline void add_ns(json *o, const char *name, const struct analysis *a, uint64_t ticks)
{
	if (ticks)
		add_i(o, name, walk_ns(&a->walk, ticks));
	else
		add(o, name, NULL);
}

/* All of it: what report_json prints.  NULL or with nulls in it without memory. */
json *report_json_object(const struct analysis *a);

/* Members of o. */
void report_json_totals(json *o, const struct totals_sum *s);
void report_json_peak(json *o, const struct analysis *a, const struct peak_of *p);
void report_json_left(json *o, const struct never_freed_process *n);

/* New objects and arrays, for the caller to add somewhere. */
json *report_json_virtual(const struct analysis *a, const struct compactness_of *c);
json *report_json_high_water(const struct compactness_of *c);
json *report_json_maps(const struct analysis *a, const struct maps_of *m);
json *report_json_lost(const uint64_t *lost);
json *report_json_threads(const struct analysis *a);
json *report_json_processes(const struct analysis *a);
json *report_json_missing(const struct analysis *a);
json *report_json_owns(const struct analysis *a);
json *report_json_remarks(const struct analysis *a);

#endif
