// SPDX-License-Identifier: LGPL-3.0-or-later
/* large.c - large pages for large tables. */
#include "large.h"
#include "memory.h"

#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE ((uintptr_t)2 << 20)
#define LINE  64u	 /* bytes of a cache line */
#define HEAP  (32 << 20) /* the greatest M_MMAP_THRESHOLD */

/* Rounds up to whole large pages. */
static size_t span(size_t bytes)
{
	return (bytes + LARGE - 1) & ~(size_t)(LARGE - 1);
}

/* Maps memory that begins at a large page. */
static char *map(size_t bytes)
{
	char *p =
	    mmap(NULL, bytes + LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before = -(uintptr_t)p & (LARGE - 1);

	if (p == MAP_FAILED)
		memory_out();
	if (before)
		munmap(p, before);
	munmap(p + before + bytes, LARGE - before);
	madvise(p + before, bytes, MADV_HUGEPAGE);
	return p + before;
}

/* Moves the pages of p instead of copying them. */
static void *map_more(char *p, size_t bytes, size_t more)
{
	char *grown = map(span(more));

	if (bytes >= LARGE) {
		bytes = span(bytes);
		if (mremap(p, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, grown) == MAP_FAILED)
			memory_out();
	} else if (bytes) {
		memcpy(grown, p, bytes);
		free(p);
	}
	return grown;
}

void *large_realloc(void *p, size_t bytes, size_t more)
{
	void *grown;

	if (more >= LARGE)
		return map_more(p, bytes, more);
	grown = aligned_alloc(LINE, (more + LINE - 1) & ~(size_t)(LINE - 1));
	if (!grown)
		memory_out();
	if (bytes)
		memcpy(grown, p, bytes);
	free(p);
	return grown;
}

void *large_extend(void *p, size_t bytes, size_t more)
{
	char *grown = large_realloc(p, bytes, more);

	if (more < LARGE)
		memset(grown + bytes, 0, more - bytes);
	return grown;
}

void large_free(void *p, size_t bytes)
{
	if (bytes >= LARGE)
		munmap(p, span(bytes));
	else
		free(p);
}

void large_heap(void)
{
	/* What is before the first large page: it would be in small ones. */
	static void *unused __attribute__((used));
	uintptr_t from, end;
	char *p;

	mallopt(M_MMAP_THRESHOLD, HEAP);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	p = malloc(HEAP - LARGE);
	if (!p)
		return;
	from = ((uintptr_t)p + LARGE - 1) & ~(LARGE - 1);
	end = ((uintptr_t)p + HEAP - LARGE) & ~(LARGE - 1);
	madvise((void *)from, end - from, MADV_HUGEPAGE);
	unused = realloc(p, from - (uintptr_t)p);
}
