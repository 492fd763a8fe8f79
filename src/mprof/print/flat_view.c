// SPDX-License-Identifier: LGPL-3.0-or-later
/* flat_view.c - views that are a list, as text. */
#include "flat_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../pass/thread_title.h"
#include "../profile/paths.h"
#include "../util/terminal.h"
#include "paragraph.h"
#include "print_table.h"
#include "report.h"

#define DEPTH	  24u	/* lines of a path that are shown without --depth */
#define TAIL	  1000u /* rows_before_tail() */
#define TAIL_FROM 5u	/* rows that are shown in any case */

/* Returns a figure with its unit: "1.5 MiB", "3 calls", "20 ms". */
static struct text flat_value(uint64_t n, enum profile_value value)
{
	if (*profile_value_unit(value) == 'c')
		return format_many(n, "call", "calls");
	return figures_text(value, n);
}

const char *flat_none_live(const struct site_snapshot *at)
{
	return at->calls ? "No block that passes the filters was live then."
			 : "No block was live then.";
}

struct text flat_moment(int64_t ns)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%.40s after the start", format_since(ns).s);
	return t;
}

size_t flat_view_rows(const struct view_request *r, size_t *more)
{
	const struct profile *p = r->profile;
	size_t i, n = 0;

	for (i = 0; i < p->groups; i++)
		n += profile_group_has(&p->group[i], r->sort);
	if (more)
		*more = r->top && n > r->top ? n - r->top : 0;
	return view_shown(r, n);
}

/* ---- paths ---- */

static void print_line(const struct sym_line *line, size_t times, const struct sym_line *through,
		       enum style style, FILE *out)
{
	const struct paragraph_form form = {
		.first = "        ",
		.indent = 10,
		.width = terminal_width(),
	};
	char *where = figures_line_text(line, true), *what = NULL;
	struct paragraph p = { 0 };

	paragraph_add_styled(&p, style, "%s", where ? where : "");
	if (times > 1)
		paragraph_add(&p, ", %s times", format_count(times).s);
	if (through) {
		what = figures_line_text(through, false);
		paragraph_add(&p, ", through %s", what ? what : "");
	}
	paragraph_print(&p, &form, out);
	paragraph_release(&p);
	free(where);
	free(what);
}

/* Prints the allocating line first, then the calls inside it; a line that calls itself is shown
 * once. */
static void print_path(struct view_request *r, const struct profile_path *path,
		       const struct sym_line *through, FILE *out)
{
	const size_t depth = r->depth ? r->depth : DEPTH;
	const size_t outer = r->options->wrappers ? 0 : paths_start_lines(path->line, path->count);
	size_t i = path->count, first, shown = 0;

	if (!i && !path->truncated)
		fputs("        (no call stack)\n", out);
	while (i > outer && shown++ < depth) {
		first = i--;
		while (i > outer && figures_same_place(path->line[i - 1], path->line[first - 1]))
			i--;
		view_note_name(r, path->line[first - 1]);
		print_line(path->line[first - 1], first - i, first == path->count ? through : NULL,
			   first == path->count ? STYLE_PLACE : STYLE_PLAIN, out);
	}
	if (i > outer)
		fprintf(out, "        ... and %s\n", format_many(i - outer, "caller", "callers").s);
	else if (path->truncated)
		fputs("        ... and unknown callers\n", out);
}

/* Prints the heading above row i, if it differs from the last row's. */
static void print_heading(const struct flat_view *f, const struct view_request *r, size_t i,
			  FILE *out)
{
	const struct profile_group *g = &r->profile->group[i];
	const char *now = f->heading ? f->heading(r, g) : NULL;

	if (now && (!i || strcmp(now, f->heading(r, g - 1)))) {
		fputc('\n', out);
		report_title(now, out);
	}
}

/* Prints the rest of a row's first line, after this many columns. */
static void print_about(const struct flat_view *f, const struct view_request *r,
			const struct profile_group *g, unsigned columns, FILE *out)
{
	const struct paragraph_form form = {
		.first = "  ",
		.indent = 8,
		.width = terminal_width() - columns,
	};
	const uint64_t n = profile_group_value(g, r->sort);
	const struct text range = figures_range(g->v, r->sort, n);
	struct paragraph p = { 0 };

	if (r->profile->sites.totals.estimated && strcmp(range.s, figures_text(r->sort, n).s) != 0)
		paragraph_add(&p, "(%s)  ", range.s);
	if (f->about)
		paragraph_add(&p, "%s", f->about(r, g).s);
	if (g->stack)
		paragraph_add_styled(&p, STYLE_FAINT, "%s[stack:%" PRIu32 "]", p.n ? "  " : "",
				     g->stack);
	if (p.n)
		paragraph_print(&p, &form, out);
	else
		fputc('\n', out);
	paragraph_release(&p);
}

static void print_stacks(const struct flat_view *f, struct view_request *r, size_t rows, FILE *out)
{
	struct profile *p = r->profile;
	const uint64_t total = profile_value_total(p, r->sort);
	size_t i;

	for (i = 0; i < rows; i++) {
		const struct profile_group *g = &p->group[i];
		const uint64_t n = profile_group_value(g, r->sort);
		const struct sym_line *through = profile_group_through(p, g);
		const struct profile_path *path = profile_path_once(p, g->stack);
		int columns;

		print_heading(f, r, i, out);
		fputc('\n', out);
		terminal_style(out, STYLE_HEADING);
		columns = fprintf(out, "  %10s  %5s", flat_value(n, r->sort).s,
				  format_percent(n, total).s);
		terminal_style(out, STYLE_PLAIN);
		print_about(f, r, g, columns > 0 ? (unsigned)columns : 0, out);
		print_path(r, path, through, out);
	}
}

/* ---- tables ---- */

static struct long_text process_name(const struct profile *p, uint64_t number)
{
	const struct tree_process *t = tree_find(&p->tree, (uint32_t)number);
	struct long_text name;

	snprintf(name.s, sizeof(name.s), "process %" PRIu64 "%s%.80s", number,
		 t && t->images ? ", " : "", t && t->images ? text_process(t, 80).s : "");
	return name;
}

/* Returns the name of a row of a table, a new string. */
static char *name_of(const struct profile *p, const struct profile_group *g)
{
	const struct sym_line *line = g->line;
	struct sym_line part = { .file = "", .raw = "" };
	struct long_text t;

	if (p->by == PROFILE_BY_THREAD)
		snprintf(
		    t.s, sizeof(t.s), "thread %s",
		    thread_title(trace_thread_name(p->trace, (uint32_t)g->part), (uint32_t)g->part)
			.s);
	else if (p->by == PROFILE_BY_PROCESS)
		t = process_name(p, g->part);
	else if (p->by == PROFILE_BY_RANK && g->part == PROFILE_NO_RANK)
		snprintf(t.s, sizeof(t.s), "(no rank)");
	else if (p->by == PROFILE_BY_RANK)
		snprintf(t.s, sizeof(t.s), "rank %" PRIu64, g->part);
	else if (p->by == PROFILE_BY_SIZE && p->sites.totals.read && g->part)
		snprintf(t.s, sizeof(t.s), "%.40s to %.80s", format_count(g->part).s,
			 format_exact(2 * g->part - 1).s);
	else if (p->by == PROFILE_BY_SIZE)
		t = format_exact(g->part);
	else if (line && (p->by == PROFILE_BY_FUNCTION || p->by == PROFILE_BY_LINE))
		return figures_line_text(line, p->by == PROFILE_BY_LINE);
	else if (!line)
		snprintf(t.s, sizeof(t.s), "(no call stack)");
	if (!line)
		return must_strdup(t.s);
	part.function = p->by == PROFILE_BY_FILE && *line->file ? line->file : line->module;
	return figures_line_text(&part, false);
}

static void print_table(const struct flat_view *f, struct view_request *r, size_t rows, FILE *out)
{
	struct table t = TABLE(NULL);
	struct profile *p = r->profile;
	const uint64_t total = profile_value_total(p, r->sort);
	char value[64], name[64], *what;
	size_t i, n = 0;

	snprintf(value, sizeof(value), ">%s", profile_value_name(r->sort));
	snprintf(name, sizeof(name), "<%s", profile_by_name(p->by));
	t.title[n++] = value;
	if (p->sites.totals.estimated)
		t.title[n++] = "<95 % range";
	t.title[n++] = ">share";
	if (f->cell)
		t.title[n++] = f->title;
	t.title[n++] = ">sites";
	t.title[n++] = name;
	fputc('\n', out);
	for (i = 0; i < rows; i++) {
		const struct profile_group *g = &p->group[i];
		const uint64_t v = profile_group_value(g, r->sort);

		if (g->line)
			view_note_name(r, g->line);
		table_cell(&t, "%s", figures_text(r->sort, v).s);
		if (p->sites.totals.estimated)
			table_cell(&t, "%s", figures_range(g->v, r->sort, v).s);
		table_cell(&t, "%s", format_percent(v, total).s);
		if (f->cell)
			table_cell(&t, "%s", f->cell(r, g).s);
		table_cell(&t, "%s", format_count(g->sites).s);
		what = name_of(p, g);
		table_cell(&t, "%s", what);
		free(what);
	}
	table_print(&t, out);
}

/*
 * Without --top, stacks at the end of the list that together have less than 1 / TAIL of the value
 * are left out, because each takes many lines.
 */
static size_t rows_before_tail(const struct flat_view *f, const struct view_request *r, size_t rows)
{
	const uint64_t total = profile_value_total(r->profile, r->sort);
	uint64_t sum = 0;
	size_t n = 0;

	if (r->top_said || f->heading || !total || r->profile->by != PROFILE_BY_STACK)
		return rows;
	while (n < rows && (n < TAIL_FROM || sum < total - total / TAIL))
		sum += profile_group_value(&r->profile->group[n++], r->sort);
	return n;
}

void flat_view_text(const struct flat_view *f, struct view_request *r, FILE *out)
{
	size_t more, all = flat_view_rows(r, &more), rows = rows_before_tail(f, r, all);

	r->notes_unnamed = true;
	if (!rows) {
		if (r->profile->total.calls && !f->nothing)
			return;
		fputc('\n', out);
		if (r->profile->total.calls)
			fputs(f->nothing, out);
		else
			figures_nothing(r->profile, out);
		fputc('\n', out);
		return;
	}
	if (r->profile->by == PROFILE_BY_STACK)
		print_stacks(f, r, rows, out);
	else
		print_table(f, r, rows, out);
	more += all - rows;
	if (more)
		fprintf(out, "\n  ... and %s more%s; --top 0 shows all\n", format_count(more).s,
			rows < all ? ", <0.1 % together" : "");
}
