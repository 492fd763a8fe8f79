/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * lacking.c [copies] - everything that an allocator may lack, under one that has only
 * malloc, free, calloc and realloc (lib/tiny_alloc.c).
 *
 * copies: its own realloc and free also take aligned blocks.  That is not so where they
 * come from elsewhere, natively and under mprof.
 */
#include "victim.h"

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>

enum { TURNS = 300 };

static int copies;
static volatile size_t huge = SIZE_MAX - 8;

static void aligned(void *p, size_t align, size_t size)
{
	must(p && !((uintptr_t)p & (align - 1)));
	memset(p, 0x5a, size);
}

static void *blocks(void *arg)
{
	char *kept[TURNS];
	void *p;

	for (int i = 0; i < TURNS; i++) {
		size_t align = (size_t)16 << i % 10, size = (size_t)i * 7 + 1;

		aligned(p = memalign(align, size), align, size);
		free(p);
		must(posix_memalign(&p, align, size) == 0);
		aligned(p, align, size);
		kept[i] = p;
		aligned(p = aligned_alloc(align, align * 2), align, align * 2);
		if (copies) {
			p = realloc(p, align * 3);
			must(p && !memcmp(p, kept[i], size < 2 * align ? size : 2 * align));
		}
		free(p);
		aligned(p = valloc(size), 4096, size);
		free(p);
		aligned(p = pvalloc(1), 4096, 4096);
		free(p);
		p = calloc(size, 2);
		must(p && !*(char *)p);
		p = reallocarray(p, size, 3);
		free(p);
	}
	for (int i = 0; i < TURNS; i++)
		free(kept[i]);
	must(posix_memalign(&p, 3, 1) && !memalign(64, huge));
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t other;

	copies = argc > 1 && !strcmp(argv[1], "copies");
	must(pthread_create(&other, NULL, blocks, NULL) == 0);
	blocks(NULL);
	must(pthread_join(other, NULL) == 0);
	say("expect calls.memalign %d", 2 * TURNS + 2);
	say("expect calls.posix_memalign %d", 2 * TURNS + 2);
	say("expect calls.aligned_alloc %d", 2 * TURNS);
	say("expect calls.valloc %d", 2 * TURNS);
	say("expect calls.pvalloc %d", 2 * TURNS);
	say("ends 0");
	return 0;
}
