/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* text.c - a string that grows, up to a limit. */
#include "text.h"

#include <stdlib.h>
#include <string.h>

static bool grow(struct text *t, size_t n)
{
	size_t room = t->room ? t->room : 256;
	char *at;

	if (n > TEXT_MAX - t->n)
		return false;
	while (room <= t->n + n)
		room *= 2;
	if (room == t->room)
		return true;
	at = realloc(t->at, room);
	if (!at)
		return false;
	t->at = at;
	t->room = room;
	return true;
}

void text_add(struct text *t, const char *from, size_t n)
{
	if (t->failed || !grow(t, n)) {
		t->failed = true;
		return;
	}
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

const char *text_string(const struct text *t)
{
	return t->at ? t->at : "";
}
