// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * names_crystal.c - names of functions that Crystal compiled.
 *
 * A '*', the type of the object, '@' and the type that defines the method if it is another one, '#'
 * or for a class "::", the method, its parameters in <>, and ':' with the type of the result.
 */
#include "names_forms.h"

#include <ctype.h>
#include <string.h>

#define OPERATOR_MOST 3u /* characters of an operator, such as []= */

/* Counts the bytes until one of `ends`, or the end, outside round brackets. */
static size_t until(const char *at, const char *ends)
{
	size_t i, depth = 0;

	for (i = 0; at[i] && (depth || !strchr(ends, at[i])); i++)
		depth = at[i] == '(' ? depth + 1 : depth && at[i] == ')' ? depth - 1 : depth;
	return i;
}

static bool ends_method(char c)
{
	return c == '<' || c == ':' || !c;
}

/* Counts the bytes of a method's name, of which operators may contain '<'; 0 if it is none. */
static size_t method_bytes(const char *at)
{
	size_t n;

	if (isalpha((unsigned char)*at) || *at == '_' || (*at & 0x80))
		return strcspn(at, "<:()#@ ");
	for (n = OPERATOR_MOST; n; n--)
		if (strnlen(at, n) == n && ends_method(at[n]) && !strpbrk(at, "\t\n") &&
		    ispunct((unsigned char)at[n - 1]) && at[n - 1] != ':')
			return n;
	return 0;
}

/* Returns where the method begins: after '#', or after the last "::" before its parameters. */
static const char *method_of(const char *name)
{
	const size_t hash = until(name, "#");
	const char *method = name, *at = name;

	if (name[hash])
		return name + hash + 1;
	while ((at += until(at, "<:"))[0] == ':' && at[1] == ':')
		method = at += 2;
	return method;
}

/* Adds a type: without the file to which it is private, and if short without what is in brackets.
 */
static void add_type(const char *type, size_t n, bool full, struct text *to)
{
	const char *const end = type + n;
	const char *file = memmem(type, n, ".cr::", 5);
	size_t part;

	if (*type == '/' && file)
		type = file + 5;
	if (full) {
		text_add(to, type, (size_t)(end - type));
		return;
	}
	for (; type < end; type += part) {
		part = strcspn(type, "(");
		if (!part) {
			text_add_string(to, "(...)");
			part = 1 + until(type + 1, ")");
			part += type[part] == ')';
			continue;
		}
		part = part < (size_t)(end - type) ? part : (size_t)(end - type);
		text_add(to, type, part);
	}
}

bool names_crystal_demangle(const char *raw, bool full, struct text *to)
{
	const char *const name = raw + 1, *method;
	size_t n, type, separator;

	if (*raw != '*')
		return false;
	method = method_of(name);
	n = method_bytes(method);
	if (!n || !ends_method(method[n]))
		return false;
	separator = method == name ? 0 : method[-1] == '#' ? 1 : 2;
	if (separator) {
		type = until(name, "@");
		if (name + type > method - separator)
			type = (size_t)(method - separator - name);
		add_type(name, type, full, to);
		text_add(to, method - separator, separator);
	}
	text_add(to, method, full ? strlen(method) : n);
	return true;
}
