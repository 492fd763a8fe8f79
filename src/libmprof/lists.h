/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * lists.h - lock-free lists, last in, first out, for any number of threads.
 *
 * A node is the place inside an object that links it: a `void *`, aligned to 8.  A node may be read
 * by a thread that lost the race for it, so its memory is never unmapped.  The head is the first
 * node's address and, above it, a count of nodes taken, against the ABA problem: a thread that was
 * delayed while taking a node must notice that the same node is first again but has another
 * successor.  The count wraps after half a million.
 *
 * Zeroed memory is an empty list.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mp_list {
	uint64_t head;
};

#define LIST_BITS 45 /* bits of an address / 8: user space has 48-bit addresses */
#define LIST_NODE ((1ull << LIST_BITS) - 1)

static inline void **mp_list_first(uint64_t head)
{
	return (void **)(uintptr_t)((head & LIST_NODE) << 3);
}

/* Puts a chain of nodes, already linked from first to last, at the front. */
static inline void mp_list_put_all(struct mp_list *l, void **first, void **last)
{
	uint64_t head = __atomic_load_n(&l->head, __ATOMIC_RELAXED), new;

	do {
		__atomic_store_n(last, mp_list_first(head), __ATOMIC_RELAXED);
		new = (head & ~LIST_NODE) | (uintptr_t)first >> 3;
		/* Pairs with the acquires below: the objects' contents were written before. */
	} while (!__atomic_compare_exchange_n(&l->head, &head, new, 1, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

static inline void mp_list_put(struct mp_list *l, void **node)
{
	mp_list_put_all(l, node, node);
}

/* Takes the first node or, with `all`, the whole chain; NULL if the list is empty. */
static inline void **mp_list_take(struct mp_list *l, int all)
{
	uint64_t head = __atomic_load_n(&l->head, __ATOMIC_ACQUIRE), new;
	void **node;

	do {
		node = mp_list_first(head);
		if (!node)
			return NULL;
		new = (head & ~LIST_NODE) + (1ull << LIST_BITS);
		if (!all)
			new |= (uintptr_t)__atomic_load_n(node, __ATOMIC_RELAXED) >> 3;
	} while (!__atomic_compare_exchange_n(&l->head, &head, new, 1, __ATOMIC_ACQUIRE,
					      __ATOMIC_ACQUIRE));
	return node;
}
