// SPDX-License-Identifier: LGPL-3.0-or-later
/* names_cython.c - names of functions that Cython compiled. */
#include "names_forms.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/*
 * A kind, the module's and the classes' names, each after its length, then the function's: after an
 * index, which is odd in wrappers (pw), and even, without zero, in what these call (pf).
 */
enum index { INDEX_NONE, INDEX_ALWAYS, INDEX_EVEN };

static const struct {
	const char *begin;
	enum index index;
} kinds[] = {
	{ "__pyx_pf_", INDEX_EVEN },
	{ "__pyx_pw_", INDEX_ALWAYS },
	{ "__pyx_gb_", INDEX_ALWAYS }, /* of a generator */
	{ "__pyx_f_", INDEX_NONE },
};

/* Is a number of this value, before a name that ends at `end`, the length of the name?  As an index
 * it may be so by chance: classes are told by their capital, and special methods follow them. */
static bool is_length(unsigned long n, const char *name, const char *end, enum index index)
{
	if (index == INDEX_NONE || (index == INDEX_EVEN && n % 2))
		return true;
	return isdigit((unsigned char)end[1]) ||
	       (index == INDEX_EVEN && (isupper((unsigned char)*name) || end[1] == '_'));
}

bool names_cython_demangle(const char *raw, bool with_suffix, struct text *to)
{
	const size_t all = strcspn(raw, ".");
	size_t kind = 0, parts = 0, n;
	const char *at;
	char *name;

	while (kind < sizeof(kinds) / sizeof(kinds[0]) &&
	       strncmp(raw, kinds[kind].begin, strlen(kinds[kind].begin)) != 0)
		kind++;
	if (kind == sizeof(kinds) / sizeof(kinds[0]))
		return false;
	for (at = raw + strlen(kinds[kind].begin); isdigit((unsigned char)*at); parts++) {
		n = strtoul(at, &name, 10);
		if (n >= (size_t)(raw + all - name) || name[n] != '_' ||
		    (parts && !is_length(n, name, name + n, kinds[kind].index)))
			break;
		text_add(to, name, n);
		text_add(to, ".", 1);
		at = name + n + 1;
	}
	at += strspn(at, "0123456789");
	if (!parts || at >= raw + all) {
		text_clear(to);
		return false;
	}
	text_add(to, at, (size_t)(raw + all - at));
	if (with_suffix)
		text_add_string(to, raw + all);
	return true;
}
