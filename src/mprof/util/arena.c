// SPDX-License-Identifier: LGPL-3.0-or-later
/* arena.c - memory that is freed all at once, and strings that exist once. */
#include "arena.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "memory.h"

#define CHUNK_BYTES ((size_t)64 << 10)

struct arena_chunk {
	struct arena_chunk *older;
	_Alignas(16) char bytes[];
};

struct interned {
	const struct interned *same_hash;
	size_t n;
	char text[];
};

void *arena_alloc(struct arena *a, size_t bytes)
{
	size_t skip = -(uintptr_t)a->next & 15, whole;
	struct arena_chunk *chunk;

	if (!a->chunk || skip > a->left || bytes > a->left - skip) {
		if (bytes > SIZE_MAX / 2)
			memory_out();
		whole = bytes > CHUNK_BYTES / 4 ? bytes : CHUNK_BYTES;
		chunk = must_malloc(sizeof(*chunk) + whole);
		chunk->older = a->chunk;
		a->chunk = chunk;
		a->next = chunk->bytes;
		a->left = whole;
		skip = 0;
	}
	a->next += skip + bytes;
	a->left -= skip + bytes;
	return a->next - bytes;
}

const char *arena_intern_n(struct arena *a, const char *text, size_t n)
{
	uint64_t *last = hash_at(&a->strings, hash_of(text, n));
	const struct interned *s = (const struct interned *)(uintptr_t)*last;
	struct interned *made;

	for (; s; s = s->same_hash)
		if (s->n == n && !memcmp(s->text, text, n))
			return s->text;
	made = arena_alloc(a, sizeof(*made) + n + 1);
	made->same_hash = (const struct interned *)(uintptr_t)*last;
	made->n = n;
	memcpy(made->text, text, n);
	made->text[n] = '\0';
	*last = (uintptr_t)made;
	return made->text;
}

const char *arena_intern(struct arena *a, const char *text)
{
	return arena_intern_n(a, text, strlen(text));
}

void arena_release(struct arena *a)
{
	struct arena_chunk *chunk = a->chunk, *older;

	for (; chunk; chunk = older) {
		older = chunk->older;
		free(chunk);
	}
	hash_release(&a->strings);
	*a = (struct arena){ .chunk = NULL };
}
