// SPDX-License-Identifier: LGPL-3.0-or-later
/* names_haskell.c - names of functions that GHC compiled. */
#include "names_forms.h"

#include <ctype.h>
#include <string.h>

#define SUFFIX	    "_info"
#define CONSTRUCTOR "_con"

/* What z and a letter stand for, and Z and a letter; other letters stand for themselves. */
static char decoded(char escape, char letter)
{
	static const char lower[] = "a&b|c^d$e=g>h#i.l<m-n!p+q'r\\s/t*u_v%zz";
	static const char upper[] = "C:L(M[N]R)ZZ";
	const char *const of = escape == 'z' ? lower : escape == 'Z' ? upper : "";

	for (size_t i = 0; of[i]; i += 2)
		if (of[i] == letter)
			return of[i + 1];
	return '\0';
}

static void decode(struct text *to, const char *from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char c = i + 1 < n ? decoded(from[i], from[i + 1]) : '\0';

		text_add(to, c ? &c : from + i, 1);
		i += c != '\0';
	}
}

/* Has the module a dot?  Its parts begin with capital letters; Resizing has none. */
static bool has_dot(const char *module, const char *end)
{
	while ((module = memmem(module, (size_t)(end - module), "zi", 2)) != NULL) {
		module += 2;
		if (module < end && isupper((unsigned char)*module))
			return true;
	}
	return false;
}

/* Names themselves have no _, which is zu in them. */
bool names_haskell_demangle(const char *raw, bool known, struct text *to)
{
	const size_t all = strlen(raw), suffix = strlen(SUFFIX), con = strlen(CONSTRUCTOR);
	const char *module = raw, *name;
	size_t n = all > suffix && !strcmp(raw + all - suffix, SUFFIX) ? all - suffix : 0, rest;

	if (n > con && !memcmp(raw + n - con, CONSTRUCTOR, con))
		n -= con;
	/* A package before the module; main has none. */
	if (islower((unsigned char)*raw))
		module = memchr(raw, '_', n);
	module += module && module != raw;
	if (!n || !module || !isupper((unsigned char)*module))
		return false;
	rest = n - (size_t)(module - raw);
	name = memchr(module, '_', rest);
	if (!name || name + 1 >= raw + n)
		return false;
	/* Functions of C end so, too. */
	if (!known && !has_dot(module, name))
		return false;
	decode(to, module, (size_t)(name - module));
	text_add(to, ".", 1);
	decode(to, name + 1, (size_t)(raw + n - name - 1));
	return true;
}
