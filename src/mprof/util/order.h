/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * order.h - sorting and searching arrays: an order is one line.
 *
 *	ORDER(by_size, struct site, FALLING(bytes) ?: RISING(key))
 *	...
 *	SORT(site, sites, by_size);
 *	i = FIRST_WHERE(k, sites, site[k].bytes <= bytes);
 *
 * Threads: any.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>

/* Compares a with b: negative, 0 or positive. */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Makes a function for SORT, which compares the items *x and *y; keys are joined by ?: */
#define ORDER(name, type, order)                               \
	static int name(const void *first, const void *second) \
	{                                                      \
		const type *x = first;                         \
		const type *y = second;                        \
                                                               \
		return order;                                  \
	}
/* The same for SORT_IN: *in is what all items belong to. */
#define ORDER_IN(name, type, of, order)                                     \
	static int name(const void *first, const void *second, void *whole) \
	{                                                                   \
		const type *x = first;                                      \
		const type *y = second;                                     \
		const of *in = whole;                                       \
                                                                            \
		return order;                                               \
	}
/* Sorts by a member, small values first, or large ones. */
#define RISING(member)	COMPARE(x->member, y->member)
#define FALLING(member) COMPARE(y->member, x->member)
#define BY_NAME(member) strcmp(x->member, y->member)

/* The array may be NULL if it is empty. */
#define SORT(array, n, order)                                         \
	do {                                                          \
		if (n)                                                \
			qsort((array), (n), sizeof(*(array)), order); \
	} while (0)

#define SORT_IN(array, n, order, in)                                                  \
	do {                                                                          \
		if (n)                                                                \
			qsort_r((array), (n), sizeof(*(array)), order, (void *)(in)); \
	} while (0)

/* In a sorted array: the first index i below n for which `test` is true; n if it never is. */
#define FIRST_WHERE(i, n, test)                                  \
	({                                                       \
		size_t first_ = 0, end_ = (n);                   \
                                                                 \
		while (first_ < end_) {                          \
			size_t i = first_ + (end_ - first_) / 2; \
                                                                 \
			if (test)                                \
				end_ = i;                        \
			else                                     \
				first_ = i + 1;                  \
		}                                                \
		first_;                                          \
	})
