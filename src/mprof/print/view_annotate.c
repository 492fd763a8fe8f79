// SPDX-License-Identifier: LGPL-3.0-or-later
/* view_annotate.c - the view annotate FILE: source lines with figures in the margin. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../profile/sources.h"
#include "../util/columns.h"
#include "../util/terminal.h"
#include "../util/utf8.h"
#include "figures.h"
#include "json_rows.h"
#include "source_text.h"
#include "views.h"

#define AROUND	     3 /* lines shown before and after one with figures */
#define TAB	     8
#define FIGURE_LEAST 6u
#define NUMBER_WIDE  9u /* columns of a line's number */

struct margin {
	const struct view_request *request;
	const struct profile *profile;
	const struct sources *sources;
	FILE *out;
	bool calls;	/* calls have a separate column */
	size_t figure;	/* columns of a figure */
	size_t columns; /* before the source */
};

static void put_figure(const struct margin *m, struct text t, bool any)
{
	fprintf(m->out, " %*s", (int)m->figure, any ? t.s : "");
}

/* Measures the width of the figures of all lines. */
static void measure(struct margin *m)
{
	const enum profile_value v = m->request->sort;
	size_t most = strlen(profile_value_name(v)), i, k, n;

	for (i = 0; i < m->sources->files; i++) {
		const struct source_file *f = &m->sources->file[i];

		for (k = f->first; k < f->first + f->count; k++) {
			const struct source_line *l = &m->sources->line[k];

			n = strlen(figures_text(v, l->inclusive[v]).s);
			most = n > most ? n : most;
			n = strlen(figures_text(v, l->exclusive[v]).s);
			most = n > most ? n : most;
			n = strlen(format_count(l->inclusive[VALUE_CALLS]).s);
			most = n > most ? n : most;
		}
	}
	m->figure = most > FIGURE_LEAST ? most : FIGURE_LEAST;
	m->columns = (m->calls ? 3 : 2) * (m->figure + 1) + NUMBER_WIDE;
}

static void put_margin(const struct margin *m, const struct source_line *l, uint64_t number)
{
	const enum profile_value v = m->request->sort;

	put_figure(m, figures_text(v, l ? l->exclusive[v] : 0), l && l->exclusive[v]);
	put_figure(m, figures_text(v, l ? l->inclusive[v] : 0), l && l->inclusive[v]);
	if (m->calls)
		put_figure(m, format_count(l ? l->inclusive[VALUE_CALLS] : 0),
			   l && l->inclusive[VALUE_CALLS]);
	if (number)
		fprintf(m->out, " %6" PRIu64 "  ", number);
	else
		fprintf(m->out, " %6s  ", "?");
}

/* Returns s with blanks for tabs and without control characters. */
static char *readable(const char *s)
{
	char *text = NULL;
	unsigned column = 0;
	size_t n;
	FILE *to = must_memstream(&text, &n);

	for (; *s; s++) {
		if (*s == '\t') {
			do
				fputc(' ', to);
			while (++column % TAB);
			continue;
		}
		fputc((*s > 0 && *s < ' ') || *s == 0x7f ? '?' : *s, to);
		column += !utf8_continues(*s);
	}
	must_close(to, &text);
	return text;
}

/* Puts as much of the line as fits on the screen. */
static void put_source(const struct margin *m, const char *s)
{
	const size_t most = terminal_width() > m->columns + FIGURE_LEAST
				? terminal_width() - m->columns
				: FIGURE_LEAST;
	char *text = readable(s);
	size_t n = strlen(text);

	if (columns_of(text, n) <= most) {
		fprintf(m->out, "%s\n", text);
	} else {
		while (n && columns_of(text, n) + columns_ellipsis() > most)
			for (n--; n && utf8_continues(text[n]); n--)
				;
		fprintf(m->out, "%.*s%s\n", (int)n, text, terminal_ellipsis());
	}
	free(text);
}

static void put_titles(const struct margin *m)
{
	const int figure = (int)m->figure;

	fprintf(m->out, " %*s %*s", figure, "self", figure, profile_value_name(m->request->sort));
	if (m->calls)
		fprintf(m->out, " %*s", figure, "calls");
	fprintf(m->out, " %6s  \n", "line");
}

/* Puts only the lines with figures, if the source text is unknown. */
static void put_lines_alone(const struct margin *m, const struct source_file *f)
{
	size_t i;

	for (i = f->first; i < f->first + f->count; i++) {
		put_margin(m, &m->sources->line[i], m->sources->line[i].line);
		figures_line(m->out, m->sources->line[i].example, false);
		fputc('\n', m->out);
	}
}

static bool is_near(const struct margin *m, const struct source_file *f, size_t at, uint64_t number)
{
	const struct source_line *l = m->sources->line;

	if (!m->request->top)
		return true;
	if (at > f->first && l[at - 1].line && number <= l[at - 1].line + AROUND)
		return true;
	return at < f->first + f->count && number + AROUND >= l[at].line;
}

static void put_text(const struct margin *m, const struct source_file *f,
		     const struct source_text *s)
{
	const struct source_line *l = m->sources->line, *here;
	size_t at = f->first, end = f->first + f->count;
	bool gap = false;
	uint64_t n;

	for (; at < end && !l[at].line; at++) {
		put_margin(m, &l[at], 0);
		figures_line(m->out, l[at].example, false);
		fputc('\n', m->out);
	}
	for (n = 1; n <= s->lines; n++) {
		if (!is_near(m, f, at, n)) {
			gap = true;
			continue;
		}
		if (gap)
			fputs("   ...\n", m->out);
		gap = false;
		here = at < end && l[at].line == n ? &l[at++] : NULL;
		put_margin(m, here, n);
		put_source(m, s->line[n - 1]);
	}
	for (; at < end; at++) {
		put_margin(m, &l[at], l[at].line);
		fputs("(the file has no such line now)\n", m->out);
	}
}

static bool is_newer(const struct profile *p, const struct source_text *s)
{
	return s->found && p->header && s->change_ns > p->header->start_real_ns;
}

static void put_file(const struct margin *m, const struct source_file *f)
{
	const enum profile_value v = m->request->sort;
	const uint64_t total = profile_value_total(m->profile, v);
	const char *remark;
	struct source_text s;

	source_text_read(&s, f->path, m->request->source);
	remark = source_remark(f->path, s.lines && strstr(s.line[0], "Generated by Cython"));
	figures_name(m->out, f->path);
	fprintf(m->out, ": its share of %s is %s (%s)", profile_value_name(v),
		format_percent(f->inclusive[v], total).s, figures_text(v, f->inclusive[v]).s);
	fprintf(m->out, ", of which %s in its own lines.\n", figures_text(v, f->exclusive[v]).s);
	if (!s.found && *f->path == '<')
		fputs("It is the text of no file.\n", m->out);
	else if (!s.found && !remark)
		fprintf(m->out, "Its source was not found (%s); set --source-dir.\n", s.why);
	else if (is_newer(m->profile, &s))
		fprintf(m->out, "%s was changed after the trace was made: lines may differ.\n",
			s.found);
	if (remark)
		fprintf(m->out, "It %s\n", remark);
	fputc('\n', m->out);
	put_titles(m);
	if (s.found)
		put_text(m, f, &s);
	else
		put_lines_alone(m, f);
	source_text_release(&s);
}

/* Returns the file in which most was requested. */
static const char *busiest(const struct sources *s, enum profile_value v)
{
	size_t i, best = 0;

	for (i = 1; i < s->files; i++)
		if (s->file[i].exclusive[v] > s->file[best].exclusive[v])
			best = i;
	return s->file[best].path;
}

static int no_such_file(const struct view_request *r, struct error *err)
{
	struct sources all;
	int ret;

	sources_make(&all, r->profile, NULL, r->sort);
	if (all.files)
		ret = fail(err, -EINVAL,
			   "no stack in '%s' goes through a source file '%.200s'; most is requested"
			   " in '%.200s'",
			   r->profile->path, r->arg, busiest(&all, r->sort));
	else
		ret = fail(err, -EINVAL,
			   "no source file is known for any stack in '%s': its programs were built"
			   " without -g, or their debug files are not here",
			   r->profile->path);
	sources_release(&all);
	return ret;
}

static void release(void *own)
{
	sources_release(own);
}

static int make(struct view_request *r, struct error *err)
{
	struct sources *s = r->own;

	sources_make(s, r->profile, r->arg, r->sort);
	/* Without any call, no file is expected. */
	return s->files || !r->profile->total.calls ? 0 : no_such_file(r, err);
}

static void text(struct view_request *r, FILE *out)
{
	struct sources *s = r->own;
	struct margin m = { r, r->profile, s, out, r->sort != VALUE_CALLS, 0, 0 };
	size_t i;

	r->notes_unnamed = true; /* source lines are there: nothing lacks a name */
	measure(&m);
	for (i = 0; i < s->files; i++) {
		if (i)
			fputc('\n', out);
		put_file(&m, &s->file[i]);
	}
}

/* ---- JSON ---- */

#include "../json/annotate.def"

static json *file_json(struct view_request *r, size_t at)
{
	const struct sources *all = r->own;
	const struct source_file *f = &all->file[at];
	struct source_text s;
	json *o;

	source_text_read(&s, f->path, r->source);
	o = JSON_NEW(source_file, r, f, &s, all->line);
	source_text_release(&s);
	return o;
}

static void members(struct view_request *r, json *o)
{
	annotate_view_fields(o, r);
}

static size_t files(const struct view_request *r)
{
	return ((const struct sources *)r->own)->files;
}

const struct view_ops view_annotate = {
	.sort = VALUE_PEAK,
	.by = PROFILE_BY_FUNCTION,
	.rows = true,
	.totals = true,
	.own = sizeof(struct sources),
	.make = make,
	.text = text,
	.json = members,
	.json_row = file_json,
	.json_rows = files,
	.release = release,
};
