// SPDX-License-Identifier: LGPL-3.0-or-later
/* large.c - large pages for large tables. */
#include "large.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LARGE ((uintptr_t)2 << 20)

void *large_calloc(size_t n, size_t bytes)
{
	void *p = calloc(n, bytes);
	uintptr_t from = ((uintptr_t)p + LARGE - 1) & -LARGE;
	uintptr_t to = ((uintptr_t)p + n * bytes) & -LARGE;

	/* Not touched yet: so large a piece is a mapping of its own. */
	if (p && n * bytes >= 4 * LARGE && to > from)
		madvise((void *)from, to - from, MADV_HUGEPAGE);
	return p;
}
