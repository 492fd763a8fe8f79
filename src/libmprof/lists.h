/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * lists.h - lists that any number of threads put to and take from without waiting
 * for each other, last in, first out.
 *
 * A node is the place inside an object that links it: a `void *`, aligned to 8.  A
 * node may be read by a thread that lost the race for it, so its memory stays for
 * ever.  The head is the first node's address and, above it, how often a node has
 * been taken: a thread that was held up while taking one must not find the same
 * node first again, with another one behind it, and not notice.  The count begins
 * anew after half a million: all that a thread may sleep through.
 *
 * Zeroed memory is an empty list.
 */
#ifndef MP_LISTS_H
#define MP_LISTS_H

#include <stddef.h>
#include <stdint.h>

struct mp_list {
	uint64_t head;
};

#define LIST_BITS 45 /* of an address / 8: programs have 48 bits of it */
#define LIST_NODE ((1ull << LIST_BITS) - 1)

static inline void **mp_list_first(uint64_t head)
{
	return (void **)(uintptr_t)((head & LIST_NODE) << 3);
}

/* first ... last are linked already. */
static inline void mp_list_put_all(struct mp_list *l, void **first, void **last)
{
	uint64_t head = __atomic_load_n(&l->head, __ATOMIC_RELAXED), new;

	do {
		__atomic_store_n(last, mp_list_first(head), __ATOMIC_RELAXED);
		new = (head & ~LIST_NODE) | (uintptr_t)first >> 3;
		/* Pairs with the acquires below: what the objects hold was written before. */
	} while (!__atomic_compare_exchange_n(&l->head, &head, new, 1, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

static inline void mp_list_put(struct mp_list *l, void **node)
{
	mp_list_put_all(l, node, node);
}

/* all: the whole list, linked from its first node on.  NULL: it is empty. */
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

#endif
