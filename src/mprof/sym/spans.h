/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * spans.h - address ranges, and which of them an address is in.
 *
 * Filled with spans_add, ordered once with spans_sort, then asked.  Ranges may
 * overlap and contain each other: the one that begins last is the answer, and of
 * those that begin together the one that was best by `rank`.
 * Errors: false without memory.
 */
#ifndef MPROF_SYM_SPANS_H
#define MPROF_SYM_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
	uint64_t low, high; /* high: the first address behind it */
	uint32_t what;	    /* for the owner */
	uint32_t rank;	    /* of those with the same low, a smaller one is preferred */
};

/* All zero is an empty one. */
struct spans {
	struct span *span;
	uint64_t *reach; /* the greatest high of this one and all before */
	size_t count, room;
};

void spans_add(struct spans *s, uint64_t low, uint64_t high, uint32_t what, uint32_t rank);
void spans_sort(struct spans *s);
/* NULL: none contains it. */
const struct span *spans_find(const struct spans *s, uint64_t address);
void spans_release(struct spans *s);

#endif
