/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * print_totals.h - the report of a profile, which has totals and no events.
 */
#pragma once

#include <stdio.h>

#include "../pass/alloc_times.h"
#include "../pass/course.h"
#include "../pass/rank_totals.h"
#include "../pass/site_totals.h"
#include "../profile/profile.h"
#include "report.h"

struct print_totals {
	const struct analysis *a; /* of the same file: the processes, and what is missing */
	struct profile *p;	  /* by function */
	const struct site_lanes *lanes;
	const struct rank_totals *ranks;
	const struct course *course; /* of the process with the highest peak */
	const struct alloc_times *times;
	bool beside; /* beside the calls of a trace */
};

/* For a page: prints titles, and below them lines of two blanks and a sentence each. */
void totals_findings(const struct print_totals *t, FILE *out);
json *totals_json_object(const struct print_totals *t);
void totals_text(const struct print_totals *t, const struct report_options *o, FILE *out);
/* Names and units: src/mprof/json. */
void totals_json(const struct print_totals *t, FILE *out);
