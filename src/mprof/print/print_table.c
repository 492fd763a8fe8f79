// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_table.c - columns that line up. */
#include "print_table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "paragraph.h"

#define NAME_LEAST 16u /* columns that a name keeps */

void table_cell(struct table *t, const char *format, ...)
{
	va_list args;

	GROW(t->cell, t->cells + 1, t->room);
	va_start(args, format);
	t->cell[t->cells++] = must_vprintf(format, args);
	va_end(args);
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
	return paragraph_columns(s, strlen(s));
}

static void pad(FILE *out, size_t n)
{
	for (; n; n--)
		fputc(' ', out);
}

/* A column that was narrowed may be narrower than s. */
static void put_name(FILE *out, const char *s, size_t width)
{
	char *name = width_of(s) > width ? must_malloc(strlen(s) + 4) : NULL;

	if (name)
		paragraph_elide(name, s, width);
	fputs(name ? name : s, out);
	free(name);
}

static void print_cell(FILE *out, const char *s, char align, size_t width, bool last)
{
	const size_t wide = width_of(s);
	size_t fill = width > wide ? width - wide : 0;

	if (align == '>')
		pad(out, fill);
	put_name(out, s, width);
	if (align == '<' && !last)
		pad(out, fill);
	fputs(last ? "\n" : "  ", out);
}

static void print_row(const struct table *t, FILE *out, char **cell, const size_t *width,
		      size_t columns)
{
	size_t i;

	fputs("  ", out);
	for (i = 0; i < columns; i++)
		print_cell(out, cell ? cell[i] : t->title[i] + 1, *t->title[i], width[i],
			   i + 1 == columns);
}

/* The widest column of names gives way first, as long as it is one. */
static void narrow(const struct table *t, size_t *width, size_t columns)
{
	const size_t most = terminal_width();
	size_t all = 2, widest, i;

	for (i = 0; i < columns; i++)
		all += width[i] + (i ? 2 : 0);
	while (all > most) {
		widest = columns;
		for (i = 0; i < columns; i++)
			if (*t->title[i] == '<' && width[i] > NAME_LEAST &&
			    (widest == columns || width[i] > width[widest]))
				widest = i;
		if (widest == columns)
			return;
		width[widest]--;
		all--;
	}
}

void table_print(struct table *t, FILE *out)
{
	const size_t columns = table_columns(t);
	size_t width[TABLE_COLUMNS] = { 0 }, i, w;

	for (i = 0; i < columns; i++)
		width[i] = width_of(t->title[i] + 1);
	for (i = 0; i < t->cells; i++) {
		w = width_of(t->cell[i]);
		if (w > width[i % columns])
			width[i % columns] = w;
	}
	if (out == stdout && terminal_is())
		narrow(t, width, columns);
	terminal_style(out, STYLE_HEADING);
	print_row(t, out, NULL, width, columns);
	terminal_style(out, STYLE_PLAIN);
	for (i = 0; i + columns <= t->cells; i += columns)
		print_row(t, out, t->cell + i, width, columns);
	for (i = 0; i < t->cells; i++)
		free(t->cell[i]);
	free(t->cell);
	t->cell = NULL;
	t->cells = t->room = 0;
}
