/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * paragraph.h - text that is broken into lines between words.
 *
 *	struct paragraph p = { 0 };
 *	paragraph_add(&p, "%s was never freed", format_bytes(n).s);
 *	paragraph_print(&p, &(struct paragraph_form){ "  1. ", 5, 80 }, out);
 *	paragraph_release(&p);
 *
 * A number stays on the line of its unit.  A word longer than a line is elided in
 * its middle.  Control characters become '?'.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "../util/styled.h"

struct paragraph {
	char *text;
	unsigned char *style; /* of each byte */
	size_t n, room;
};

#define PARAGRAPH_CONTINUES 2u /* columns of " \\", for which each line of a command has room */

struct paragraph_form {
	const char *first; /* before the first line */
	unsigned indent;   /* blanks before each later line */
	unsigned width;
	bool command; /* a shell command: nothing is elided, and lines end with " \\" */
};

void paragraph_add(struct paragraph *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void paragraph_add_styled(struct paragraph *p, enum style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints these words in this style where they first occur. */
void paragraph_mark(struct paragraph *p, const char *words, enum style style);
/* Prints its lines, each with a line end; returns their number.  out NULL = only counts. */
size_t paragraph_print(const struct paragraph *p, const struct paragraph_form *form, FILE *out);
void paragraph_release(struct paragraph *p);
