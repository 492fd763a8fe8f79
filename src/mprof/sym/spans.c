/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* spans.c - address ranges, and which of them an address is in. */
#include "spans.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/order.h"
#include "../util/rank.h"

void spans_add(struct spans *s, uint64_t low, uint64_t high, uint32_t what, uint32_t rank)
{
	if (low >= high)
		return;
	GROW(s->span, s->count + 1, s->room);
	s->span[s->count++] = (struct span){ low, high, what, rank };
}

/* The best of the spans that begin together comes last, because the search goes backwards. */
ORDER(compare, struct span, RISING(low) ?: FALLING(rank) ?: FALLING(what))

#define FEW 64u

static bool are_sorted(const struct span *s, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (compare(&s[i - 1], &s[i]) > 0)
			return false;
	return true;
}

/* Sorts many spans, of which few begin together. */
static void sort_many(struct spans *s)
{
	struct ranked *r = must_malloc(s->count * sizeof(*r));
	struct span *sorted = must_reallocarray(NULL, s->room, sizeof(*sorted));
	size_t i, k;

	for (i = 0; i < s->count; i++)
		r[i] = (struct ranked){ s->span[i].low, i };
	rank(r, s->count);
	for (i = 0; i < s->count; i++)
		sorted[i] = s->span[r[i].item];
	for (i = 0; i < s->count; i = k) {
		for (k = i + 1; k < s->count && sorted[k].low == sorted[i].low;)
			k++;
		if (k - i > 1)
			SORT(&sorted[i], k - i, compare);
	}
	free(r);
	free(s->span);
	s->span = sorted;
}

void spans_sort(struct spans *s)
{
	size_t i;

	free(s->reach);
	s->reach = must_calloc(s->count + 1, sizeof(*s->reach));
	if (s->count < FEW)
		SORT(s->span, s->count, compare);
	else if (!are_sorted(s->span, s->count))
		sort_many(s);
	for (i = 0; i < s->count; i++)
		s->reach[i] =
		    i && s->reach[i - 1] > s->span[i].high ? s->reach[i - 1] : s->span[i].high;
}

const struct span *spans_find(const struct spans *s, uint64_t address)
{
	size_t i = FIRST_WHERE(k, s->reach ? s->count : 0, s->span[k].low > address);

	for (; i-- && s->reach[i] > address;)
		if (s->span[i].high > address)
			return &s->span[i];
	return NULL;
}

void spans_release(struct spans *s)
{
	free(s->span);
	free(s->reach);
	memset(s, 0, sizeof(*s));
}
