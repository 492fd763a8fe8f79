// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * export_table.c - sites as a table, one row each, with all their figures.
 *
 * csv follows RFC 4180: lines end with CR LF; a field with a comma, a quote or a line end is
 * quoted. tsv has no quotes: a character that would end a field becomes a blank.  The first row has
 * the names of the columns.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../profile/calltree.h"
#include "../util/alloc.h"
#include "exports.h"
#include "../print/json.h"

struct rows {
	FILE *out;
	char separator;
	const char *end;
	bool quotes;
	bool first; /* this is the first field of the row */
	struct calltree_path path;
	char *text; /* of the stack */
	size_t room;
};

static void begin_field(struct rows *r)
{
	if (!r->first)
		fputc(r->separator, r->out);
	r->first = false;
}

/* Puts the rest of a field in quotes. */
static void put_quoted(struct rows *r, const char *s)
{
	int n;

	for (; *s; s += n) {
		n = utf8_at((const unsigned char *)s);
		if (*s == '"')
			fputc('"', r->out);
		if (utf8_is_control((const unsigned char *)s))
			fputc(' ', r->out);
		else if (n)
			fwrite((*s > 0 && *s < ' ') || *s == 0x7f ? " " : s, 1, (size_t)n, r->out);
		else
			fputs(UTF8_REPLACEMENT, r->out);
		n += !n;
	}
	fputc('"', r->out);
}

static void put_text(struct rows *r, const char *s)
{
	bool quotes = r->quotes && s[strcspn(s, ",\"\r\n")];

	begin_field(r);
	if (quotes)
		fputc('"', r->out);
	/* A spreadsheet takes such text for a formula unless a ' precedes it. */
	if (*s && strchr("=+-@\t\r", *s))
		fputc('\'', r->out);
	if (quotes)
		put_quoted(r, s);
	else
		export_name(r->out, s, "", ' ');
}

static void put_number(struct rows *r, uint64_t n)
{
	begin_field(r);
	fprintf(r->out, "%" PRIu64, n);
}

static void end_row(struct rows *r)
{
	fputs(r->end, r->out);
	r->first = true;
}

static void put_titles(struct rows *r)
{
	static const char *const words[] = { "site", "function", "file", "line", "module" };
	const struct export_column *c;
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		put_text(r, words[i]);
	for (c = export_columns; c->name; c++)
		put_text(r, c->name);
	put_text(r, "stack");
	end_row(r);
}

/* Returns the stack as one field, names outermost first. */
static const char *stack_of(struct rows *r)
{
	size_t need = 1, i;
	char *to;

	for (i = 0; i < r->path.count; i++)
		need += strlen(r->path.line[i]->function) + 1;
	GROW(r->text, need, r->room);
	to = r->text;
	*to = '\0';
	for (i = 0; i < r->path.count; i++) {
		if (i)
			*to++ = ';';
		to = stpcpy(to, r->path.line[i]->function);
	}
	return r->text;
}

static void put_site(struct rows *r, struct profile *p, size_t i)
{
	const struct sym_line *line;
	const struct export_column *c;
	const char *stack;

	calltree_path_of(&r->path, p, i);
	stack = stack_of(r);
	line = r->path.line[r->path.asked - 1];
	put_number(r, i + 1);
	put_text(r, line->function);
	put_text(r, line->file);
	put_number(r, line->line);
	put_text(r, line->module);
	for (c = export_columns; c->name; c++)
		if (export_knows(p, c->offset))
			put_number(r, export_figure(c, &p->site[i].v));
		else
			begin_field(r);
	put_text(r, stack);
	end_row(r);
}

static int put_table(struct export *x, struct rows r)
{
	size_t i;

	r.out = x->out;
	r.first = true;
	put_titles(&r);
	for (i = 0; i < x->profile->count; i++)
		put_site(&r, x->profile, i);
	free(r.path.line);
	free(r.text);
	return 0;
}

int export_csv(struct export *x, struct error *err)
{
	return put_table(x, (struct rows){ .separator = ',', .end = "\r\n", .quotes = true });
}

int export_tsv(struct export *x, struct error *err)
{
	return put_table(x, (struct rows){ .separator = '\t', .end = "\n" });
}
