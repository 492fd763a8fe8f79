// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * names_objc.c - names of Objective-C methods, as gcc and clang write them on Linux.
 *
 * ':' is '_' in symbols.  A method with parameters ends with ':', so in any other name each '_' is
 * one; in the name of a method with parameters it cannot be told.  gcc's DWARF has ':' for it, too.
 */
#include "names_forms.h"

#include <ctype.h>
#include <string.h>

#define INSTANCE "_i_"
#define CLASS	 "_c_"

bool names_objc_is_method(const char *name)
{
	return (*name == '-' || *name == '+') && name[1] == '[';
}

/* Appends the selector, without the '_' at its beginning that are part of it. */
static void add_selector(struct text *to, const char *from, size_t n)
{
	const size_t first = strspn(from, "_");
	const bool parameters = n && from[n - 1] == '_';

	for (size_t i = 0; i < n; i++)
		text_add(to, parameters && i >= first && from[i] == '_' ? ":" : from + i, 1);
}

bool names_objc_demangle(const char *raw, bool known, bool with_suffix, struct text *to)
{
	const bool instance = !strncmp(raw, INSTANCE, strlen(INSTANCE));
	const char *class = raw + strlen(INSTANCE), *category, *selector;
	const size_t n = strcspn(raw, ".");

	if (!instance && strncmp(raw, CLASS, strlen(CLASS)) != 0)
		return false;
	if (!known && !isupper((unsigned char)*class))
		return false;
	category = strchr(class + strspn(class, "_"), '_');
	selector = category ? strchr(category + 1, '_') : NULL;
	if (!selector || category == class || selector + 1 >= raw + n)
		return false;
	text_add(to, instance ? "-[" : "+[", 2);
	text_add(to, class, (size_t)(category - class));
	if (selector > category + 1) {
		text_add(to, "(", 1);
		text_add(to, category + 1, (size_t)(selector - category - 1));
		text_add(to, ")", 1);
	}
	text_add(to, " ", 1);
	add_selector(to, selector + 1, (size_t)(raw + n - selector - 1));
	text_add(to, "]", 1);
	if (with_suffix)
		text_add_string(to, raw + n);
	return true;
}
