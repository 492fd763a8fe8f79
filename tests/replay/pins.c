// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * pins.c - a victim that pins pages: after a peak of 16 MB it keeps one block
 * of 40 bytes in every 4 KiB, all of one function, and prints what its own
 * blocks' addresses say: pages that hold fewer than 64 bytes of them, and blocks.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT	4096
#define SCRATCH 100

static char *kept[KEPT], *scratch[KEPT * SCRATCH];

__attribute__((noinline)) static char *cache_insert(void)
{
	char *block = malloc(40);

	memset(block, 1, 40);
	return block;
}

__attribute__((noinline)) static char *scratch_get(void)
{
	char *block = malloc(40);

	memset(block, 2, 40);
	return block;
}

/* A block may reach into a second page. */
static unsigned pages_held(void)
{
	static unsigned char bytes[1 << 16]; /* of each page from the lowest one on */
	uintptr_t first = (uintptr_t)kept[0] / 4096, page;
	unsigned held = 0, i, j;

	for (i = 0; i < KEPT; i++)
		if ((uintptr_t)kept[i] / 4096 < first)
			first = (uintptr_t)kept[i] / 4096;
	for (i = 0; i < KEPT; i++)
		for (j = 0; j < 40; j++) {
			page = (uintptr_t)(kept[i] + j) / 4096 - first;
			if (page < sizeof(bytes) && bytes[page] < 64)
				bytes[page]++;
		}
	for (page = 0; page < sizeof(bytes); page++)
		held += bytes[page] && bytes[page] < 64;
	return held;
}

int main(void)
{
	static char line[64];
	size_t n = 0, i, j;

	setvbuf(stdout, NULL, _IONBF, 0);
	for (i = 0; i < KEPT; i++) {
		kept[i] = cache_insert();
		for (j = 0; j < SCRATCH; j++)
			scratch[n++] = scratch_get();
	}
	for (i = 0; i < n; i++)
		free(scratch[i]);
	snprintf(line, sizeof(line), "%u\n", pages_held());
	fputs(line, stdout);
	return 0;
}
