// SPDX-License-Identifier: LGPL-3.0-or-later
/* hash.c - the hash table of the command line. */
#include "hash.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

#define SLOTS_FIRST 64u

static void more_slots(struct hash *t)
{
	struct hash_slot *old = t->slot;
	const size_t slots = t->slots;

	t->slots = t->slots ? 2 * t->slots : SLOTS_FIRST;
	t->shift = 64 - (unsigned)__builtin_ctzll(t->slots);
	t->slot = must_calloc(t->slots, sizeof(*t->slot));
	for (size_t i = 0; i < slots; i++)
		if (old[i].value)
			*hash_slot(t, old[i].key) = old[i];
	free(old);
}

uint64_t *hash_add(struct hash *t, uint64_t key)
{
	struct hash_slot *s;

	if (t->used * 4 >= t->slots * 3)
		more_slots(t);
	s = hash_slot(t, key);
	s->key = key;
	t->used++;
	return &s->value;
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0x9e3779b97f4a7c15ull;
	return x ^ x >> 29;
}

uint64_t hash_of(const void *bytes, size_t n)
{
	const char *at = bytes;
	uint64_t h = n * 0x9e3779b97f4a7c15ull, word;

	for (; n >= sizeof(word); n -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		h = mix(h ^ word);
	}
	word = 0;
	if (n)
		memcpy(&word, at, n);
	return mix(h ^ word);
}

void hash_release(struct hash *t)
{
	free(t->slot);
	*t = (struct hash){ .slot = NULL };
}
