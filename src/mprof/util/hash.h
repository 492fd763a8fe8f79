/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * hash.h - the hash table of the command line: from 64-bit numbers (addresses, pointers, pairs
 * of 32-bit numbers, hashes of text) to values that are not 0.
 *
 * Open addressing with Fibonacci hashing and linear probing, 16 bytes a slot, at most three
 * quarters full, so that one cache line answers most look-ups.  It is as fast as the
 * special-purpose tables that it replaced (a hit in 3 ns in the cache, 33 ns beyond it).  uthash
 * and stb_ds take 5 to 9 times as long, and stb_ds does not pass UBSan; GLib aborts the program
 * without memory.
 *
 * Composite keys: use hash_of() or mix one; the value then leads to a chain of the items that share
 * the key.  A zeroed struct is empty.  Without memory the program ends (alloc.h).  Threads: one at
 * a time, several if all of them only look up.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hash_slot {
	uint64_t key;
	uint64_t value; /* 0 = empty */
};

struct hash {
	struct hash_slot *slot;
	size_t slots, used; /* slots: a power of two, or 0 */
	unsigned shift;	    /* 64 - log2(slots) */
};

/* Called by hash_at(). */
uint64_t *hash_add(struct hash *t, uint64_t key);

/* Returns the slot of the key, or the empty one where it belongs; the table must have slots. */
static inline struct hash_slot *hash_slot(const struct hash *t, uint64_t key)
{
	size_t i = key * 0x9e3779b97f4a7c15ull >> t->shift;

	while (t->slot[i].value && t->slot[i].key != key)
		i = (i + 1) & (t->slots - 1);
	return &t->slot[i];
}

/* Returns the value, 0 if the key is absent. */
static inline uint64_t hash_get(const struct hash *t, uint64_t key)
{
	return t->slots ? hash_slot(t, key)->value : 0;
}

static inline void *hash_pointer(const struct hash *t, const void *key)
{
	return (void *)(uintptr_t)hash_get(t, (uintptr_t)key);
}

/*
 * Returns the value of the key, 0 if it is new: then store one that is not 0 before the next call.
 * Valid until the next hash_at().
 */
static inline uint64_t *hash_at(struct hash *t, uint64_t key)
{
	struct hash_slot *s = t->slots ? hash_slot(t, key) : NULL;

	return s && s->value ? &s->value : hash_add(t, key);
}

/* Returns a key for these bytes; other bytes may have the same key. */
uint64_t hash_of(const void *bytes, size_t n);

/* Empties the table; the caller frees the items that values lead to. */
void hash_release(struct hash *t);
