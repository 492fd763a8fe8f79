// SPDX-License-Identifier: LGPL-3.0-or-later
/* rank.c - see rank.h. */
#include "rank.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

#define DIGIT  11u /* bits */
#define DIGITS (1u << DIGIT)

static size_t digit(uint64_t key, unsigned shift)
{
	return key >> shift & (DIGITS - 1);
}

/* Sorts by one digit. */
static void deal(struct ranked *to, const struct ranked *from, size_t n, unsigned shift)
{
	size_t at[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[digit(from[i].key, shift)]++;
	for (size_t i = 0; i < DIGITS; i++) {
		const size_t here = at[i];

		at[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < n; i++)
		to[at[digit(from[i].key, shift)]++] = from[i];
}

void rank(struct ranked *r, size_t n)
{
	struct ranked *other = must_malloc((n + 1) * sizeof(*other)), *from = r, *to = other, *swap;
	uint64_t differ = 0;

	for (size_t i = 1; i < n; i++)
		differ |= r[i].key ^ r[0].key;
	for (unsigned shift = 0; shift < 64 && differ >> shift; shift += DIGIT) {
		if (!digit(differ, shift))
			continue;
		deal(to, from, n, shift);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != r)
		memcpy(r, from, n * sizeof(*r));
	free(other);
}

void ranked_move(struct ranked *r, size_t n, void *items, size_t bytes)
{
	char *const first = items, *const kept = must_malloc(bytes);
	size_t to, from;

	for (size_t i = 0; i < n; i++) {
		if (r[i].item == i)
			continue;
		memcpy(kept, first + i * bytes, bytes);
		for (to = i; (from = r[to].item) != i; to = from) {
			memcpy(first + to * bytes, first + from * bytes, bytes);
			r[to].item = to;
		}
		memcpy(first + to * bytes, kept, bytes);
		r[to].item = to;
	}
	free(kept);
}
