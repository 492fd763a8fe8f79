/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * terminal.h - what standard output can show: its width, colour, characters beyond ASCII.
 *
 * A pipe or a file gets 80 columns of plain text, or as many as COLUMNS says, so that an
 * answer is the same wherever it is kept.
 */
#pragma once

#include <stdbool.h>

#define TERMINAL_WIDTH 80u  /* of what is not a terminal */
#define TERMINAL_TEXT  120u /* longer lines of text are hard to read */

/* Looks at standard output; before anything is written, and before a pager takes its place. */
void terminal_start(void);
/* --color: "auto", "always" or "never"; false: none of these. */
bool terminal_set_colour(const char *when);

bool terminal_is(void);
bool terminal_colour(void);
/* Columns of standard output, and of text on it. */
unsigned terminal_width(void);
unsigned terminal_text_width(void);
/* May what is printed hold block elements?  Of a terminal in a UTF-8 locale. */
bool terminal_unicode(void);
/* In place of what does not fit into a line: one letter where terminal_unicode(). */
const char *terminal_ellipsis(void);
