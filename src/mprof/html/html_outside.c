// SPDX-License-Identifier: LGPL-3.0-or-later
/* html_outside.c - memory beyond malloc, for the pages Thread stacks and Global variables. */
#include "html_data.h"

#include "../pass/stack_uses.h"
#include "../print/views.h"
#include "../profile/variables.h"

json *html_stacks_json(const struct stack_uses *s, const struct profile *p)
{
	const size_t shown = s->count < HTML_THREADS ? s->count : HTML_THREADS;
	json *o = json_object_new_object(), *rows = json_object_new_array(), *row;
	size_t i;

	for (i = 0; i < shown; i++) {
		row = json_object_new_object();
		stack_use_fields(row, &s->of[i], p);
		json_object_array_add(rows, row);
	}
	add_n(o, "left_out", s->threads - shown);
	add(o, "rows", rows);
	return o;
}

json *html_variables_json(const struct variables *v, const struct profile *p)
{
	json *o = json_object_new_object(), *objects = json_object_new_array(), *each;
	uint64_t bytes = 0;
	size_t i;

	variables_fields(o, v);
	for (i = 0; i < v->objects; i++) {
		each = json_object_new_object();
		variable_object_fields(each, &v->object[i],
				       p->stacks->object[v->object[i].object].path);
		json_object_array_add(objects, each);
	}
	add(o, "objects", objects);
	for (i = HTML_VARIABLES; i < v->count; i++)
		bytes += v->of[i].v.size;
	add_n(o, "left_out", v->count > HTML_VARIABLES ? v->count - HTML_VARIABLES : 0);
	add_n(o, "left_out_bytes", bytes);
	return o;
}
