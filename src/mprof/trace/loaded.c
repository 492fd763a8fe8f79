// SPDX-License-Identifier: LGPL-3.0-or-later
/* loaded.c - finds which object was mapped where in a process. */
#include "../util/order.h"
#include "loaded.h"

#include <string.h>

#include "../util/alloc.h"

/* Returns the first range that ends after this address. */
static size_t lower(const struct loaded_ranges *r, uint64_t address)
{
	return FIRST_WHERE(i, r->n, r->item[i].end > address);
}

void loaded_remove(struct loaded_ranges *r, uint64_t first, uint64_t end)
{
	size_t from = lower(r, first), to = from;

	while (to < r->n && r->item[to].first < end)
		to++;
	if (to > from)
		memmove(&r->item[from], &r->item[to], (r->n - to) * sizeof(*r->item));
	r->n -= to - from;
	r->last = 0;
}

bool loaded_add(struct loaded_ranges *r, const struct loaded *l)
{
	size_t at;

	loaded_remove(r, l->first, l->end);
	if (r->n >= LOADED_MAX)
		return false;
	GROW(r->item, r->n + 1, r->room);
	at = lower(r, l->first);
	memmove(&r->item[at + 1], &r->item[at], (r->n - at) * sizeof(*r->item));
	r->item[at] = *l;
	r->n++;
	return true;
}

const struct loaded *loaded_find(struct loaded_ranges *r, uint64_t address)
{
	size_t i = r->last;

	if (i >= r->n || address < r->item[i].first || address >= r->item[i].end)
		i = lower(r, address);
	if (i >= r->n || address < r->item[i].first)
		return NULL;
	r->last = i;
	return &r->item[i];
}
