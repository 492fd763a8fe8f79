// SPDX-License-Identifier: LGPL-3.0-or-later
/* report_totals.c - `mprof report` of a profile as a whole. */
#include "report_totals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../print/print_totals.h"

static int print(struct analysis *a, struct trace *t, struct profile_options *o,
		 const struct report_options *report, bool json, struct error *err)
{
	struct print_totals totals = { .a = a };
	struct site_lanes *lanes = calloc(1, sizeof(*lanes));
	struct profile *p = calloc(1, sizeof(*p));
	int ret = lanes && p ? 0 : fail(err, -ENOMEM, "no memory to read '%s'", trace_path(t));

	o->by = PROFILE_BY_FUNCTION;
	if (!ret)
		ret = profile_make(p, t, o, err);
	if (!ret) {
		site_lanes_read(lanes, t);
		a->sampled = p->sites.totals.estimated;
		a->calls = a->sampled ? p->total.error.samples : lanes->calls;
		a->threads = lanes->threads;
		totals.p = p;
		totals.lanes = lanes;
		ret = json ? totals_json(&totals, stdout, err)
			   : totals_text(&totals, report, stdout, err);
		profile_release(p);
	}
	free(p);
	free(lanes);
	return ret;
}

int report_totals(struct trace *t, struct profile_options *o, const struct report_options *report,
		  bool json, void (*explain)(struct tree *tree), struct error *err)
{
	struct analysis *a = calloc(1, sizeof(*a));
	struct analysis_source source;
	int ret;

	if (!a)
		return fail(err, -ENOMEM, "no memory to read '%s'", trace_path(t));
	analysis_source_of(&source, t);
	ret = analysis_make(a, &source, err);
	if (!ret) {
		explain(&a->tree);
		ret = print(a, t, o, report, json, err);
	}
	analysis_release(a);
	free(a);
	return ret;
}
