/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* overview.h - the whole analysis of one trace or profile, with findings, for report and view. */
#pragma once

#include "../print/print_totals.h"
#include "../profile/findings.h"

/* Finds why programs and objects were not recorded, according to the files on this machine. */
void overview_explain(struct tree *r, const struct trace *t);

/* Findings of an analysis of t, with their explanations.  The caller releases f in any case. */
int overview_findings(struct findings *f, struct analysis *a, struct trace *t,
		      const struct profile_options *o, struct error *err);

/* Notes in findings of memory that is left whether a program of the tree still runs. */
void overview_runs(struct findings *f, const struct tree *tree);

/*
 * Makes the analysis, passes it to `then`, and releases it; brief: omits what the first screen of a
 * report does not print.  Returns the result of `then`, or -errno.
 */
int overview_make(struct trace *t, const struct profile_options *o, bool brief,
		  int (*then)(void *context, const struct analysis *a, struct error *err),
		  void *context, struct error *err);

/*
 * The same for a profile, which has totals but no events, or for the totals that t shows
 * (profile_show_totals()).  o->by becomes PROFILE_BY_FUNCTION.
 */
int totals_make(struct trace *t, struct profile_options *o,
		int (*then)(void *context, const struct print_totals *totals, struct error *err),
		void *context, struct error *err);
