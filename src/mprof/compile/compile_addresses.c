// SPDX-License-Identifier: LGPL-3.0-or-later
/* compile_addresses.c - which slot lives at which address: what is not hot. */
#include "compile_addresses.h"

#include <errno.h>
#include <stdlib.h>

static int make(struct addresses *t, uint64_t capacity)
{
	t->at = large_calloc(capacity, sizeof(*t->at));
	if (!t->at)
		return -ENOMEM;
	t->capacity = capacity;
	t->used = 0;
	t->limit = capacity <= ADDRESSES_SPARSE ? capacity / 4 : capacity / 2;
	t->shift = 64 - (unsigned)__builtin_ctzll(capacity);
	return 0;
}

int addresses_init(struct addresses *t)
{
	return make(t, ADDRESSES_FIRST);
}

void addresses_release(struct addresses *t)
{
	free(t->at);
	t->at = NULL;
	t->capacity = t->used = 0;
}

int addresses_grow(struct addresses *t)
{
	struct addresses old = *t;
	uint64_t i;

	if (make(t, 2 * old.capacity) < 0) {
		*t = old;
		return -ENOMEM;
	}
	for (i = 0; i < old.capacity; i++)
		if (old.at[i].addr)
			(void)addresses_put(t, old.at[i].addr, old.at[i].process, old.at[i].slot);
	free(old.at);
	return 0;
}

void addresses_take(struct addresses *t, struct address *a)
{
	const uint64_t mask = t->capacity - 1;
	uint64_t hole = (uint64_t)(a - t->at), i = hole, home;

	for (;;) {
		i = (i + 1) & mask;
		if (!t->at[i].addr)
			break;
		/* It may move back into the hole unless its home lies behind that. */
		home = addresses_home(t, t->at[i].addr, t->at[i].process);
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			t->at[hole] = t->at[i];
			hole = i;
		}
	}
	t->at[hole].addr = 0;
	t->used--;
}
