/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* kinds.c - every function that hands memory out has the stack of its caller. */
#include "stack.h"

#include <malloc.h>
#include <sys/mman.h>

#define CALL(size, name, call)               \
	FRAME static void calls_##name(void) \
	{                                    \
		kept = call;                 \
		STAY();                      \
	}                                    \
	enum { size_of_##name = size }
#define PAGE 4096

static void *given;

FRAME static void *by_posix_memalign(size_t size)
{
	void *p;

	must(posix_memalign(&p, 256, size) == 0);
	return p;
}

CALL(2001, malloc, malloc(2001));
CALL(2002, calloc, calloc(1, 2002));
CALL(2004, calloc_product, calloc(4, 501));
CALL(2005, realloc, realloc(given, 2005));
CALL(2006, realloc_null, realloc(NULL, 2006));
CALL(2010, reallocarray, reallocarray(NULL, 5, 402));
CALL(2011, memalign, memalign(512, 2011));
CALL(2048, aligned_alloc, aligned_alloc(64, 2048));
CALL(2013, valloc, valloc(2013));
CALL(20480, pvalloc, pvalloc(20480));
CALL(77 * PAGE, mmap,
     mmap(NULL, 77 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
CALL(91 * PAGE, mremap, mremap(kept, 77 * PAGE, 91 * PAGE, MREMAP_MAYMOVE));
CALL(23 * PAGE, sbrk, sbrk(23 * PAGE));
CALL(300001, malloc_mapped, malloc(300001));

FRAME static void *grow(void *p, size_t size)
{
	p = realloc(p, size);
	STAY();
	return p;
}

FRAME static void *append(void *p, size_t size)
{
	p = grow(p, size);
	STAY();
	return p;
}

#define RUN(name)                                                           \
	do {                                                                \
		calls_##name();                                             \
		say("chain %d calls_%s " MAIN, (int)size_of_##name, #name); \
	} while (0)

int main(void)
{
	void *p = NULL;

	given = malloc(10);
	RUN(malloc);
	RUN(calloc);
	RUN(calloc_product);
	RUN(realloc);
	RUN(realloc_null);
	RUN(reallocarray);
	RUN(memalign);
	RUN(aligned_alloc);
	RUN(valloc);
	RUN(pvalloc);
	RUN(malloc_mapped);
	RUN(mmap);
	RUN(mremap);
	RUN(sbrk);
	kept = by_posix_memalign(2014);
	say("chain 2014 by_posix_memalign " MAIN);
	for (size_t i = 0; i < 20; i++) {
		p = append(p, 3000 + 100 * i);
		say("chain %zu grow append " MAIN, 3000 + 100 * i);
	}
	return 0;
}
