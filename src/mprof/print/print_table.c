// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_table.c - columns that line up. */
#include "print_table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/columns.h"
#include "../util/styled.h"
#include "../util/terminal.h"
#include "../util/utf8.h"

#define NAME_LEAST   16u /* least columns of a name */
#define LAST_LEAST   36u /* least width of the last column; otherwise it continues below */
#define BAR_LEAST    8u
#define GAP	     2u
#define CONTINUATION 4u /* further indentation of columns that continue below */

void table_cell(struct table *t, const char *format, ...)
{
	va_list args;

	GROW(t->cell, t->cells + 1, t->room);
	va_start(args, format);
	t->cell[t->cells++] = must_vprintf(format, args);
	va_end(args);
}

void table_add_cells(struct table *t, const char *const *text)
{
	for (; *text; text++)
		table_cell(t, "%s", *text);
}

size_t table_columns(const struct table *t)
{
	size_t n = 0;

	while (n < TABLE_COLUMNS && t->title[n])
		n++;
	return n;
}

static size_t width_of(const char *s)
{
	return columns_of(s, strlen(s));
}

static void pad(FILE *out, size_t n)
{
	for (; n; n--)
		fputc(' ', out);
}

/* A column without a title holds bars. */
static bool is_bar(const struct table *t, size_t column)
{
	return !strcmp(t->title[column], "<");
}

static bool is_name(const struct table *t, size_t column)
{
	return *t->title[column] == '<' && !is_bar(t, column);
}

/* ---- titles, in as many lines as narrow columns need ---- */

/* Returns the bytes of the words of s that fit into width, at least one; *rest: where the next
 * begins. */
static size_t title_line(const char *s, size_t width, const char **rest)
{
	size_t n = strcspn(s, " "), more;

	while (s[n]) {
		more = n + 1 + strcspn(s + n + 1, " ");
		if (columns_of(s, more) > width)
			break;
		n = more;
	}
	*rest = s[n] ? s + n + 1 : s + n;
	return n;
}

static size_t title_lines(const char *s, size_t width)
{
	size_t n = 0;

	do
		title_line(s, width, &s);
	while (++n && *s);
	return n;
}

static size_t longest_word(const char *s)
{
	size_t most = 0, n;

	for (; *s; s += s[n] ? n + 1 : n) {
		n = strcspn(s, " ");
		if (columns_of(s, n) > most)
			most = columns_of(s, n);
	}
	return most;
}

/* ---- widths ---- */

struct widths {
	size_t now[TABLE_COLUMNS];  /* the width of each column */
	size_t wide[TABLE_COLUMNS]; /* the width that its cells need */
	size_t columns;
	bool below; /* the last column is on a separate line */
};

static size_t line_width(const struct widths *w)
{
	size_t all = 0, i;

	for (i = 0; i + w->below < w->columns; i++)
		all += w->now[i] + GAP;
	return all;
}

/* Narrows the widest column, down to least[]; false if none may become narrower. */
static bool shrink_widest(struct widths *w, const size_t *least)
{
	size_t widest = w->columns, i;

	for (i = 0; i + w->below < w->columns; i++)
		if (w->now[i] > least[i] && (widest == w->columns || w->now[i] > w->now[widest]))
			widest = i;
	if (widest == w->columns)
		return false;
	w->now[widest]--;
	return true;
}

/* Puts a last column of names that would be hard to read on a separate line. */
static void put_below(const struct table *t, struct widths *w, const size_t *full, size_t most)
{
	const size_t last = w->columns - 1;

	if (!last || !is_name(t, last) || w->now[last] >= LAST_LEAST ||
	    w->wide[last] <= w->now[last])
		return;
	memcpy(w->now, full, sizeof(w->now));
	w->below = true;
	if (w->now[last] > most - GAP - CONTINUATION)
		w->now[last] = most - GAP - CONTINUATION;
}

/*
 * Titles are narrowed first, by breaking between words; then bars; then names, by eliding the
 * middle. Figures never are.
 */
static void narrow(const struct table *t, struct widths *w, size_t most)
{
	size_t least[3][TABLE_COLUMNS], full[TABLE_COLUMNS], step, i;

	memcpy(full, w->now, sizeof(full));
	for (i = 0; i < w->columns; i++) {
		const size_t word = longest_word(t->title[i] + 1);

		least[0][i] = w->wide[i] > word ? w->wide[i] : word;
		least[1][i] = is_bar(t, i) && w->wide[i] > BAR_LEAST ? BAR_LEAST : least[0][i];
		least[2][i] = !is_name(t, i)		? least[1][i]
			      : w->wide[i] > NAME_LEAST ? NAME_LEAST
							: least[0][i];
	}
	for (step = 0; step < 3; step++)
		while (line_width(w) > most && shrink_widest(w, least[step]))
			;
	put_below(t, w, full, most);
	for (step = 0; w->below && step < 3; step++)
		while (line_width(w) > most && shrink_widest(w, least[step]))
			;
}

/* ---- cells ---- */

/* Puts a name, elided if its column is narrower; returns its columns, which may be fewer still. */
static size_t put_name(FILE *out, const char *s, size_t width)
{
	char *name = must_malloc(strlen(s) + 4);
	size_t n;

	columns_elide(name, s, width);
	fputs(name, out);
	n = width_of(name);
	free(name);
	return n;
}

/* Puts as much of a bar as fits into its column; returns its columns. */
static size_t put_bar(FILE *out, const char *s, size_t width, size_t full)
{
	const size_t wide = width_of(s);
	size_t n = width < full ? (wide * width + full - 1) / full : wide, i;

	for (i = 0; s[i]; i++) {
		if (!utf8_continues(s[i]) && !n--)
			break;
		fputc(s[i], out);
	}
	return columns_of(s, i);
}

static void put_cell(FILE *out, const struct table *t, const struct widths *w, size_t column,
		     const char *s, bool last)
{
	const size_t width = w->now[column], wide = width_of(s);
	size_t used = wide < width ? wide : width;

	if (*t->title[column] == '>')
		pad(out, width - used);
	if (is_bar(t, column))
		used = put_bar(out, s, width, w->wide[column]);
	else
		used = put_name(out, s, width);
	if (*t->title[column] == '<' && !last)
		pad(out, width > used ? width - used : 0);
	if (!last)
		pad(out, GAP);
}

/*
 * Columns [first, end) are one table.  Those that do not fit make another table underneath, which
 * repeats the first column.
 */
struct part {
	size_t first, end;
};

static size_t part_column(const struct part *p, size_t i)
{
	return p->first && !i ? 0 : p->first + i - (p->first > 0);
}

static size_t part_columns(const struct part *p)
{
	return p->end - p->first + (p->first > 0);
}

static struct part part_from(const struct widths *w, size_t first, size_t most)
{
	size_t used = GAP + (first ? w->now[0] + GAP : 0) + w->now[first], end = first + 1;

	while (end + w->below < w->columns && used + GAP + w->now[end] <= most)
		used += GAP + w->now[end++];
	return (struct part){ first, end };
}

static void put_titles(FILE *out, const struct table *t, const struct widths *w,
		       const struct part *p)
{
	const size_t columns = part_columns(p);
	const char *rest[TABLE_COLUMNS];
	size_t lines = 1, line, i, n;
	char *text;

	for (i = 0; i < columns; i++) {
		const size_t column = part_column(p, i);

		rest[i] = t->title[column] + 1;
		n = title_lines(rest[i], w->now[column]);
		lines = n > lines ? n : lines;
	}
	for (line = lines; line--;) {
		pad(out, GAP);
		for (i = 0; i < columns; i++) {
			const size_t column = part_column(p, i);
			/* Below each other at the bottom. */
			const bool now = title_lines(rest[i], w->now[column]) > line;
			const char *from = rest[i];

			n = now ? title_line(from, w->now[column], &rest[i]) : 0;
			text = must_strndup(from, n);
			put_cell(out, t, w, column, text, i + 1 == columns);
			free(text);
		}
		fputc('\n', out);
	}
}

static bool is_empty(char **cell, size_t first, size_t end)
{
	for (; first < end; first++)
		if (cell[first][strspn(cell[first], " ")])
			return false;
	return true;
}

static void put_row(FILE *out, const struct table *t, const struct widths *w, const struct part *p,
		    char **cell)
{
	const size_t columns = part_columns(p);
	size_t i;

	for (i = 0; i < columns; i++)
		put_cell(out, t, w, part_column(p, i), cell[part_column(p, i)], i + 1 == columns);
	fputc('\n', out);
}

/* Puts the last column on a separate line. */
static void put_last(FILE *out, const struct table *t, const struct widths *w, const char *s)
{
	if (!s[strspn(s, " ")])
		return;
	pad(out, GAP + CONTINUATION);
	put_cell(out, t, w, w->columns - 1, s, true);
	fputc('\n', out);
}

static void put_part(FILE *out, const struct table *t, const struct widths *w, const struct part *p)
{
	const bool below = w->below && !p->first;
	size_t i;

	terminal_style(out, STYLE_HEADING);
	put_titles(out, t, w, p);
	if (below)
		put_last(out, t, w, t->title[w->columns - 1] + 1);
	terminal_style(out, STYLE_PLAIN);
	for (i = 0; i + w->columns <= t->cells; i += w->columns) {
		if (!(p->first || below) || !is_empty(t->cell + i, p->first, p->end)) {
			pad(out, GAP);
			put_row(out, t, w, p, t->cell + i);
		}
		if (below)
			put_last(out, t, w, t->cell[i + w->columns - 1]);
	}
}

void table_print(struct table *t, FILE *out)
{
	const size_t most = out == stdout ? terminal_width() : SIZE_MAX;
	struct widths w = { .columns = table_columns(t) };
	struct part part = { 0, 0 };
	size_t i, n;

	for (i = 0; i < t->cells; i++) {
		n = width_of(t->cell[i]);
		if (n > w.wide[i % w.columns])
			w.wide[i % w.columns] = n;
	}
	for (i = 0; i < w.columns; i++) {
		n = width_of(t->title[i] + 1);
		w.now[i] = w.wide[i] > n ? w.wide[i] : n;
	}
	narrow(t, &w, most);
	while (part.end + w.below < w.columns) {
		if (part.end)
			fputc('\n', out);
		part = part_from(&w, part.end, most);
		put_part(out, t, &w, &part);
	}
	for (i = 0; i < t->cells; i++)
		free(t->cell[i]);
	free(t->cell);
	t->cell = NULL;
	t->cells = t->room = 0;
}
