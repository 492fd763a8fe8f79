// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * cache_open.c - the directory of the cache: opens it, and limits its size.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../util/alloc.h"
#include "../util/cache_directory.h"
#include "cache_format.h"

struct cache *cache_open(void)
{
	struct cache *c = must_calloc(1, sizeof(*c));
	char name[32];

	snprintf(name, sizeof(name), "symbols-%d", CACHE_FORMAT);
	c->directory = cache_directory(name);
	if (c->directory >= 0)
		return c;
	free(c);
	return NULL;
}

void cache_close(struct cache *c)
{
	if (!c)
		return;
	if (c->wrote)
		cache_directory_trim(c->directory, CACHE_BYTES);
	close(c->directory);
	free(c);
}
