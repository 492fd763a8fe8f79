// SPDX-License-Identifier: LGPL-3.0-or-later
/* view_trees.c - the views top-down and bottom-up. */
#include <stdlib.h>

#include "../util/alloc.h"
#include "figures.h"
#include "tree_rows.h"
#include "paragraph.h"

static int prepare(struct view_request *r, struct error *err)
{
	int ret = tree_rows_by(r, err);

	if (ret < 0)
		return ret;
	r->own = must_calloc(1, sizeof(struct tree_rows));
	return 0;
}

static void release(struct view_request *r)
{
	if (r->own)
		tree_rows_release(r->own);
	free(r->own);
	r->own = NULL;
}

static void text(struct view_request *r, enum calltree_direction direction, const char *what,
		 FILE *out)
{
	struct tree_rows *t = r->own;

	tree_rows_make(t, r, direction, NULL);
	fprintf(out, "%s; %s: %s in %s.\n", what, profile_value_name(t->value),
		figures_text(t->value, t->total).s,
		format_many(r->profile->count, "call stack", "call stacks").s);
	fputc('\n', out);
	tree_rows_text(t, out);
}

static void members(struct view_request *r, enum calltree_direction direction, json *o)
{
	struct tree_rows *t = r->own;

	tree_rows_make(t, r, direction, NULL);
	tree_view_fields(o, t);
}

static int text_inward(struct view_request *r, FILE *out, struct error *err)
{
	(void)err;
	text(r, CALLTREE_TOP_DOWN, "From the outermost caller inward", out);
	return 0;
}

static int text_outward(struct view_request *r, FILE *out, struct error *err)
{
	(void)err;
	text(r, CALLTREE_BOTTOM_UP, "From the allocating function outward to its callers", out);
	return 0;
}

static int members_inward(struct view_request *r, json *o, struct error *err)
{
	(void)err;
	members(r, CALLTREE_TOP_DOWN, o);
	return 0;
}

static int members_outward(struct view_request *r, json *o, struct error *err)
{
	(void)err;
	members(r, CALLTREE_BOTTOM_UP, o);
	return 0;
}

static json *row(struct view_request *r, size_t i)
{
	return tree_rows_json(r->own, i);
}

static size_t rows(const struct view_request *r)
{
	return ((const struct tree_rows *)r->own)->count;
}

const struct view_ops view_top_down = {
	.sort = VALUE_PEAK,
	.by = PROFILE_BY_FUNCTION,
	.rows = true,
	.totals = true,
	.prepare = prepare,
	.text = text_inward,
	.json = members_inward,
	.json_row = row,
	.json_rows = rows,
	.release = release,
};

const struct view_ops view_bottom_up = {
	.sort = VALUE_PEAK,
	.by = PROFILE_BY_FUNCTION,
	.rows = true,
	.totals = true,
	.prepare = prepare,
	.text = text_outward,
	.json = members_outward,
	.json_row = row,
	.json_rows = rows,
	.release = release,
};
