/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* large.h - memory that is accessed at random. */
#pragma once

#include <stddef.h>

#include "inline.h"

/*
 * An array that grows.  If it is long, the part that was never written takes no memory, and the
 * rest is in large pages, which avoid most TLB misses and page faults.  It begins at a cache line.
 * large_extend fills the new part with zeros.  Without memory the program ends (alloc.h).  The
 * caller keeps its size; p is NULL at first.  Free it with large_free(), not free(); NULL
 * is ignored, whatever the size.
 */
void *large_realloc(void *p, size_t bytes, size_t more);
void *large_extend(void *p, size_t bytes, size_t more);
void large_free(void *p, size_t bytes);

/* Such an array whose items are zero until they are written; one that is zeroed is empty. */
struct large {
	void *item;
	size_t bytes;
};

void large_more(struct large *t, size_t bytes);

/* Returns the item at index, never NULL.  Valid until the next call. */
static inline void *large_at(struct large *t, size_t index, size_t item_bytes)
{
	if (__builtin_expect((index + 1) * item_bytes > t->bytes, 0))
		large_more(t, (index + 1) * item_bytes);
	return (char *)t->item + index * item_bytes;
}

/* The same; NULL if no item there was ever asked for. */
static inline void *large_known(const struct large *t, size_t index, size_t item_bytes)
{
	return (index + 1) * item_bytes <= t->bytes ? (char *)t->item + index * item_bytes : NULL;
}

void large_release(struct large *t);

/*
 * From now on malloc also takes its first 120 MB from large pages, or less if memory is limited to
 * less than 1 GB, and keeps freed memory.  For a command that soon fills them: page faults were a
 * third of the time of a report on a real program.
 */
void large_heap(void);
