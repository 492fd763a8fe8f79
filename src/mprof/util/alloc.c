// SPDX-License-Identifier: LGPL-3.0-or-later
/* alloc.c - allocation that never returns NULL. */
#include "alloc.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* malloc(0) may return NULL although there is memory. */
static void *there(void *p)
{
	if (!p)
		memory_out();
	return p;
}

void *must_malloc(size_t bytes)
{
	return there(malloc(bytes ? bytes : 1));
}

void *must_calloc(size_t n, size_t bytes)
{
	return there(n && bytes ? calloc(n, bytes) : calloc(1, 1));
}

void *must_reallocarray(void *p, size_t n, size_t bytes)
{
	return there(n && bytes ? reallocarray(p, n, bytes) : realloc(p, 1));
}

char *must_strdup(const char *text)
{
	return there(strdup(text));
}

char *must_strndup(const char *text, size_t n)
{
	return there(strndup(text, n));
}

void *must_memdup(const void *p, size_t n)
{
	void *copy = must_malloc(n);

	if (n)
		memcpy(copy, p, n);
	return copy;
}

char *must_printf(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = must_vprintf(format, args);
	va_end(args);
	return text;
}

char *must_vprintf(const char *format, va_list args)
{
	char *text;

	return there(vasprintf(&text, format, args) < 0 ? NULL : text);
}

FILE *must_memstream(char **text, size_t *bytes)
{
	return there(open_memstream(text, bytes));
}

/* Without memory, fclose() may succeed and leave no text. */
void must_close(FILE *memstream, char *const *text)
{
	const int failed = ferror(memstream); /* it fails only without memory */

	if (fclose(memstream) || failed || !*text)
		memory_out();
}

void *grow_zeroed(void *array, size_t n, size_t *room, size_t bytes)
{
	const size_t had = *room;
	char *grown;

	*room = grow_room(n, had);
	grown = must_reallocarray(array, *room, bytes);
	memset(grown + had * bytes, 0, (*room - had) * bytes);
	return grown;
}
