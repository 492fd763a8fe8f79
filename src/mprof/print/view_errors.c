// SPDX-License-Identifier: LGPL-3.0-or-later
/* view_errors.c - the view errors: what MODE=Guard found. */
#include <stdlib.h>

#include "figures.h"
#include "json_rows.h"
#include "print_errors.h"
#include "views.h"

static int make(struct view_request *r, struct error *err)
{
	errors_find(r->own, r->profile);
	return 0;
}

static void release(void *own)
{
	errors_release(own);
}

static void text(struct view_request *r, FILE *out)
{
	struct errors *e = r->own;

	errors_summary(e, "", out);
	if (e->count)
		fputc('\n', out);
	errors_text(e, r->top, r->depth, out);
}

/* ---- JSON ---- */

#include "../json/errors.def"

static void members(struct view_request *r, json *o)
{
	errors_view_fields(o, r->own);
}

static json *row(struct view_request *r, size_t i)
{
	const struct errors *e = r->own;
	char *title = errors_title(e, e->group[i].u);
	json *o = JSON_NEW(misuse, e, &e->group[i], title);

	free(title);
	return o;
}

static size_t rows(const struct view_request *r)
{
	const struct errors *e = r->own;

	return view_shown(r, e->count);
}

const struct view_ops view_errors = {
	.sort = VALUE_TOTAL,
	.by = PROFILE_BY_STACK,
	.whole = true,
	.own = sizeof(struct errors),
	.make = make,
	.text = text,
	.json = members,
	.json_row = row,
	.json_rows = rows,
	.release = release,
};
