/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * array.h - an array by index that grows, filled with zeros, to whatever index
 * is asked for; for results by process and by thread.
 */
#ifndef MPROF_PASS_ARRAY_H
#define MPROF_PASS_ARRAY_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct array {
	void *item;
	size_t count, room; /* count: highest index asked for, plus one */
};

/* The item at index, NULL without memory.  Valid until the next call. */
static inline void *array_at(struct array *a, size_t index, size_t item_bytes)
{
	size_t room = a->room ? a->room : 8;
	char *grown;

	if (__builtin_expect(index >= a->room, 0)) {
		while (room <= index)
			room *= 2;
		grown = reallocarray(a->item, room, item_bytes);
		if (!grown)
			return NULL;
		memset(grown + a->room * item_bytes, 0, (room - a->room) * item_bytes);
		a->item = grown;
		a->room = room;
	}
	if (index >= a->count)
		a->count = index + 1;
	return (char *)a->item + index * item_bytes;
}

static inline void array_release(struct array *a)
{
	free(a->item);
	*a = (struct array){ .item = NULL };
}

#endif
