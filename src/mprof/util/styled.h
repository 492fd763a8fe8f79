/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * styled.h - text that is laid out and styled for the terminal.
 *
 * Styles are never part of the text: terminal_style() passes its escape sequence to util/plain.h
 * beside the stream, whose filter removes all escapes that come from a trace.
 */
#pragma once

#include <stdarg.h>
#include <stdio.h>

enum style {
	STYLE_PLAIN,
	STYLE_HEADING,
	STYLE_PLACE, /* a place in the program: a function and its line */
	STYLE_WARNING,
	STYLE_FAINT, /* commands, and text that may be skipped */
};

/* From here on, text is for people: no line is wider than terminal_width(). */
void terminal_fit(void);
/* Puts a line on stderr after all of stdout: broken between words on a terminal, else whole. */
void terminal_say(const char *first, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* Sets the style of stdout from here on.  Does nothing if colours are off or `out` is another
 * stream. */
void terminal_style(FILE *out, enum style style);
