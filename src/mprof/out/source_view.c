// SPDX-License-Identifier: LGPL-3.0-or-later
/* source_view.c - source files with figures in the margin. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../pass/sources.h"
#include "figures.h"
#include "source_text.h"
#include "tree_view.h"

#define AROUND 3 /* lines shown before and behind one with figures */

struct margin {
	const struct source_view *view;
	const struct profile *profile;
	const struct sources *sources;
	FILE *out;
	bool calls; /* a column of its own */
};

static void put_figure(FILE *out, struct text t, bool any)
{
	fprintf(out, " %11s", any ? t.s : "");
}

static void put_margin(const struct margin *m, const struct source_line *l, uint64_t number)
{
	const enum profile_value v = m->view->value;

	put_figure(m->out, figures_text(v, l ? l->exclusive[v] : 0), l && l->exclusive[v]);
	put_figure(m->out, figures_text(v, l ? l->inclusive[v] : 0), l && l->inclusive[v]);
	if (m->calls)
		put_figure(m->out, text_count(l ? l->inclusive[VALUE_CALLS] : 0),
			   l && l->inclusive[VALUE_CALLS]);
	if (number)
		fprintf(m->out, " %6" PRIu64 "  ", number);
	else
		fprintf(m->out, " %6s  ", "?");
}

/* Tabs stay; other control characters of a file are not for a terminal. */
static void put_source(FILE *out, const char *s)
{
	for (; *s; s++)
		fputc((*s > 0 && *s < ' ' && *s != '\t') || *s == 0x7f ? '?' : *s, out);
	fputc('\n', out);
}

static void put_titles(const struct margin *m)
{
	fprintf(m->out, " %11s %11s", "of its own", profile_value_name(m->view->value));
	if (m->calls)
		fprintf(m->out, " %11s", "calls");
	fprintf(m->out, " %6s  \n", "line");
}

/* Without its source: what is known of the lines. */
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

	if (m->view->all)
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
		put_source(m->out, s->line[n - 1]);
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

static int put_file(const struct margin *m, const struct source_file *f)
{
	const enum profile_value v = m->view->value;
	const uint64_t total = profile_value_total(m->profile, v);
	struct source_text s;
	int ret = source_text_read(&s, f->path, m->view->dir);

	if (ret < 0)
		return ret;
	fprintf(m->out, "%s: %s of the %s (%s)", f->path, text_percent(f->inclusive[v], total).s,
		profile_value_name(v), figures_text(v, f->inclusive[v]).s);
	fprintf(m->out, " goes through it, %s of it asked for here.\n",
		figures_text(v, f->exclusive[v]).s);
	if (!s.found)
		fprintf(m->out, "Its source is not here (%s); --source-dir says where.\n", s.why);
	else if (is_newer(m->profile, &s))
		fprintf(m->out,
			"%s was changed after the trace was made: lines may not be the same.\n",
			s.found);
	fputc('\n', m->out);
	put_titles(m);
	if (s.found)
		put_text(m, f, &s);
	else
		put_lines_alone(m, f);
	source_text_release(&s);
	return 0;
}

static int no_such_file(struct profile *p, const struct source_view *v, struct error *err)
{
	struct sources all;
	int ret = sources_make(&all, p, NULL, v->value, err);

	if (!ret && all.files)
		ret = fail(err, -ENOENT,
			   "no stack in '%s' goes through a source file '%.200s'; most go through"
			   " '%.200s'",
			   p->path, v->file, all.file[0].path);
	else if (!ret)
		ret = fail(err, -ENOENT,
			   "no source file is known for any stack in '%s': its programs were built"
			   " without -g, or their debug files are not here",
			   p->path);
	sources_release(&all);
	return ret;
}

int source_view_text(struct profile *p, const struct source_view *v, FILE *out, struct error *err)
{
	struct sources sources;
	const struct margin m = { v, p, &sources, out, v->value != VALUE_CALLS };
	int ret = sources_make(&sources, p, v->file, v->value, err);
	size_t i;

	if (!ret && !sources.files)
		ret = no_such_file(p, v, err);
	for (i = 0; i < sources.files && !ret; i++) {
		if (i)
			fputc('\n', out);
		ret = put_file(&m, &sources.file[i]);
		if (ret < 0)
			fail(err, ret, "no memory for the source '%s'", sources.file[i].path);
	}
	sources_release(&sources);
	return ret;
}

/* ---- JSON ---- */

static json *line_json(const struct source_line *l, const struct source_text *s)
{
	json *o = json_object_new_object();

	add_n(o, "line", l->line);
	add_s(o, "function", l->example->function);
	if (l->line && l->line <= s->lines)
		add_s(o, "source", s->line[l->line - 1]);
	else
		add(o, "source", NULL);
	add_n(o, "sites", l->sites);
	add(o, "inclusive", figures_json(l->inclusive));
	add(o, "exclusive", figures_json(l->exclusive));
	return o;
}

static json *file_json(const struct margin *m, const struct source_file *f)
{
	json *o = json_object_new_object(), *lines = json_object_new_array();
	struct source_text s;
	size_t i;

	source_text_read(&s, f->path, m->view->dir);
	add_s(o, "file", f->path);
	if (s.found)
		add_s(o, "source_file", s.found);
	else
		add(o, "source_file", NULL);
	add_b(o, "source_is_newer", is_newer(m->profile, &s));
	add(o, "inclusive", figures_json(f->inclusive));
	add(o, "exclusive", figures_json(f->exclusive));
	for (i = f->first; i < f->first + f->count; i++)
		json_object_array_add(lines, line_json(&m->sources->line[i], &s));
	add(o, "lines", lines);
	source_text_release(&s);
	return o;
}

json *source_view_json(struct profile *p, const struct source_view *v, struct error *err)
{
	struct sources sources;
	const struct margin m = { .view = v, .profile = p, .sources = &sources };
	int ret = sources_make(&sources, p, v->file, v->value, err);
	json *files = NULL;
	size_t i;

	if (!ret && !sources.files)
		ret = no_such_file(p, v, err);
	if (!ret)
		files = json_object_new_array();
	for (i = 0; i < sources.files && files; i++)
		json_object_array_add(files, file_json(&m, &sources.file[i]));
	sources_release(&sources);
	return files;
}
