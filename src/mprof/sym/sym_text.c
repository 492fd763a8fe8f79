/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * sym_text.c - a string that grows, up to a limit.
 */
#include "sym_text.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/utf8.h"

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

size_t text_clean_bytes(const char *s)
{
	size_t n = 0, letter;

	while ((letter = (size_t)utf8_shown_at(s + n)))
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
