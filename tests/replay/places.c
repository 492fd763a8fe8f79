// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * places.c - allocates blocks and prints their places: a line NAME ADDRESS BYTES for each block
 * alive when most is, then at the end all is freed but `pin` and a block above the others.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE  4096
#define LARGE (64 * PAGE)
#define MANY  64

static void say(const char *name, const void *at, size_t bytes)
{
	char line[128];
	int n =
	    snprintf(line, sizeof(line), "%s %lx %zu\n", name, (unsigned long)(uintptr_t)at, bytes);

	/* dprintf would allocate. */
	if (write(1, line, (size_t)n) != n)
		_exit(1);
}

/* Without the compiler's knowledge, so that each is a function of its own in the stacks. */
__attribute__((noinline)) static void *full_pages(void)
{
	char *p = aligned_alloc(PAGE, 8 * PAGE);

	memset(p, 1, 8 * PAGE);
	return p;
}

__attribute__((noinline)) static void *half_page(void)
{
	char *p = aligned_alloc(PAGE, PAGE / 2);

	memset(p, 1, PAGE / 2);
	return p;
}

__attribute__((noinline)) static void *pinned_page(void)
{
	char *p = aligned_alloc(PAGE, 40);

	memset(p, 1, 40);
	return p;
}

int main(void)
{
	char *many[MANY], *full, *half, *pin, *gone, *lid;
	int i;

	/* Neighbours that are larger than a page, so that memory beside a block is not used. */
	full = full_pages();
	half = half_page();
	pin = pinned_page();
	gone = aligned_alloc(PAGE, 8 * PAGE);
	memset(gone, 1, 8 * PAGE);
	say("gone", gone, 8 * PAGE);
	for (i = 0; i < MANY; i++) {
		many[i] = malloc(LARGE / 4);
		memset(many[i], 1, LARGE / 4);
	}
	lid = malloc(2 * PAGE); /* fits nowhere but at the top: what is below stays */
	memset(lid, 1, 2 * PAGE);
	free(gone);
	many[0] = realloc(many[0], LARGE); /* the peak */
	say("full", full, 8 * PAGE);
	say("half", half, PAGE / 2);
	say("pin", pin, 40);
	for (i = 0; i < MANY; i++)
		free(many[i]);
	free(full);
	free(half);
	_exit(0);
}
