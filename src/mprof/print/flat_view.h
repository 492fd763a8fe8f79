/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * flat_view.h - views that are a list: groups of sites by falling value, each with its share and
 * further facts of the view.
 *
 * By stack a row is a paragraph: figures, then the path, innermost line first.
 * Else it is a line of a table.  In JSON every row has all figures.
 */
#pragma once

#include "figures.h"
#include "views.h"

struct flat_view {
	const char *nothing; /* what follows if no row has the value; may be NULL */
	/* Returns a heading for rows, printed when it changes; may be NULL or return NULL. */
	const char *(*heading)(const struct view_request *r, const struct profile_group *g);
	/* Returns one more sentence about a row; may be NULL. */
	struct long_text (*about)(const struct view_request *r, const struct profile_group *g);
	/* The column of a table with the same fact, short; title begins with < or >. */
	const char *title;
	struct text (*cell)(const struct view_request *r, const struct profile_group *g);
};

/* Sorts, unless the view has, and prints the rows that have a value. */
void flat_view_text(const struct flat_view *f, struct view_request *r, FILE *out);

/* Adds members "total", of all that passes the filters, and the number of rows. */
void flat_view_json(struct view_request *r, json *o);
json *flat_view_json_row(struct view_request *r, size_t i);
size_t flat_view_json_rows(const struct view_request *r);

/* The members that view_ops of such views share. */
#define FLAT_VIEW_JSON                                                                      \
	.rows = true, .flat = true, .json = flat_view_json, .json_row = flat_view_json_row, \
	.json_rows = flat_view_json_rows

/* Returns the rows that have a value, limited by --top. */
size_t flat_view_rows(const struct view_request *r, size_t *more);

/* Returns the answer of a view of that moment without rows: did nothing live, or nothing selected?
 */
const char *flat_none_live(const struct site_snapshot *at);

/* Returns "3.1 s after the start" for ns since then. */
struct text flat_moment(int64_t ns);
/* Adds all figures of sites (json/flat.def). */
void values_fields(json *to, const struct profile *p, const struct site_values *v);
