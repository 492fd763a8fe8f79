/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * report.h - the printers of an analysis.  They show what passes found and
 * compute nothing but percentages.
 *
 * Both return 0, or -errno with err filled when there was no memory.  Whether
 * out took everything is for the caller to check when it flushes.
 */
#ifndef MPROF_PRINT_REPORT_H
#define MPROF_PRINT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "../pass/analysis.h"

struct report_options {
	bool all; /* every row of every table */
};

int report_text(const struct analysis *a, const struct report_options *o, FILE *out,
		struct error *err);
/* Names and units: man/mprof-report-json.md. */
int report_json(const struct analysis *a, FILE *out, struct error *err);

/* ---- parts of report_text; below, `err`-less: 0 or -ENOMEM ---- */

struct report_section {
	const char *title;
	/* Does it have anything to say?  NULL: always. */
	bool (*applies)(const struct analysis *a);
	int (*print)(const struct analysis *a, const struct report_options *o, FILE *out);
};

/* Ends with a row without a title. */
extern const struct report_section report_run_sections[];   /* what ran, losses */
extern const struct report_section report_call_sections[];  /* functions, processes, threads */
extern const struct report_section report_block_sections[]; /* peak to lifetimes */
extern const struct report_section report_page_sections[];  /* compactness to problems */

int report_findings(const struct analysis *a, const struct report_options *o, FILE *out);

#endif
