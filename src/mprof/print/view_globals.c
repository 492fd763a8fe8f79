// SPDX-License-Identifier: LGPL-3.0-or-later
/* view_globals.c - the view globals: variables of the program and its libraries. */
#include <inttypes.h>
#include <string.h>

#include "../profile/variables.h"
#include "figures.h"
#include "json_rows.h"
#include "print_table.h"
#include "views.h"

static int make(struct view_request *r, struct error *err)
{
	variables_find(r->own, r->profile);
	return 0;
}

static void release(void *own)
{
	variables_release(own);
}

static const char *path_of(const struct profile *p, uint32_t object)
{
	return p->stacks->object[object].path;
}

static void put_objects(const struct variables *v, const struct profile *p, FILE *out)
{
	struct table t =
	    TABLE("<object", ">variables", ">bytes", ">resident", ">thread-local", ">threads");

	for (size_t i = 0; i < v->objects; i++) {
		const struct variable_object *o = &v->object[i];

		table_cell(&t, "%s%s", basename(path_of(p, o->object)),
			   o->stripped ? " (stripped)" : "");
		table_cells(&t, format_count(o->count).s, format_bytes(o->bytes).s);
		table_cell(&t, "%s%s", o->known && o->at_least ? ">= " : "",
			   o->known ? format_bytes(o->resident).s : "-");
		table_cells(&t, o->tls ? format_bytes(o->tls).s : "-",
			    o->tls ? format_count(o->threads).s : "-");
	}
	table_print(&t, out);
}

static void put_variables(const struct variables *v, const struct profile *p, size_t shown,
			  FILE *out)
{
	struct table t = TABLE(">bytes", ">resident", "<variable", "<object", "<declared at");

	for (size_t i = 0; i < shown; i++) {
		const struct variable *x = &v->of[i];

		table_cell(&t, "%s", format_bytes(x->v.size).s);
		if (x->v.tls)
			table_cell(&t, "per thread");
		else
			table_cell(&t, "%s", x->known ? format_bytes(x->resident).s : "-");
		table_cells(&t, x->v.name, basename(path_of(p, x->v.object)));
		if (*x->v.file)
			table_cell(&t, "%s:%" PRIu32, basename(x->v.file), x->v.line);
		else
			table_cell(&t, "-");
	}
	table_print(&t, out);
}

static void text(struct view_request *r, FILE *out)
{
	struct variables *v = r->own;
	size_t shown;

	if (!v->objects) {
		fputs("No program or library is known: variables need a trace with call stacks.\n",
		      out);
		return;
	}
	shown = view_shown(r, v->count);
	fprintf(out,
		"Global variables: %s, of which %s%s were resident. Thread-local variables: %s "
		"in each thread, %s in all threads that ran at once.\n",
		format_bytes(v->bytes).s, v->at_least ? "at least " : "",
		format_bytes(v->resident).s, format_bytes(v->tls).s, format_bytes(v->tls_all).s);
	fputc('\n', out);
	put_objects(v, r->profile, out);
	fputc('\n', out);
	put_variables(v, r->profile, shown, out);
	if (shown < v->count)
		fprintf(out, "  and %s; --top 0 shows all\n",
			format_many(v->count - shown, "smaller variable", "smaller variables").s);
}

/* ---- JSON ---- */

#include "../json/globals.def"

static void members(struct view_request *r, json *o)
{
	globals_view_fields(o, r->own, r->profile);
}

static json *row(struct view_request *r, size_t i)
{
	const struct variable *x = &((const struct variables *)r->own)->of[i];

	return JSON_NEW(variable, x, path_of(r->profile, x->v.object));
}

static size_t rows(const struct view_request *r)
{
	return view_shown(r, ((const struct variables *)r->own)->count);
}

const struct view_ops view_globals = {
	.sort = VALUE_TOTAL,
	.by = PROFILE_BY_STACK,
	.whole = true,
	.totals = true,
	.own = sizeof(struct variables),
	.make = make,
	.text = text,
	.json = members,
	.json_row = row,
	.json_rows = rows,
	.release = release,
};
