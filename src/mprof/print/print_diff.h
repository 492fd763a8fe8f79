/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * print_diff.h - the printers of a comparison of two traces: text, JSON and Markdown.
 */
#pragma once

#include <stdio.h>

#include "../profile/difference.h"
#include "json.h"

#define DIFF_ROWS    20 /* shown without `all` */
#define DIFF_CALLERS 12 /* of a stack, in text; JSON has all */

struct diff_print {
	const char *name[DIFF_SIDES]; /* paths of the traces */
	bool all;		      /* every row, including those that did not change */
};

void diff_text(const struct diff *d, const struct diff_print *o, FILE *out);
void diff_markdown(const struct diff *d, const struct diff_print *o, FILE *out);
/* Returns a new object, which the caller owns. */
json *diff_json(const struct diff *d, const struct diff_print *o);

/* ---- shared by them ---- */

/* Returns "added", "grown" ... */
const char *diff_change_name(enum diff_change change);
const char *diff_by_name(enum diff_by by);
/* Returns the range of a row's figure: "1.8 MiB to 2.2 MiB" or "exact". */
struct text diff_range_text(const struct diff *d, const struct diff_group *g, enum diff_side side);
/* Puts the name of a row: a function, "f < caller < ...", a module. */
void diff_put_group(FILE *out, const struct diff *d, const struct diff_group *g);
/* Returns the rows to show: those that changed, at most DIFF_ROWS, or all. */
size_t diff_rows(const struct diff *d, const struct diff_print *o);
/* How resident memory changed, which no figure shows; and what figures of the two sides mean, if
 * that is not the same: of runs whose calls are not all there, of peaks, of programs that ran
 * already, of leaks that may have been in use.  Each is a sentence, or NULL.  The caller frees it.
 */
#define DIFF_REMARKS 5
char *diff_remark(const struct diff *d, const struct diff_print *o, unsigned i);
/* Puts "2 grown, 1 added; 3 within the error; 14 the same". */
void diff_put_counts(FILE *out, const struct diff *d);
/* Returns how the total of a value changed, in percent; for estimates also whether that is
 * within their error. */
struct text diff_move(const struct diff *d, enum profile_value v);
