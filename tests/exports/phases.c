// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * phases.c - two phases that fill 90 MiB, a mapping, then most of it is given back.
 * It rests at the height for long enough that its size is sampled there.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *block[70];

static __attribute__((noinline)) void phase1(void)
{
	for (int i = 0; i < 50; i++)
		block[i] = memset(malloc(1 << 20), 1, 1 << 20);
}

static __attribute__((noinline)) void phase2(void)
{
	for (int i = 50; i < 70; i++)
		block[i] = memset(malloc(2 << 20), 1, 2 << 20);
}

int main(void)
{
	void *map;

	phase1();
	phase2();
	map = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(map, 1, 4 << 20);
	usleep(500000);
	munmap(map, 4 << 20);
	for (int i = 0; i < 60; i++)
		free(block[i]);
	for (int i = 0; i < 2000; i++)
		free(malloc(10));
	return 0;
}
