/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * terminal.h - what standard output can show: its width, colour, letters beyond ASCII.
 *
 * A pipe or a file gets 80 columns of plain text, or as many as COLUMNS says, so that an
 * answer is the same wherever it is kept.  Styles never travel through the text: terminal_style()
 * hands its escape sequence to util/plain.h beside the stream, whose filter goes
 * on to take escapes out of everything that a trace says.
 */
#ifndef MPROF_UTIL_TERMINAL_H
#define MPROF_UTIL_TERMINAL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#define TERMINAL_WIDTH 80u  /* of what is not a terminal */
#define TERMINAL_TEXT  120u /* longer lines of text are hard to read */

enum style {
	STYLE_PLAIN,
	STYLE_HEADING,
	STYLE_PLACE, /* of the program: a function and its line */
	STYLE_WARNING,
	STYLE_FAINT, /* commands, and what may be skipped */
};

/* Looks at standard output; before anything is written, and before a pager takes its place. */
void terminal_start(void);
/* --color: "auto", "always" or "never"; false: none of these. */
bool terminal_set_colour(const char *when);

bool terminal_is(void);
/* Columns of standard output, and of text on it. */
unsigned terminal_width(void);
/* What is printed from here on is text for people: no line is wider than terminal_width(). */
void terminal_fit(void);
/* A line on stderr, behind all of stdout: on a terminal broken between words, else whole. */
void terminal_say(const char *first, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
unsigned terminal_text_width(void);
/* May what is printed hold block elements?  Of a terminal in a UTF-8 locale. */
bool terminal_unicode(void);
/* In place of what does not fit into a line: one letter where terminal_unicode(). */
const char *terminal_ellipsis(void);
/* From here on, on stdout; nothing where colours are off or out is another stream. */
void terminal_style(FILE *out, enum style style);

#endif
