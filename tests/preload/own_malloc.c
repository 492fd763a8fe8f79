/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * own_malloc.c - a program with its own allocator in the executable, which
 * does not call a preloaded one.  It must run as it does without us.
 */
#include "victim.h"

#include <stdint.h>

static char arena[1 << 20] __attribute__((aligned(64)));
static size_t used;
static unsigned long calls;

void *malloc(size_t size)
{
	void *p = arena + used;

	calls++;
	used += (size + 63) & ~(size_t)63;
	return used <= sizeof(arena) ? p : NULL;
}

void free(void *p)
{
	must(!p || (uintptr_t)p - (uintptr_t)arena < sizeof(arena));
}

void *calloc(size_t count, size_t size)
{
	return malloc(count * size);
}

void *realloc(void *p, size_t size)
{
	void *q = malloc(size);

	if (p && q)
		memcpy(q, p, size);
	return q;
}

int main(void)
{
	char *p = strdup("from the C library, out of our arena");
	char *q = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&q, &n);

	must(p >= arena && p < arena + sizeof(arena));
	free(p);
	must(f && fputs("words", f) >= 0 && fclose(f) == 0);
	must(n == 5 && q >= arena && q < arena + sizeof(arena));
	free(q);
	p = reallocarray(calloc(3, 5), 7, 11);
	must(p >= arena && p < arena + sizeof(arena));
	free(p);
	must(calls >= 2);
	say("ends 0");
	return 0;
}
