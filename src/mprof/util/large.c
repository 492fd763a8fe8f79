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
#define SMALL (32 << 20) /* the greatest M_MMAP_THRESHOLD: malloc takes less from its heap */
#define HEAP  (120 << 20)
#define PAD   (128 << 10) /* the default M_TOP_PAD */
#define MORE  (1 << 20)	  /* than the heap has before it grows */
#define PART  8u	  /* of the memory that the command may take */

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
	if (!p)
		return; /* munmap would take what lies at address 0 */
	if (bytes >= LARGE)
		munmap(p, span(bytes));
	else
		free(p);
}

void large_more(struct large *t, size_t bytes)
{
	size_t room = t->bytes ? t->bytes : 4096;

	while (room < bytes)
		room *= 2;
	t->item = large_extend(t->item, t->bytes, room);
	t->bytes = room;
}

void large_release(struct large *t)
{
	large_free(t->item, t->bytes);
	*t = (struct large){ .item = NULL };
}

void large_heap(void)
{
	/* What is before the first large page: it would be in small ones. */
	static void *before;
	const uint64_t part = memory_cap_bytes() / PART;
	const size_t bytes = part < HEAP ? (size_t)part : HEAP;
	uintptr_t from;
	char *first;

	if (before || bytes < 2 * LARGE)
		return;
	mallopt(M_MMAP_THRESHOLD, SMALL);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	/* In one step, because malloc writes a header behind everything that it returns. */
	mallopt(M_TOP_PAD, (int)bytes);
	first = malloc(MORE);
	mallopt(M_TOP_PAD, PAD);
	if (!first)
		return;
	from = ((uintptr_t)first + MORE + LARGE) & ~(LARGE - 1);
	madvise((void *)from, ((uintptr_t)first + MORE + bytes - from) & ~(LARGE - 1),
		MADV_HUGEPAGE);
	before = realloc(first, from - (uintptr_t)first);
}
