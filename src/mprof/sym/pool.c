/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* pool.c - memory that is given back all at once, interned strings, a map of pointers. */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)64 << 10)
#define ROOM_FIRST  256

struct pool_chunk {
	struct pool_chunk *older;
	_Alignas(16) char bytes[];
};

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0x9e3779b97f4a7c15u;
	return x ^ x >> 29;
}

static size_t map_slot(const struct pool_map *m, const void *key)
{
	size_t i = mix((uintptr_t)key) & (m->room - 1);

	while (m->key[i] && m->key[i] != key)
		i = (i + 1) & (m->room - 1);
	return i;
}

void *pool_map_get(const struct pool_map *m, const void *key)
{
	size_t i;

	if (!m->room)
		return NULL;
	i = map_slot(m, key);
	return m->key[i] ? m->value[i] : NULL;
}

static bool map_grow(struct pool_map *m)
{
	struct pool_map big = { .room = m->room ? m->room * 2 : ROOM_FIRST };
	size_t i, slot;

	big.key = calloc(big.room, sizeof(*big.key));
	big.value = calloc(big.room, sizeof(*big.value));
	if (!big.key || !big.value) {
		pool_map_release(&big);
		return false;
	}
	for (i = 0; i < m->room; i++) {
		if (!m->key[i])
			continue;
		slot = map_slot(&big, m->key[i]);
		big.key[slot] = m->key[i];
		big.value[slot] = m->value[i];
	}
	big.used = m->used;
	pool_map_release(m);
	*m = big;
	return true;
}

bool pool_map_put(struct pool_map *m, const void *key, void *value)
{
	size_t i;

	if (m->used * 4 >= m->room * 3 && !map_grow(m))
		return false;
	i = map_slot(m, key);
	m->used += !m->key[i];
	m->key[i] = key;
	m->value[i] = value;
	return true;
}

void pool_map_release(struct pool_map *m)
{
	free(m->key);
	free(m->value);
	memset(m, 0, sizeof(*m));
}

void *pool_alloc(struct pool *p, size_t bytes)
{
	size_t skip = -(uintptr_t)p->next & 15, whole;
	struct pool_chunk *chunk;

	if (!p->chunk || skip > p->left || bytes > p->left - skip) {
		whole = bytes > CHUNK_BYTES / 4 ? bytes : CHUNK_BYTES;
		if (whole > SIZE_MAX / 2 || !(chunk = malloc(sizeof(*chunk) + whole)))
			return NULL;
		chunk->older = p->chunk;
		p->chunk = chunk;
		p->next = chunk->bytes;
		p->left = whole;
		skip = 0;
	}
	p->next += skip + bytes;
	p->left -= skip + bytes;
	return p->next - bytes;
}

static uint64_t hash(const char *text, size_t n)
{
	uint64_t h = n * 0x9e3779b97f4a7c15u, word;

	for (; n >= sizeof(word); n -= sizeof(word), text += sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		h = mix(h ^ word);
	}
	word = 0;
	memcpy(&word, text, n);
	return mix(h ^ word);
}

static size_t string_slot(const struct pool *p, const char *text, size_t n)
{
	size_t i = hash(text, n) & (p->room - 1);

	while (p->strings[i] && (strncmp(p->strings[i], text, n) || p->strings[i][n]))
		i = (i + 1) & (p->room - 1);
	return i;
}

static bool strings_grow(struct pool *p)
{
	struct pool big = { .room = p->room ? p->room * 2 : ROOM_FIRST };
	size_t i;

	big.strings = calloc(big.room, sizeof(*big.strings));
	if (!big.strings)
		return false;
	for (i = 0; i < p->room; i++)
		if (p->strings[i])
			big.strings[string_slot(&big, p->strings[i], strlen(p->strings[i]))] =
			    p->strings[i];
	free(p->strings);
	p->strings = big.strings;
	p->room = big.room;
	return true;
}

const char *pool_intern_n(struct pool *p, const char *text, size_t n)
{
	size_t i;
	char *copy;

	if (p->used * 4 >= p->room * 3 && !strings_grow(p))
		return NULL;
	i = string_slot(p, text, n);
	if (p->strings[i])
		return p->strings[i];
	copy = pool_alloc(p, n + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, n);
	copy[n] = '\0';
	p->used++;
	return p->strings[i] = copy;
}

const char *pool_intern(struct pool *p, const char *text)
{
	return pool_intern_n(p, text, strlen(text));
}

void pool_release(struct pool *p)
{
	struct pool_chunk *chunk = p->chunk, *older;

	for (; chunk; chunk = older) {
		older = chunk->older;
		free(chunk);
	}
	free(p->strings);
	memset(p, 0, sizeof(*p));
}
