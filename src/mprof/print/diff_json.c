// SPDX-License-Identifier: LGPL-3.0-or-later
/* diff_json.c - a comparison of two traces as one JSON object. */
#include "print_diff.h"

#include "figures.h"

static json *group_json(const struct diff *d, const struct diff_group *g)
{
	static const enum line_same same[] = {
		[DIFF_BY_FUNCTION] = LINE_FUNCTION, [DIFF_BY_STACK] = LINE_LINE,
		[DIFF_BY_MODULE] = LINE_MODULE,	    [DIFF_BY_LINE] = LINE_LINE,
		[DIFF_BY_FILE] = LINE_FILE,
	};
	json *o = json_object_new_object(), *stack;
	size_t i;

	add_s(o, "change", diff_change_name(g->change));
	figures_line_json(o, g->line[g->lines - 1], same[d->options.by]);
	if (d->options.by == DIFF_BY_STACK) {
		stack = json_object_new_array();
		for (i = 0; i < g->lines; i++)
			json_object_array_add(stack, json_string(g->line[i]->function));
		add(o, "stack", stack);
	}
	add_i(o, "difference", diff_delta(g, d->options.value));
	add(o, "before", figures_json(g->v[DIFF_BEFORE]));
	add(o, "after", figures_json(g->v[DIFF_AFTER]));
	add_n(o, "sites_before", g->sites[DIFF_BEFORE]);
	add_n(o, "sites_after", g->sites[DIFF_AFTER]);
	return o;
}

static json *counts_json(const struct diff *d)
{
	json *o = json_object_new_object();
	int c;

	for (c = 0; c < DIFF_CHANGES; c++)
		add_n(o, diff_change_name((enum diff_change)c), d->changed[c]);
	return o;
}

json *diff_json(const struct diff *d, const struct diff_print *o)
{
	json *all = json_object_new_object(), *rows = json_object_new_array(),
	     *renamed = json_object_new_array(), *r;
	size_t i, n = o->all ? d->groups : d->groups - d->changed[DIFF_SAME];

	add_s(all, "mprof_version", MPROF_VERSION);
	add_s(all, "trace_before", o->name[DIFF_BEFORE]);
	add_s(all, "trace_after", o->name[DIFF_AFTER]);
	add_s(all, "by", diff_by_name(d->options.by));
	add_s(all, "value", profile_value_name(d->options.value));
	add(all, "total_before", figures_json(d->total[DIFF_BEFORE]));
	add(all, "total_after", figures_json(d->total[DIFF_AFTER]));
	add(all, "changes", counts_json(d));
	for (i = 0; i < d->renames; i++) {
		r = json_object_new_object();
		add_s(r, "function_before", d->rename[i].line[DIFF_BEFORE]->function);
		add_s(r, "function_after", d->rename[i].line[DIFF_AFTER]->function);
		json_object_array_add(renamed, r);
	}
	add(all, "renamed", renamed);
	for (i = 0; i < n; i++)
		json_object_array_add(rows, group_json(d, &d->group[i]));
	add(all, "rows", rows);
	return all;
}
