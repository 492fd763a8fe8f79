// SPDX-License-Identifier: LGPL-3.0-or-later
/* view_trees.c - the views top-down and bottom-up. */
#include "figures.h"
#include "tree_rows.h"

static void release(void *own)
{
	tree_rows_release(own);
}

static int make_top_down(struct view_request *r, struct error *err)
{
	tree_rows_make(r->own, r, CALLTREE_TOP_DOWN, NULL);
	return 0;
}

static int make_bottom_up(struct view_request *r, struct error *err)
{
	tree_rows_make(r->own, r, CALLTREE_BOTTOM_UP, NULL);
	return 0;
}

static void text(struct view_request *r, const char *what, FILE *out)
{
	struct tree_rows *t = r->own;

	fprintf(out, "%s; %s%s: %s in %s.\n", what, profile_value_name(t->value),
		t->value == VALUE_LOCAL ? " (sums of separate peaks)" : "",
		figures_text(t->value, t->total).s,
		format_many(r->profile->count, "call stack", "call stacks").s);
	fputc('\n', out);
	tree_rows_text(t, r, out);
}

static void text_top_down(struct view_request *r, FILE *out)
{
	text(r, "From the outermost caller inward", out);
}

static void text_bottom_up(struct view_request *r, FILE *out)
{
	text(r, "From the allocating function outward to its callers", out);
}

static void members(struct view_request *r, json *o)
{
	tree_view_fields(o, r->own);
}

static json *row(struct view_request *r, size_t i)
{
	return tree_rows_json(r->own, i);
}

static size_t rows(const struct view_request *r)
{
	return ((const struct tree_rows *)r->own)->count;
}

#define TREE_VIEW(direction)                                                                \
	.sort = VALUE_PEAK, .by = PROFILE_BY_FUNCTION, .rows = true, .totals = true,        \
	.own = sizeof(struct tree_rows), .prepare = tree_rows_by, .make = make_##direction, \
	.text = text_##direction, .json = members, .json_row = row, .json_rows = rows,      \
	.release = release

const struct view_ops view_top_down = { TREE_VIEW(top_down) };
const struct view_ops view_bottom_up = { TREE_VIEW(bottom_up) };
