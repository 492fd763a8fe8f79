/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * styled.h - text that is laid out and styled for the terminal.
 *
 * Styles never travel through the text: terminal_style()
 * hands its escape sequence to util/plain.h beside the stream, whose filter goes
 * on to take escapes out of everything that a trace says.
 */
#pragma once

#include <stdarg.h>
#include <stdio.h>

enum style {
	STYLE_PLAIN,
	STYLE_HEADING,
	STYLE_PLACE, /* of the program: a function and its line */
	STYLE_WARNING,
	STYLE_FAINT, /* commands, and what may be skipped */
};

/* What is printed from here on is text for people: no line is wider than terminal_width(). */
void terminal_fit(void);
/* A line on stderr, behind all of stdout: on a terminal broken between words, else whole. */
void terminal_say(const char *first, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* From here on, on stdout; nothing where colours are off or out is another stream. */
void terminal_style(FILE *out, enum style style);
