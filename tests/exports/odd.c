// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * odd.c - a function whose name in the symbol table has every character that
 * some format takes for itself.  Compiled without debug information, which would
 * give it its name of the source.
 */
#include <stdlib.h>

static void *odd(size_t bytes) __asm__("\"odd;na$me, <x&y> 12 {z}\"");

static __attribute__((noinline)) void *odd(size_t bytes)
{
	void *p = malloc(bytes);

	*(volatile char *)p = 1;
	return p;
}

void *call_odd(size_t bytes);
void *call_odd(size_t bytes)
{
	void *p = odd(bytes);

	*(volatile char *)p = 2;
	return p;
}
