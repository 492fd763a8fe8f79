// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * tree_view.c - call trees as text and as JSON.
 *
 * In text a node that has one child with the same figures shares its row with
 * it: only the name is printed, below, without figures.
 */
#include "tree_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/nearest.h"
#include "figures.h"

#define MARGIN 64 /* columns of indentation at most */

struct printer {
	const struct calltree *tree;
	const struct tree_view *view;
	FILE *out;
	json *nodes;
	uint64_t total;	 /* of the value, of the whole profile */
	uint64_t hidden; /* nodes left out */
	bool calls;	 /* the column of calls is another one than the value's */
};

/* ---- which nodes ---- */

static bool is_shown(const struct printer *p, uint32_t node, unsigned depth)
{
	uint64_t v = calltree_inclusive(p->tree, node, 0);

	if (p->view->depth && depth > p->view->depth)
		return false;
	return v && (double)v * 100 >= p->view->min_percent * (double)p->total;
}

static uint64_t count_below(const struct calltree *t, uint32_t node)
{
	uint64_t n = 1;
	uint32_t c;

	for (c = t->node[node].child; c; c = t->node[c].sibling)
		n += count_below(t, c);
	return n;
}

/* The only child, if its row would show the same figures; 0. */
static uint32_t same_row(const struct printer *p, uint32_t node, unsigned depth)
{
	const struct calltree *t = p->tree;
	uint32_t c = t->node[node].child;
	size_t i;

	if (!c || t->node[c].sibling || !is_shown(p, c, depth + 1))
		return 0;
	for (i = 0; i < t->options.values; i++)
		if (calltree_inclusive(t, c, i) != calltree_inclusive(t, node, i) ||
		    calltree_exclusive(t, c, i) != calltree_exclusive(t, node, i))
			return 0;
	return c;
}

/* ---- text ---- */

static void print_row(struct printer *p, uint32_t node, unsigned indent, bool figures)
{
	const struct calltree *t = p->tree;
	const uint64_t in = calltree_inclusive(t, node, 0), own = calltree_exclusive(t, node, 0);

	if (figures)
		fprintf(p->out, "  %7s %11s %11s", text_percent(in, p->total).s,
			figures_text(p->view->value, in).s,
			own ? figures_text(p->view->value, own).s : "");
	else
		fprintf(p->out, "  %7s %11s %11s", "", "", "");
	if (p->calls)
		fprintf(p->out, " %11s",
			figures ? text_count(calltree_inclusive(t, node, 1)).s : "");
	fprintf(p->out, "  %*s", (int)(indent < MARGIN ? indent : MARGIN), "");
	figures_line(p->out, t->node[node].line, t->options.same == LINE_LINE);
	fputc('\n', p->out);
}

static void print_below(struct printer *p, uint32_t parent, unsigned depth, unsigned indent)
{
	const struct calltree *t = p->tree;
	uint32_t c, next;
	unsigned at;

	for (c = t->node[parent].child; c; c = t->node[c].sibling) {
		if (!is_shown(p, c, depth)) {
			p->hidden += count_below(t, c);
			continue;
		}
		print_row(p, c, indent, true);
		for (at = depth, next = c; same_row(p, next, at); at++) {
			next = same_row(p, next, at);
			print_row(p, next, indent, false);
		}
		print_below(p, next, at + 1, indent + 2);
	}
}

static void print_tree(struct printer *p)
{
	fprintf(p->out, "  %7s %11s %11s", "part", profile_value_name(p->view->value),
		"of its own");
	if (p->calls)
		fprintf(p->out, " %11s", "calls");
	fputs("  function\n", p->out);
	p->hidden = 0;
	print_below(p, 0, 1, 0);
	if (p->hidden)
		fprintf(p->out, "  %s not shown; --min-percent 0 --depth 0 shows all.\n",
			text_many(p->hidden, "smaller or deeper entry is",
				  "smaller or deeper entries are")
			    .s);
}

/* ---- JSON ---- */

static json *values_json(const struct calltree *t, uint32_t node, bool exclusive)
{
	uint64_t v[VALUE_COUNT];
	size_t i;

	for (i = 0; i < t->options.values; i++)
		v[t->options.value[i]] =
		    exclusive ? calltree_exclusive(t, node, i) : calltree_inclusive(t, node, i);
	return figures_json(v);
}

/* Numbers of nodes in the answer are from 1, parents before children; 0 is the root. */
static void add_below(struct printer *p, uint32_t parent, uint64_t number, unsigned depth)
{
	const struct calltree *t = p->tree;
	uint64_t made;
	uint32_t c;
	json *o;

	for (c = t->node[parent].child; c; c = t->node[c].sibling) {
		if (!is_shown(p, c, depth)) {
			p->hidden += count_below(t, c);
			continue;
		}
		o = json_object_new_object();
		made = json_object_array_length(p->nodes) + 1;
		add_n(o, "node", made);
		add_n(o, "parent", number);
		add_n(o, "depth", depth);
		figures_line_json(o, t->node[c].line, t->options.same == LINE_LINE);
		add_n(o, "sites", t->node[c].sites);
		add(o, "inclusive", values_json(t, c, false));
		add(o, "exclusive", values_json(t, c, true));
		json_object_array_add(p->nodes, o);
		add_below(p, c, made, depth + 1);
	}
}

static json *tree_json(struct printer *p)
{
	json *o = json_object_new_object();

	p->nodes = json_object_new_array();
	p->hidden = 0;
	add_below(p, 0, 0, 1);
	add(o, "total", values_json(p->tree, 0, false));
	add(o, "nodes", p->nodes);
	add_n(o, "nodes_hidden", p->hidden);
	return o;
}

/* ---- trees ---- */

static int make(struct calltree *t, struct profile *p, const struct tree_view *v,
		enum calltree_direction direction, struct error *err)
{
	struct calltree_options o = { .same = v->same, .value = { v->value }, .values = 1 };
	int k;

	for (k = 0; k < VALUE_COUNT; k++)
		if (k != (int)v->value)
			o.value[o.values++] = (enum profile_value)k;
	return calltree_make(t, p, &o, direction, v->function, err);
}

/* A name of the profile that is nearly the one that was asked for; NULL. */
static const char *nearest_function(struct profile *p, const char *wanted)
{
	struct calltree_path path = { .line = NULL };
	struct line_keys names = { .same = LINE_FUNCTION };
	unsigned best = nearest_limit(wanted), n;
	const char *found = NULL, *name;
	size_t i, k;
	uint32_t id, seen = 0;

	for (i = 0; i < p->count && calltree_path_of(&path, p, i); i++)
		for (k = 0; k < path.count; k++) {
			id = line_keys_id(&names, path.line[k]);
			if (id <= seen)
				continue;
			seen = id;
			name = path.line[k]->function;
			n = strstr(name, wanted) ? 0 : nearest_distance(wanted, name);
			if (n < best) {
				best = n;
				found = name;
			}
		}
	free(path.line);
	line_keys_release(&names);
	return found;
}

static int no_such_function(struct profile *p, const char *function, struct error *err)
{
	const char *near = nearest_function(p, function);

	if (near)
		return fail(err, -ENOENT,
			    "no stack in '%s' goes through '%.200s'; did you mean '%.200s'?",
			    p->path, function, near);
	return fail(err, -ENOENT, "no stack in '%s' goes through '%.200s'", p->path, function);
}

static uint64_t total_of(struct profile *p, const struct tree_view *v)
{
	return profile_value_total(p, v->value);
}

static void heading(const struct printer *p, const char *what, const struct profile *profile)
{
	fprintf(p->out, "%s, by %s: %s in %s.\n\n", what, profile_value_name(p->view->value),
		figures_text(p->view->value, p->total).s,
		text_many(profile->count, "call stack", "call stacks").s);
}

static int one_tree(struct profile *p, const struct tree_view *v, FILE *out, struct error *err)
{
	struct calltree t;
	struct printer printer = {
		.tree = &t,
		.view = v,
		.out = out,
		.total = total_of(p, v),
		.calls = v->value != VALUE_CALLS,
	};
	int ret = make(&t, p, v, v->direction, err);

	if (!ret) {
		heading(&printer,
			v->direction == CALLTREE_TOP_DOWN
			    ? "From the outermost caller inward"
			    : "From the function that asked outward to its callers",
			p);
		print_tree(&printer);
	}
	calltree_release(&t);
	return ret;
}

static int both_trees(struct profile *p, const struct tree_view *v, FILE *out, struct error *err)
{
	struct calltree callers, callees;
	struct printer up = {
		.tree = &callers,
		.view = v,
		.out = out,
		.total = total_of(p, v),
		.calls = v->value != VALUE_CALLS,
	};
	struct printer down = up;
	int ret = make(&callers, p, v, CALLTREE_CALLERS, err);
	int ret2 = make(&callees, p, v, CALLTREE_CALLEES, err);

	down.tree = &callees;
	ret = ret ? ret : ret2;
	if (!ret && !callers.node[0].sites)
		ret = no_such_function(p, v->function, err);
	if (!ret) {
		fprintf(out, "Who calls '%s', outward; %s of the %s goes through it:\n\n",
			v->function, text_percent(calltree_inclusive(&callers, 0, 0), up.total).s,
			profile_value_name(v->value));
		print_tree(&up);
		fputs("\nWhat it calls that asks for memory, inward:\n\n", out);
		print_tree(&down);
	}
	calltree_release(&callers);
	calltree_release(&callees);
	return ret;
}

int tree_view_text(struct profile *p, const struct tree_view *v, FILE *out, struct error *err)
{
	return v->direction == CALLTREE_CALLERS ? both_trees(p, v, out, err)
						: one_tree(p, v, out, err);
}

json *tree_view_json(struct profile *p, const struct tree_view *v, struct error *err)
{
	struct calltree t, callees;
	struct printer printer = { .tree = &t, .view = v, .total = total_of(p, v) };
	int ret = make(&t, p, v, v->direction, err);
	json *o = NULL;

	if (!ret && v->direction == CALLTREE_CALLERS && !t.node[0].sites)
		ret = no_such_function(p, v->function, err);
	if (!ret)
		o = tree_json(&printer);
	calltree_release(&t);
	if (!o || v->direction != CALLTREE_CALLERS)
		return o;
	/* Both directions: objects of their own. */
	printer.tree = &callees;
	if (make(&callees, p, v, CALLTREE_CALLEES, err) < 0) {
		json_object_put(o);
		o = NULL;
	} else {
		json *both = json_object_new_object();

		add_s(both, "function", v->function);
		add(both, "callers", o);
		add(both, "callees", tree_json(&printer));
		o = both;
	}
	calltree_release(&callees);
	return o;
}
