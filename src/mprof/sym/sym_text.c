/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * sym_text.c - a string that grows, up to a limit.
 */
#include "sym_text.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"

void text_add(struct text *t, const char *from, size_t n)
{
	t->failed |= n > TEXT_MAX - t->n;
	if (t->failed)
		return;
	GROW(t->at, t->n + n + 1, t->room);
	memcpy(t->at + t->n, from, n);
	t->n += n;
	t->at[t->n] = '\0';
}

void text_add_string(struct text *t, const char *from)
{
	text_add(t, from, strlen(from));
}

void text_clear(struct text *t)
{
	t->n = 0;
	t->failed = false;
	if (t->at)
		t->at[0] = '\0';
}

void text_release(struct text *t)
{
	free(t->at);
	memset(t, 0, sizeof(*t));
}

/* Bytes of the UTF-8 character at s; 0: invalid. */
static size_t letter_bytes(const unsigned char *s)
{
	static const unsigned first[] = { 0x80, 0x800, 0x10000 }; /* smallest of each length */
	size_t more = s[0] >= 0xf0 ? 3 : s[0] >= 0xe0 ? 2 : 1, i;
	unsigned code = s[0] & (0x3fu >> more);

	if (s[0] < 0x80)
		return s[0] >= ' ' && s[0] != 0x7f;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	for (i = 1; i <= more; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < first[more - 1] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ||
	    code < 0xa0)
		return 0;
	return more + 1;
}

size_t text_clean_bytes(const char *s)
{
	size_t n = 0, letter;

	while (s[n] && (letter = letter_bytes((const unsigned char *)s + n)))
		n += letter;
	return n;
}

void text_add_clean(struct text *t, const char *from)
{
	size_t n;

	for (;; from++) {
		n = text_clean_bytes(from);
		text_add(t, from, n);
		from += n;
		if (!*from)
			return;
		text_add(t, "?", 1);
	}
}

const char *text_string(const struct text *t)
{
	return t->at ? t->at : "";
}
