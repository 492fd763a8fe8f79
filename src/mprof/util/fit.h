/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * fit.h - breaks the lines of a stream between words, so that none is wider than
 * the screen.
 *
 * A line that fits passes unchanged with its blanks, as tables do.  A longer one continues on the
 * next line, two columns further in than it began; a sentence at the left edge continues there.  A
 * number stays on the line of its unit.  A word that is wider than the screen is elided in its
 * middle, unless it is a path.  A line that begins with six blanks and "mprof" is a command: it is
 * broken with " \", as a shell reads it, and never elided.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define FIT_HELD 2048 /* bytes of a word that are held back until its end is known */

struct fit {
	unsigned width; /* columns; 0 = lines pass unchanged */
	void (*put)(void *to, const char *s, size_t n);
	void *to;
	/* of the line */
	unsigned column, indent, blanks; /* blanks after the last word that are not yet written */
	bool begun, command, quoted, comment;
	/* the word that is held, or a number and the word after it */
	char held[FIT_HELD];
	size_t n, number; /* number: bytes of the number, 0 = none */
};

/* Writes s, which has no control characters except line feeds. */
void fit_text(struct fit *f, const char *s, size_t n);
/* Writes an escape sequence, which takes no columns, at this place of the line. */
void fit_escape(struct fit *f, const char *s);
/* Writes the rest of a line that has no end. */
void fit_end(struct fit *f);
