// SPDX-License-Identifier: LGPL-3.0-or-later
/* names_ocaml.c - names of functions that ocamlopt compiled. */
#include "names_forms.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "caml"
#define DIGITS "0123456789"
#define HEX    DIGITS "abcdef"

/* Separates modules and functions: "__" as long as the compiler has no dots, "." since 5.1. */
static size_t separator(const char *at, const char *first, size_t left)
{
	if (at == first)
		return 0;
	if (left > 2 && at[0] == '_' && at[1] == '_' &&
	    (at[2] == '$' || isalpha((unsigned char)at[2])))
		return 2;
	return left > 1 && *at == '.';
}

/* A character of an operator or a ' is written as $ and two hexadecimal digits.  Returns it, or 0.
 */
static char escaped(const char *at, size_t left)
{
	const char pair[] = { at[1], left > 2 ? at[2] : '\0', '\0' };
	const unsigned long c = strspn(pair, HEX) == 2 ? strtoul(pair, NULL, 16) : 0;

	return *at == '$' && c > ' ' && c < 0x7f ? (char)c : '\0';
}

/* The number that makes a name unique tells functions without name (fun_12) from each other. */
static size_t without_number(const char *raw, size_t n)
{
	size_t end = n;

	while (end && isdigit((unsigned char)raw[end - 1]))
		end--;
	if (end == n || end < 2 || raw[end - 1] != '_' || raw[end - 2] == '_')
		return n;
	end--;
	return end > 4 && !memcmp(raw + end - 3, "fun", 3) && strchr("_.", raw[end - 4]) ? n : end;
}

bool names_ocaml_demangle(const char *raw, bool with_number, struct text *to)
{
	const char *first = raw + strlen(PREFIX), *at = first, *end;
	size_t step;
	char c;

	if (strncmp(raw, PREFIX, strlen(PREFIX)) != 0 || !isupper((unsigned char)*first) ||
	    !(strstr(first, "__") || strchr(first, '.')))
		return false;
	end = raw + (with_number ? strlen(raw) : without_number(raw, strlen(raw)));
	for (; at < end; at += step) {
		const size_t left = (size_t)(end - at);

		step = separator(at, first, left);
		if (step) {
			text_add(to, ".", 1);
			continue;
		}
		c = escaped(at, left);
		step = c ? 3 : 1;
		text_add(to, c ? &c : at, 1);
	}
	return true;
}
