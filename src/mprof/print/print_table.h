/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * print_table.h - columns that line up: cells are collected, then printed with the widths that they
 * need.
 *
 * 	struct table t = TABLE("<function", ">calls");
 * 	table_cells(&t, name, format_count(n).s);
 * 	table_print(&t, out);   // and is empty again
 *
 * Where the screen is too narrow, titles break between words, bars become shorter and
 * names (columns aligned by <) are elided in their middle.  Figures stay whole: columns
 * for which there is still no room make another table underneath, with the first column again.
 *
 * A title begins with < or >: how its column is aligned; "<" alone is a column of
 * bars.  Cells fill rows from left to right.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS 12

struct table {
	const char *title[TABLE_COLUMNS];
	char **cell;
	size_t cells, room;
};

#define TABLE(...)                       \
	{                                \
		.title = { __VA_ARGS__ } \
	}

void table_cell(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Several, each a string. */
#define table_cells(t, ...) table_add_cells(t, (const char *const[]){ __VA_ARGS__, NULL })
void table_add_cells(struct table *t, const char *const *text); /* a list that ends with NULL */
size_t table_columns(const struct table *t);
void table_print(struct table *t, FILE *out);
