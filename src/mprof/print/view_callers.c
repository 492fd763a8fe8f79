// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * view_callers.c - the view callers FUNCTION: its callers, and the functions that it calls to
 * allocate.
 */
#include <errno.h>

#include "../profile/filters.h"
#include "figures.h"
#include "tree_rows.h"

struct both {
	struct tree_rows callers, callees;
};

static void release(void *own)
{
	struct both *b = own;

	tree_rows_release(&b->callers);
	tree_rows_release(&b->callees);
}

static int make(struct view_request *r, struct error *err)
{
	struct both *b = r->own;

	tree_rows_make(&b->callers, r, CALLTREE_CALLERS, r->arg);
	if (!b->callers.tree.node[0].sites)
		return profile_knows_function(r->profile, r->arg, err)
			   ? -EINVAL
			   : fail(err, -EINVAL,
				  "no block that passes the filters was allocated through '%.200s'",
				  r->arg);
	tree_rows_make(&b->callees, r, CALLTREE_CALLEES, r->arg);
	return 0;
}

static void text(struct view_request *r, FILE *out)
{
	struct both *b = r->own;

	fprintf(out, "Callers of '%s', outward. Its share of %s is %s.\n", r->arg,
		profile_value_name(r->sort),
		format_percent(calltree_inclusive(&b->callers.tree, 0, 0), b->callers.total).s);
	fputc('\n', out);
	tree_rows_text(&b->callers, r, out);
	if (b->callees.count < 2 && !b->callees.hidden) {
		fputs("\nIt calls no other function that allocates.\n", out);
		return;
	}
	fprintf(out, "\nCallees of '%s', inward.\n\n", r->arg);
	tree_rows_text(&b->callees, r, out);
}

static void members(struct view_request *r, json *o)
{
	struct both *b = r->own;

	callers_view_fields(o, r->arg, &b->callers, &b->callees);
}

static json *row(struct view_request *r, size_t i)
{
	return tree_rows_json(&((struct both *)r->own)->callers, i);
}

static size_t rows(const struct view_request *r)
{
	return ((const struct both *)r->own)->callers.count;
}

const struct view_ops view_callers = {
	.sort = VALUE_PEAK,
	.by = PROFILE_BY_FUNCTION,
	.rows = true,
	.totals = true,
	.own = sizeof(struct both),
	.prepare = tree_rows_by,
	.make = make,
	.text = text,
	.json = members,
	.json_row = row,
	.json_rows = rows,
	.release = release,
};
