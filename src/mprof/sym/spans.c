/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* spans.c - address ranges, and which of them an address is in. */
#include "spans.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"

void spans_add(struct spans *s, uint64_t low, uint64_t high, uint32_t what, uint32_t rank)
{
	if (low >= high)
		return;
	GROW(s->span, s->count + 1, s->room);
	s->span[s->count++] = (struct span){ low, high, what, rank };
}

/* Of those that begin together the best comes last: the search goes backwards. */
static int compare(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return x->what > y->what ? -1 : x->what < y->what;
}

void spans_sort(struct spans *s)
{
	size_t i;

	free(s->reach);
	s->reach = must_calloc(s->count + 1, sizeof(*s->reach));
	if (s->count)
		qsort(s->span, s->count, sizeof(*s->span), compare);
	for (i = 0; i < s->count; i++)
		s->reach[i] =
		    i && s->reach[i - 1] > s->span[i].high ? s->reach[i - 1] : s->span[i].high;
}

const struct span *spans_find(const struct spans *s, uint64_t address)
{
	size_t low = 0, high = s->reach ? s->count : 0, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (s->span[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low-- && s->reach[low] > address;)
		if (s->span[low].high > address)
			return &s->span[low];
	return NULL;
}

void spans_release(struct spans *s)
{
	free(s->span);
	free(s->reach);
	memset(s, 0, sizeof(*s));
}
