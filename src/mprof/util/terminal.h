/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * terminal.h - what standard output can show: its width, colour, characters beyond ASCII.
 *
 * A pipe or a file gets plain text in 80 columns, or as many as COLUMNS says, so that a stored
 * answer does not depend on the terminal.
 */
#pragma once

#include <stdbool.h>

#define TERMINAL_WIDTH 80u  /* if standard output is not a terminal */
#define TERMINAL_TEXT  120u /* longer lines of text are hard to read */

/* Examines standard output.  Call it before any output, and before a pager replaces the
 * terminal. */
void terminal_start(void);
/* Implements --color: "auto", "always" or "never"; false for any other word. */
bool terminal_set_colour(const char *when);

bool terminal_is(void);
bool terminal_colour(void);
/* Return the columns of standard output, and of text on it. */
unsigned terminal_width(void);
unsigned terminal_text_width(void);
/* May output contain block elements?  Only on a terminal in a UTF-8 locale. */
bool terminal_unicode(void);
/* Replaces text that does not fit into a line; one letter if terminal_unicode(). */
const char *terminal_ellipsis(void);
