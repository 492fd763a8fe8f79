/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * spans.h - address ranges, and which of them contains an address.
 *
 * Fill with spans_add, sort once with spans_sort, then search.  Ranges may overlap and contain each
 * other: the search finds the one that begins last, and of those that begin together the one with
 * the best `rank`.  Errors: false without memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
	uint64_t low, high; /* high: the first address after it */
	uint32_t what;	    /* the owner's value */
	uint32_t rank;	    /* of spans with the same low, the smallest rank is preferred */
};

/* All zero = empty. */
struct spans {
	struct span *span;
	uint64_t *reach; /* the greatest high of this span and all before it */
	size_t count, room;
};

void spans_add(struct spans *s, uint64_t low, uint64_t high, uint32_t what, uint32_t rank);
void spans_sort(struct spans *s);
/* Returns NULL if no span contains the address. */
const struct span *spans_find(const struct spans *s, uint64_t address);
void spans_release(struct spans *s);
