/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * array.h - an array that grows to any requested index, filled with zeros; for results by process
 * and by thread.  Without memory the program ends.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/large.h"

struct array {
	void *item;
	size_t count, room; /* count: highest requested index, plus one */
};

/* Returns the item at index, never NULL.  Valid until the next call. */
static inline void *array_at(struct array *a, size_t index, size_t item_bytes)
{
	if (__builtin_expect(index >= a->room, 0))
		a->item = grow_zeroed(a->item, index + 1, &a->room, item_bytes);
	if (index >= a->count)
		a->count = index + 1;
	return (char *)a->item + index * item_bytes;
}

/* Makes room for n items at once. */
static inline void array_room(struct array *a, size_t n, size_t item_bytes)
{
	if (n > a->room)
		a->item = grow_zeroed(a->item, n, &a->room, item_bytes);
}

static inline void array_release(struct array *a)
{
	free(a->item);
	*a = (struct array){ .item = NULL };
}

/* An array of struct large. */
static inline struct large *array_large(struct array *a, size_t index)
{
	return array_at(a, index, sizeof(struct large));
}

static inline void array_larges_release(struct array *a)
{
	for (size_t i = 0; i < a->count; i++)
		large_release(array_large(a, i));
	array_release(a);
}
