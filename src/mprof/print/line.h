/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * line.h - a buffer that lines are put into and written from in large pieces.
 *
 * line_room() must be called before each line; a line is shorter than LINE_MAX_BYTES.  Never put
 * strings from a trace into it: only numbers and our own words.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LINE_MAX_BYTES 1024u
#define LINE_BUFFER    (64u << 10)

struct line {
	FILE *out;
	char *at;
	char buffer[LINE_BUFFER];
};

static inline void line_init(struct line *l, FILE *out)
{
	l->out = out;
	l->at = l->buffer;
}

/* Returns false if the file accepts no more. */
static inline bool line_flush(struct line *l)
{
	size_t n = (size_t)(l->at - l->buffer);

	l->at = l->buffer;
	return fwrite(l->buffer, 1, n, l->out) == n;
}

static inline bool line_room(struct line *l)
{
	return l->at <= l->buffer + LINE_BUFFER - LINE_MAX_BYTES || line_flush(l);
}

static inline void line_char(struct line *l, char c)
{
	*l->at++ = c;
}

static inline void line_text(struct line *l, const char *s)
{
	size_t n = strlen(s);

	memcpy(l->at, s, n);
	l->at += n;
}

static inline void line_number(struct line *l, uint64_t n)
{
	char digits[20], *p = digits + sizeof(digits);

	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	memcpy(l->at, p, (size_t)(digits + sizeof(digits) - p));
	l->at += digits + sizeof(digits) - p;
}

static inline void line_hex(struct line *l, uint64_t n)
{
	int shift = n ? (63 - __builtin_clzll(n)) & ~3 : 0;

	for (; shift >= 0; shift -= 4)
		*l->at++ = "0123456789abcdef"[n >> shift & 15];
}

/* Puts ns as seconds with nine decimals. */
static inline void line_seconds(struct line *l, int64_t ns)
{
	uint64_t abs = ns < 0 ? -(uint64_t)ns : (uint64_t)ns, rest = abs % 1000000000u;
	int i;

	if (ns < 0)
		*l->at++ = '-';
	line_number(l, abs / 1000000000u);
	*l->at++ = '.';
	for (i = 8; i >= 0; i--, rest /= 10)
		l->at[i] = (char)('0' + rest % 10);
	l->at += 9;
}
