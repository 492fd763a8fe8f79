/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * compile_addresses.h - which slot lives at which address: the compiler's table.
 *
 * Open addressing, Fibonacci hashing, linear probing, backward-shift deletion,
 * 16 bytes an entry; what is known of a block lies in an array by slot.  Kept
 * sparse, as heap/blocks.h is, for the same reason.  Address 0 is no key.
 *
 * Invariant: between the place that a key's hash names and the one that it is
 * in, no place is empty.  Threads: one at a time.
 */
#ifndef MPROF_COMPILE_COMPILE_ADDRESSES_H
#define MPROF_COMPILE_COMPILE_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../util/large.h"

#define ADDRESSES_FIRST	 1024u
#define ADDRESSES_SPARSE 65536u /* places; up to here at most a quarter is used, then half */

struct address {
	uint64_t addr; /* 0: empty */
	uint32_t slot;
	uint32_t process;
};

struct addresses {
	struct address *at;
	uint64_t capacity; /* a power of two */
	uint64_t used, limit;
	unsigned shift;
};

/* 0 or -ENOMEM. */
int addresses_init(struct addresses *t);
void addresses_release(struct addresses *t);
/* Twice the places; -ENOMEM leaves it as it is. */
int addresses_grow(struct addresses *t);
/* Takes out what addresses_find found. */
void addresses_take(struct addresses *t, struct address *a);

static inline uint64_t addresses_home(const struct addresses *t, uint64_t addr, uint32_t process)
{
	return (addr + ((uint64_t)process << 48)) * 0x9e3779b97f4a7c15ull >> t->shift;
}

static inline void addresses_prefetch(const struct addresses *t, uint64_t addr, uint32_t process)
{
	__builtin_prefetch(&t->at[addresses_home(t, addr, process)]);
}

/* NULL: nothing lives there.  Valid until the next put or take. */
static inline struct address *addresses_find(const struct addresses *t, uint64_t addr,
					     uint32_t process)
{
	const uint64_t mask = t->capacity - 1;
	uint64_t i;

	for (i = addresses_home(t, addr, process); t->at[i].addr; i = (i + 1) & mask)
		if (t->at[i].addr == addr && t->at[i].process == process)
			return &t->at[i];
	return NULL;
}

/* A key that is not in the table.  0 or -ENOMEM. */
static inline int addresses_put(struct addresses *t, uint64_t addr, uint32_t process, uint32_t slot)
{
	const uint64_t mask = t->capacity - 1;
	uint64_t i;

	if (__builtin_expect(t->used >= t->limit, 0)) {
		int ret = addresses_grow(t);

		return ret < 0 ? ret : addresses_put(t, addr, process, slot);
	}
	for (i = addresses_home(t, addr, process); t->at[i].addr; i = (i + 1) & mask)
		;
	t->at[i] = (struct address){ .addr = addr, .slot = slot, .process = process };
	t->used++;
	return 0;
}

#endif
