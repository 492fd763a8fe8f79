// SPDX-License-Identifier: LGPL-3.0-or-later
/* large.c - large pages for large tables. */
#include "large.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE ((uintptr_t)2 << 20)

#define LONG (4 * LARGE)

void *large_calloc(size_t n, size_t bytes)
{
	void *p = calloc(n, bytes);
	uintptr_t from = ((uintptr_t)p + LARGE - 1) & -LARGE;
	uintptr_t to = ((uintptr_t)p + n * bytes) & -LARGE;

	/* Not touched yet: so large a piece is a mapping of its own. */
	if (p && n * bytes >= LONG && to > from)
		madvise((void *)from, to - from, MADV_HUGEPAGE);
	return p;
}

void *large_extend(void *p, size_t bytes, size_t more)
{
	char *grown;

	if (more < LONG) {
		grown = realloc(p, more);
		if (grown)
			memset(grown + bytes, 0, more - bytes);
		return grown;
	}
	if (bytes >= LONG)
		grown = mremap(p, bytes, more, MREMAP_MAYMOVE);
	else
		grown =
		    mmap(NULL, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (grown == MAP_FAILED)
		return NULL;
	if (bytes < LONG) {
		if (bytes)
			memcpy(grown, p, bytes);
		free(p);
	}
	return grown;
}

void large_free(void *p, size_t bytes)
{
	if (bytes >= LONG)
		munmap(p, bytes);
	else
		free(p);
}
