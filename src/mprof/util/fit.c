// SPDX-License-Identifier: LGPL-3.0-or-later
/* fit.c - breaks the lines of a stream between words. */
#include "fit.h"

#include <ctype.h>
#include <string.h>

#include "columns.h"
#include "terminal.h"
#include "utf8.h"

#define COMMAND	       "mprof"
#define COMMAND_INDENT 6u  /* blanks before a command */
#define TEXT_LEAST     20u /* columns of text, even if a line is indented further */

static void put_blanks(struct fit *f, unsigned n)
{
	static const char blanks[] = "                ";

	for (; n > sizeof(blanks) - 1; n -= (unsigned)sizeof(blanks) - 1)
		f->put(f->to, blanks, sizeof(blanks) - 1);
	f->put(f->to, blanks, n);
}

static bool starts_escape(char c)
{
	return c == '\033';
}

/* Counts the columns of the held bytes from `from`, without escape sequences. */
static unsigned columns_held(const struct fit *f, size_t from, size_t to)
{
	unsigned columns = 0;
	size_t i;

	for (i = from; i < to; i++) {
		if (starts_escape(f->held[i]))
			while (i < to && f->held[i] != 'm')
				i++;
		else
			columns += !utf8_continues(f->held[i]);
	}
	return columns;
}

/* Decides by its first word how a line is broken. */
static void begin_line(struct fit *f, size_t from, size_t to)
{
	const size_t n = to - from;

	f->begun = true;
	f->indent = f->blanks || !isupper((unsigned char)f->held[from]) ? f->blanks + 2 : 0;
	f->command = f->blanks >= COMMAND_INDENT && n == strlen(COMMAND) &&
		     !memcmp(f->held + from, COMMAND, n);
	if (f->indent + TEXT_LEAST > f->width)
		f->indent = f->width > TEXT_LEAST ? f->width - TEXT_LEAST : 0;
}

static void put_word(struct fit *f, size_t from, size_t to)
{
	/* The backslash of a command that continues on another line. */
	const bool backslash = f->command && to == from + 1 && f->held[from] == '\\';
	unsigned columns = columns_held(f, from, to), room;
	size_t head, tail;

	if (!columns) {
		f->put(f->to, f->held + from, to - from);
		return;
	}
	if (!f->begun)
		begin_line(f, from, to);
	else if (f->column > f->indent && !f->comment &&
		 f->column + f->blanks + columns + (f->command && !backslash ? 2 : 0) > f->width) {
		f->put(f->to, f->command ? " \\\n" : "\n", f->command ? 3 : 1);
		f->column = 0;
		f->blanks = f->indent;
	}
	put_blanks(f, f->blanks);
	f->column += f->blanks;
	f->blanks = 0;
	room = f->width > f->column ? f->width - f->column : 0;
	if (columns <= room || f->command || room < TEXT_LEAST ||
	    memchr(f->held + from, '/', to - from) || memchr(f->held + from, '\033', to - from)) {
		f->put(f->to, f->held + from, to - from);
	} else {
		columns_cut(f->held + from, to - from, room, &head, &tail);
		f->put(f->to, f->held + from, head);
		f->put(f->to, terminal_ellipsis(), strlen(terminal_ellipsis()));
		f->put(f->to, f->held + to - tail, tail);
		columns = (unsigned)(columns_of(f->held + from, head) + columns_ellipsis() +
				     columns_of(f->held + to - tail, tail));
	}
	f->column += columns;
}

/* Puts the held bytes: a number and its unit as one word, otherwise as two. */
static void put_held(struct fit *f)
{
	const size_t number = f->number;
	const char *next = f->held + number + 1;

	if (number && number < f->n && !columns_is_unit(next, f->n - number - 1)) {
		put_word(f, 0, number);
		f->blanks = 1;
		put_word(f, number + 1, f->n);
	} else if (f->n) {
		put_word(f, 0, number == f->n ? number : f->n);
	}
	f->n = f->number = 0;
}

static void end_word(struct fit *f)
{
	/* After a number and one blank, its unit may follow. */
	if (f->n && !f->number && !f->command && isdigit((unsigned char)f->held[f->n - 1])) {
		f->number = f->n;
		return;
	}
	put_held(f);
	f->blanks++;
}

static void end_line(struct fit *f)
{
	put_held(f);
	f->put(f->to, "\n", 1);
	f->column = f->blanks = f->indent = 0;
	f->begun = f->command = f->quoted = f->comment = false;
}

static void on_blank(struct fit *f)
{
	if (f->quoted) {
		f->held[f->n++] = ' ';
	} else if (f->number && f->n == f->number) { /* a second blank: columns of a table */
		put_held(f);
		f->blanks = 2;
	} else if (f->n) {
		end_word(f);
	} else {
		f->blanks++;
	}
}

static void on_letter(struct fit *f, char c)
{
	if (f->number && f->n == f->number)
		f->held[f->n++] = ' ';
	if (f->command && c == '\'')
		f->quoted = !f->quoted;
	if (f->command && c == '#' && !f->n)
		f->comment = true;
	f->held[f->n++] = c;
}

void fit_text(struct fit *f, const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (f->n + 2 >= FIT_HELD)
			put_held(f);
		if (s[i] == '\n')
			end_line(f);
		else if (s[i] == ' ')
			on_blank(f);
		else
			on_letter(f, s[i]);
	}
}

void fit_escape(struct fit *f, const char *s)
{
	const size_t n = strlen(s);

	if (f->n + n + 2 >= FIT_HELD || (f->number && f->n == f->number)) {
		const bool number = f->number && f->n == f->number;

		put_held(f);
		f->blanks += number;
	}
	memcpy(f->held + f->n, s, n);
	f->n += n;
}

void fit_end(struct fit *f)
{
	put_held(f);
	put_blanks(f, f->blanks);
	f->blanks = 0;
}
