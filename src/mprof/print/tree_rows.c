// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * tree_rows.c - a call tree as the rows of an answer.
 *
 * In text an only child with the figures of its parent shares its row: only the
 * name is printed, below it, without figures and without more indentation.
 */
#include "tree_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/columns.h"
#include "../util/styled.h"
#include "../util/terminal.h"
#include "figures.h"
#include "json_rows.h"

/* The least columns of a name, however deep it is; for a screen of less than 80 columns. */
#define NAME_LEAST   28u
#define NARROW_LEAST 16u

static const enum line_same same_of[PROFILE_BY_COUNT] = {
	[PROFILE_BY_STACK] = LINE_LINE,	   [PROFILE_BY_FUNCTION] = LINE_FUNCTION,
	[PROFILE_BY_LINE] = LINE_LINE,	   [PROFILE_BY_FILE] = LINE_FILE,
	[PROFILE_BY_MODULE] = LINE_MODULE,
};

int tree_rows_by(struct view_request *r, struct error *err)
{
	if (!profile_by_part(r->by))
		return 0;
	return fail(err, -EINVAL, "a tree is by function, line, file or module, not by %s",
		    profile_by_name(r->by));
}

/* ---- which nodes ---- */

static bool is_shown(const struct tree_rows *t, uint32_t node, unsigned depth)
{
	uint64_t v = calltree_inclusive(&t->tree, node, 0);
	/* All, or what the function that was asked for has of it. */
	const uint64_t whole = calltree_inclusive(&t->tree, 0, 0);

	if (t->depth && depth > t->depth)
		return false;
	return !(t->min_percent > 0) || (v && (double)v * 100 >= t->min_percent * (double)whole);
}

/*
 * Returns the node after a subtree, within top; 0 at the end. Trees may be as deep as stacks, so
 * nothing here recurses.
 */
static uint32_t next_behind(const struct calltree_node *n, uint32_t at, uint32_t top)
{
	while (at != top && !n[at].sibling)
		at = n[at].parent;
	return at == top ? 0 : n[at].sibling;
}

static uint64_t count_below(const struct calltree *t, uint32_t node)
{
	uint64_t n = 1;
	uint32_t at = t->node[node].child;

	while (at) {
		n++;
		at = t->node[at].child ? t->node[at].child : next_behind(t->node, at, node);
	}
	return n;
}

/* Does a child have the same figures as its parent? */
static bool same_figures(const struct calltree *t, uint32_t parent, uint32_t child)
{
	size_t i;

	for (i = 0; i < t->options.values; i++)
		if (calltree_inclusive(t, parent, i) != calltree_inclusive(t, child, i) ||
		    calltree_exclusive(t, child, i))
			return false;
	return true;
}

static void add_row(struct tree_rows *t, const struct tree_row *row)
{
	GROW(t->row, t->count + 1, t->room);
	t->row[t->count++] = *row;
}

/* Returns the row of a node below the row `above`. */
static struct tree_row row_of(const struct tree_rows *t, uint32_t node, uint32_t above)
{
	const struct tree_row *parent = above ? &t->row[above - 1] : NULL;
	const struct calltree_node *n = t->tree.node;
	struct tree_row row = { .node = node, .above = above, .depth = 1 };

	if (!parent)
		return row;
	row.depth = parent->depth + 1;
	row.same = !n[node].sibling && n[parent->node].child == node &&
		   same_figures(&t->tree, parent->node, node);
	row.indent = row.same ? parent->indent : parent->indent + 2;
	return row;
}

static void add_rows(struct tree_rows *t)
{
	const struct calltree_node *n = t->tree.node;
	uint32_t at = n[0].child, above = 0;

	while (at) {
		const struct tree_row row = row_of(t, at, above);
		const bool shown = is_shown(t, at, row.depth);

		if (shown)
			add_row(t, &row);
		else
			t->hidden += count_below(&t->tree, at);
		if (shown && n[at].child) {
			above = (uint32_t)t->count;
			at = n[at].child;
			continue;
		}
		for (; at && !n[at].sibling; at = n[at].parent)
			above = above ? t->row[above - 1].above : 0;
		at = at ? n[at].sibling : 0;
	}
}

void tree_rows_make(struct tree_rows *t, const struct view_request *r,
		    enum calltree_direction direction, const char *function)
{
	struct calltree_options o = { .same = same_of[r->by], .value = { r->sort }, .values = 1 };
	int k;

	for (k = 0; k < VALUE_COUNT; k++)
		if (k != (int)r->sort)
			o.value[o.values++] = (enum profile_value)k;
	calltree_make(&t->tree, r->profile, &o, direction, function);
	t->value = r->sort;
	t->min_percent = r->min_percent;
	t->depth = r->depth;
	t->total = profile_value_total(r->profile, r->sort);
	add_rows(t);
}

void tree_rows_release(struct tree_rows *t)
{
	calltree_release(&t->tree);
	free(t->row);
	*t = (struct tree_rows){ .row = NULL };
}

/* ---- text ---- */

/* Returns the name of a row, without its file if both do not fit. */
static char *name_of(const struct tree_rows *t, const struct sym_line *line, bool with_file)
{
	char *name = NULL;
	size_t n;
	FILE *out = must_memstream(&name, &n);

	switch (t->tree.options.same) {
	case LINE_MODULE:
		figures_name(out, line->module);
		break;
	case LINE_FILE:
		figures_name(out, *line->file ? sym_file(line) : line->module);
		break;
	default:
		if (with_file)
			figures_line(out, line, t->tree.options.same == LINE_LINE);
		else
			figures_name(out, line->function);
		break;
	}
	must_close(out, &name);
	return name;
}

/* The cells of a row before its name: share, value, self, calls. */
#define CELLS 4u

struct cells {
	struct text cell[CELLS];
};

static size_t cells_of(const struct tree_rows *t)
{
	return t->value != VALUE_CALLS ? CELLS : CELLS - 1;
}

static void fill_cells(const struct tree_rows *t, const struct tree_row *row, struct cells *c)
{
	const uint64_t in = calltree_inclusive(&t->tree, row->node, 0);
	const uint64_t own = calltree_exclusive(&t->tree, row->node, 0);

	*c = (struct cells){ .cell = { { "" } } };
	if (row->same)
		return;
	c->cell[0] = format_percent(in, t->total);
	c->cell[1] = figures_text(t->value, in);
	if (own)
		c->cell[2] = figures_text(t->value, own);
	if (cells_of(t) == CELLS)
		c->cell[3] = format_count(calltree_inclusive(&t->tree, row->node, 1));
}

/* Returns the columns that they take. */
static size_t put_cells(const struct cells *c, const size_t *width, size_t n, FILE *out)
{
	size_t columns = 0, i;

	for (i = 0; i < n; i++) {
		fprintf(out, "  %*s", (int)width[i], c->cell[i].s);
		columns += 2 + width[i];
	}
	return columns;
}

/* Puts a row.  At the edge of the screen indentation stops; +N means N more levels. */
static void put_row(const struct tree_rows *t, const struct tree_row *row, const size_t *width,
		    FILE *out)
{
	const size_t least = terminal_width() < TERMINAL_WIDTH ? NARROW_LEAST : NAME_LEAST;
	const struct sym_line *line = t->tree.node[row->node].line;
	char *name = name_of(t, line, true), *fits;
	size_t used, room, margin;
	struct cells c;

	fill_cells(t, row, &c);
	used = put_cells(&c, width, cells_of(t), out) + 2;
	room = terminal_width() > used + least ? terminal_width() - used : least;
	margin = row->indent < room - least ? row->indent : (room - least) & ~1ul;
	fprintf(out, "  %*s", (int)margin, "");
	room -= margin;
	if (margin < row->indent)
		room -= (size_t)fprintf(out, "+%zu ", (row->indent - margin) / 2);
	if (columns_of(name, strlen(name)) > room) {
		free(name);
		name = name_of(t, line, false);
	}
	fits = must_malloc(strlen(name) + 4);
	columns_elide(fits, name, room);
	fprintf(out, "%s\n", fits);
	free(fits);
	free(name);
}

void tree_rows_text(const struct tree_rows *t, struct view_request *r, FILE *out)
{
	static const char *const what[] = { "function", "function (file:line)", "file", "module" };
	struct cells title = { { { "share" }, { "" }, { "self" }, { "calls" } } }, c;
	size_t width[CELLS], i, k, n;

	snprintf(title.cell[1].s, sizeof(title.cell[1].s), "%s", profile_value_name(t->value));
	for (k = 0; k < CELLS; k++)
		width[k] = strlen(title.cell[k].s);
	for (i = 0; i < t->count; i++) {
		fill_cells(t, &t->row[i], &c);
		for (k = 0; k < CELLS; k++) {
			n = strlen(c.cell[k].s);
			width[k] = n > width[k] ? n : width[k];
		}
	}
	terminal_style(out, STYLE_HEADING);
	put_cells(&title, width, cells_of(t), out);
	fprintf(out, "  %s\n", what[t->tree.options.same]);
	terminal_style(out, STYLE_PLAIN);
	r->notes_unnamed = true;
	for (i = 0; i < t->count; i++) {
		put_row(t, &t->row[i], width, out);
		view_note_name(r, t->tree.node[t->row[i].node].line);
	}
	if (t->hidden)
		fprintf(
		    out, "  %s not shown; --min-percent 0 shows all.\n",
		    format_many(t->hidden, "smaller or deeper row is", "smaller or deeper rows are")
			.s);
}

/* ---- JSON ---- */

struct values {
	uint64_t v[VALUE_COUNT];
};

static struct values values_of(const struct calltree *t, uint32_t node, bool exclusive)
{
	struct values values;
	size_t i;

	for (i = 0; i < t->options.values; i++)
		values.v[t->options.value[i]] =
		    exclusive ? calltree_exclusive(t, node, i) : calltree_inclusive(t, node, i);
	return values;
}

#include "../json/tree.def"

json *tree_rows_json(const struct tree_rows *t, size_t i)
{
	return JSON_NEW(node, t, i);
}
