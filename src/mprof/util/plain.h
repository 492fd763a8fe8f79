/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * plain.h - output for people is plain text, whatever the input contains.
 *
 * Names, paths and command lines in a trace are untrusted bytes, and a terminal interprets some of
 * them.  After plain_streams() stdout and stderr pass on lines, tabs and well-formed UTF-8 without
 * control characters; every other byte goes out as \xNN.  On stderr our own progress lines pass:
 * "\rmprof: " and ESC [ K.
 *
 * Other output (an export, a picture) goes to plain_raw(). Threads: one at a time.
 */
#pragma once

#include <stdio.h>

/* Call this before any output.  Without memory, output is not filtered. */
void plain_streams(void);

/* From now on, breaks lines of stdout that are wider than this between words (fit.h); 0 = no
 * more. */
void plain_fit(unsigned width);

/* Puts an escape sequence of ours to standard output, past the filter, after the text so far. */
void plain_escape(const char *sequence);

/* Returns standard output without a filter; main flushes it. */
FILE *plain_raw(void);

/* Returns -errno of what failed earlier for a stream with ferror(): it fails again. */
int plain_why(FILE *out);
