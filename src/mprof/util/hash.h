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
 * Composite keys: hash_of() or a mixed key of one's own, whose value leads to a chain of the
 * items that share it.  A zeroed struct is empty.  Ends: without memory the program (alloc.h).
 * Threads: one at a time, several if all of them only look up.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hash_slot {
	uint64_t key;
	uint64_t value; /* 0: empty */
};

struct hash {
	struct hash_slot *slot;
	size_t slots, used; /* slots: a power of two, or 0 */
	unsigned shift;	    /* 64 - log2(slots) */
};

/* For hash_at(). */
uint64_t *hash_add(struct hash *t, uint64_t key);

/* The slot of the key, or the empty one where it belongs; the table must have slots. */
static inline struct hash_slot *hash_slot(const struct hash *t, uint64_t key)
{
	size_t i = key * 0x9e3779b97f4a7c15ull >> t->shift;

	while (t->slot[i].value && t->slot[i].key != key)
		i = (i + 1) & (t->slots - 1);
	return &t->slot[i];
}

/* 0: absent. */
static inline uint64_t hash_get(const struct hash *t, uint64_t key)
{
	return t->slots ? hash_slot(t, key)->value : 0;
}

static inline void *hash_pointer(const struct hash *t, const void *key)
{
	return (void *)(uintptr_t)hash_get(t, (uintptr_t)key);
}

/*
 * The value of the key, 0 if it is new: then store one that is not 0 before the next call.
 * Valid until the next hash_at().
 */
static inline uint64_t *hash_at(struct hash *t, uint64_t key)
{
	struct hash_slot *s = t->slots ? hash_slot(t, key) : NULL;

	return s && s->value ? &s->value : hash_add(t, key);
}

/* A key for these bytes; others may have the same. */
uint64_t hash_of(const void *bytes, size_t n);

/* Empties it; what the values lead to is the caller's. */
void hash_release(struct hash *t);
