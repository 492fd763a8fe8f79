// SPDX-License-Identifier: LGPL-3.0-or-later
/* paragraph.c - text that is broken into lines between words. */
#include "paragraph.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/columns.h"
#include "../util/terminal.h"

#define LEAST 20u /* columns of text, however narrow the terminal */

static void make_space(struct paragraph *p, size_t more)
{
	if (p->n + more < p->room)
		return;
	p->room = grow_room(p->n + more + 1, p->room);
	p->text = must_reallocarray(p->text, p->room, 1);
	p->style = must_reallocarray(p->style, p->room, 1);
}

static void add(struct paragraph *p, enum style style, const char *format, va_list args)
{
	char *text = must_vprintf(format, args);
	const size_t n = strlen(text);
	size_t i;

	make_space(p, n);
	for (i = 0; i < n; i++)
		p->text[p->n + i] = text[i] == '\n' || text[i] == '\t'		      ? ' '
				    : (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?'
										      : text[i];
	memset(p->style + p->n, style, n);
	p->n += n;
	p->text[p->n] = '\0';
	free(text);
}

void paragraph_add(struct paragraph *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(p, STYLE_PLAIN, format, args);
	va_end(args);
}

void paragraph_add_styled(struct paragraph *p, enum style style, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(p, style, format, args);
	va_end(args);
}

void paragraph_mark(struct paragraph *p, const char *words, enum style style)
{
	const char *at = p->n && *words ? strstr(p->text, words) : NULL;

	if (at)
		memset(p->style + (at - p->text), style, strlen(words));
}

void paragraph_release(struct paragraph *p)
{
	free(p->text);
	free(p->style);
	*p = (struct paragraph){ 0 };
}

/* ---- lines ---- */

struct writer {
	const struct paragraph *p;
	FILE *out;
	enum style style;
};

static void put(struct writer *w, size_t from, size_t to)
{
	for (; w->out && from < to; from++) {
		if (w->p->style[from] != w->style) {
			w->style = w->p->style[from];
			terminal_style(w->out, w->style);
		}
		fputc(w->p->text[from], w->out);
	}
}

static void put_plain(struct writer *w, const char *s)
{
	if (!w->out)
		return;
	if (w->style != STYLE_PLAIN)
		terminal_style(w->out, STYLE_PLAIN);
	w->style = STYLE_PLAIN;
	fputs(s, w->out);
}

static void indent(struct writer *w, unsigned n)
{
	for (; w->out && n; n--)
		fputc(' ', w->out);
}

static size_t word_end(const char *s, size_t at, bool quotes)
{
	bool quoted = false;

	for (; s[at] && (quoted || s[at] != ' '); at++)
		quoted ^= quotes && s[at] == '\'';
	return at;
}

/* Returns the end of the word at `at`, with the unit of a number. */
static size_t whole_end(const char *s, size_t at, bool command)
{
	const size_t end = word_end(s, at, command);
	size_t next;

	if (command || !s[end] || end == at || !isdigit((unsigned char)s[end - 1]))
		return end;
	next = word_end(s, end + 1, false);
	return columns_is_unit(s + end + 1, next - end - 1) ? next : end;
}

/* Returns the columns that it took. */
static size_t put_elided(struct writer *w, size_t from, size_t to, size_t columns)
{
	size_t head, tail;

	columns_cut(w->p->text + from, to - from, columns, &head, &tail);
	put(w, from, from + head);
	put_plain(w, terminal_ellipsis());
	put(w, to - tail, to);
	return columns_of(w->p->text + from, head) + columns_ellipsis() +
	       columns_of(w->p->text + to - tail, tail);
}

size_t paragraph_print(const struct paragraph *p, const struct paragraph_form *form, FILE *out)
{
	struct writer w = { p, out, STYLE_PLAIN };
	const size_t first = columns_of(form->first, strlen(form->first));
	const size_t least = form->indent + LEAST;
	const size_t usable = form->width - (form->command ? PARAGRAPH_CONTINUES : 0);
	const size_t width = usable > least ? usable : least;
	size_t at = 0, end, column = first, lines = 1, n;
	bool begun = false; /* the line contains a word */

	put_plain(&w, form->first);
	while (at < p->n) {
		if (p->text[at] == ' ') {
			at++;
			continue;
		}
		end = whole_end(p->text, at, form->command);
		n = columns_of(p->text + at, end - at);
		if (begun && column + 1 + n > width) {
			put_plain(&w, form->command ? " \\\n" : "\n");
			indent(&w, form->indent);
			column = form->indent;
			lines++;
			begun = false;
		}
		if (begun)
			put(&w, at - 1, at);
		column += begun;
		if (column + n > width && !form->command) {
			n = put_elided(&w, at, end, width - column);
		} else {
			put(&w, at, end);
		}
		column += n;
		begun = true;
		at = end;
	}
	put_plain(&w, "\n");
	return lines;
}
