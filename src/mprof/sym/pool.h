/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * pool.h - memory that is given back all at once, strings that exist once, and
 * a map of pointers.
 *
 * Two equal interned strings are one pointer, so names are compared and looked
 * up by address.  Errors: NULL or false without memory.  Threads: one at a time.
 */
#ifndef MPROF_SYM_POOL_H
#define MPROF_SYM_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From pointers (not NULL) to pointers.  All zero is an empty one. */
struct pool_map {
	const void **key;
	void **value;
	size_t used, room; /* room: a power of two */
};

void *pool_map_get(const struct pool_map *m, const void *key);
bool pool_map_put(struct pool_map *m, const void *key, void *value);
void pool_map_release(struct pool_map *m);

struct pool_chunk;

/* All zero is an empty one. */
struct pool {
	struct pool_chunk *chunk;
	size_t left;	      /* bytes behind `next` */
	char *next;	      /* in the newest chunk */
	const char **strings; /* hash table, NULL: free */
	size_t used, room;
};

/* Aligned for any type; not zeroed. */
void *pool_alloc(struct pool *p, size_t bytes);
const char *pool_intern(struct pool *p, const char *text);
const char *pool_intern_n(struct pool *p, const char *text, size_t n);
void pool_release(struct pool *p);

#endif
