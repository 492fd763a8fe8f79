// SPDX-License-Identifier: LGPL-3.0-or-later
/* view_errors.c - the view errors: what MODE=Guard found. */
#include <stdlib.h>

#include "../util/alloc.h"
#include "figures.h"
#include "json_rows.h"
#include "print_errors.h"
#include "views.h"

static int prepare(struct view_request *r, struct error *err)
{
	(void)err;
	r->own = must_calloc(1, sizeof(struct errors));
	return 0;
}

static void release(struct view_request *r)
{
	errors_release(r->own);
	free(r->own);
	r->own = NULL;
}

static int text(struct view_request *r, FILE *out, struct error *err)
{
	struct errors *e = r->own;

	(void)err;
	errors_find(e, r->profile);
	errors_summary(e, out);
	if (e->count)
		fputc('\n', out);
	errors_text(e, r->top, r->depth, out);
	return 0;
}

/* ---- JSON ---- */

#include "../json/errors.def"

static int members(struct view_request *r, json *o, struct error *err)
{
	struct errors *e = r->own;

	(void)err;
	errors_find(e, r->profile);
	errors_view_fields(o, e);
	return 0;
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
	.prepare = prepare,
	.text = text,
	.json = members,
	.json_row = row,
	.json_rows = rows,
	.release = release,
};
