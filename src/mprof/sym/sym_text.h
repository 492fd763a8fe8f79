/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * sym_text.h - a string that grows, up to a limit.
 *
 * A zeroed struct is empty.  At the limit nothing more is appended, and `failed` is set. `at` is
 * NUL-terminated once something was appended.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TEXT_MAX ((size_t)1 << 20) /* longer names are not readable anyway */

struct text {
	char *at;
	size_t n, room;
	bool failed;
};

void text_add(struct text *t, const char *from, size_t n);
void text_add_string(struct text *t, const char *from);
void text_clear(struct text *t); /* keeps the memory */
void text_release(struct text *t);
/* Returns the text, never NULL. */
const char *text_string(const struct text *t);

/*
 * Counts the bytes before the first one that must not reach a terminal or a line of output: a
 * control character, or invalid UTF-8.  The length of a clean string.
 */
size_t text_clean_bytes(const char *s);
/* Appends a string, with a ? for each such byte. */
void text_add_clean(struct text *t, const char *from);
