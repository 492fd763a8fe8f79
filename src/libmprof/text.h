/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * text.h - builds text without stdio, locale or memory of its own. Text that does not fit is
 * truncated and marked full; it is always NUL-terminated.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct text {
	char *at;
	size_t used, size; /* size counts the NUL */
	int full;
};

static inline struct text text_on(char *buffer, size_t size)
{
	buffer[0] = 0;
	return (struct text){ buffer, 0, size, 0 };
}

static inline void text_char(struct text *t, char c)
{
	if (t->used + 1 >= t->size) {
		t->full = 1;
		return;
	}
	t->at[t->used++] = c;
	t->at[t->used] = 0;
}

static inline void format_bytes(struct text *t, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		text_char(t, s[i]);
}

static inline void text_string(struct text *t, const char *s)
{
	while (*s)
		text_char(t, *s++);
}

static inline void text_number(struct text *t, uint64_t n)
{
	char digits[20];
	int i = 0;

	do
		digits[i++] = (char)('0' + n % 10);
	while (n /= 10);
	while (i)
		text_char(t, digits[--i]);
}

static inline void text_hex(struct text *t, uint64_t n, int width)
{
	for (int i = width - 1; i >= 0; i--)
		text_char(t, "0123456789abcdef"[n >> (4 * i) & 15]);
}

/* Parses digits of a base.  Returns the number of characters used; 0 without digits or on
 * overflow. */
static inline size_t text_parse(const char *s, unsigned base, uint64_t *out)
{
	size_t i;
	uint64_t n = 0;

	for (i = 0; s[i]; i++) {
		unsigned d = (unsigned char)s[i] - '0';

		if (d > 9)
			d = ((unsigned char)s[i] | 32) - 'a' + 10;
		if (d >= base)
			break;
		if (__builtin_mul_overflow(n, base, &n) || __builtin_add_overflow(n, d, &n))
			return 0;
	}
	*out = n;
	return i;
}

static inline int text_same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static inline size_t text_length(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

/*
 * Returns the value of environment variable `name`, or NULL.  Only during initialisation: later the
 * program may change its environment at the same time.
 */
const char *text_getenv(const char *name);

/* Returns a path without its directory. */
static inline const char *text_base(const char *path)
{
	const char *base = path;

	for (; *path; path++)
		base = *path == '/' ? path + 1 : base;
	return base;
}
