// SPDX-License-Identifier: LGPL-3.0-or-later
/* interner.c - strings of bytes as small numbers. */
#include "interner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sym/sym.h"
#include "../util/alloc.h"
#include "../util/memory.h"

#define LINE_KEY_ROOM 512 /* of one spelt line; longer ones are spelt on the heap */

/* ---- strings ---- */

size_t interner_bytes(const struct interner *k, uint32_t id)
{
	size_t end = id < k->count ? k->string[id].at : k->used;

	return end - k->string[id - 1].at - 1;
}

const char *interner_text(const struct interner *k, uint32_t id)
{
	return k->text + k->string[id - 1].at;
}

/* Searches those with one hash, from the last to the first. */
static uint32_t among(const struct interner *k, uint32_t id, const void *s, size_t bytes)
{
	while (id && (interner_bytes(k, id) != bytes || memcmp(interner_text(k, id), s, bytes)))
		id = k->string[id - 1].same_hash;
	return id;
}

uint32_t interner_find(const struct interner *k, const void *s, size_t bytes)
{
	return among(k, (uint32_t)hash_get(&k->last, hash_of(s, bytes)), s, bytes);
}

uint32_t interner_id(struct interner *k, const void *s, size_t bytes)
{
	uint64_t *last = hash_at(&k->last, hash_of(s, bytes));
	uint32_t id = among(k, (uint32_t)*last, s, bytes);

	if (id)
		return id;
	if (k->count >= UINT32_MAX - 1)
		memory_out();
	GROW(k->string, k->count + 1, k->room);
	GROW(k->text, k->used + bytes + 1, k->text_room);
	k->string[k->count++] =
	    (struct interned_string){ .at = k->used, .same_hash = (uint32_t)*last };
	memcpy(k->text + k->used, s, bytes);
	k->text[k->used + bytes] = '\0';
	k->used += bytes + 1;
	*last = k->count;
	return (uint32_t)k->count;
}

void interner_release(struct interner *k)
{
	free(k->text);
	free(k->string);
	hash_release(&k->last);
	*k = (struct interner){ .text = NULL };
}

bool *interner_twins(char *const *text, size_t n)
{
	bool *twin = must_calloc(n + 1, sizeof(*twin));
	size_t *first = must_calloc(n + 1, sizeof(*first)), i;
	struct interner known = { .text = NULL };
	uint32_t id;

	for (i = 0; i < n; i++) {
		const size_t before = known.count;

		id = interner_id(&known, text[i], strlen(text[i]));
		if (known.count > before)
			first[id - 1] = i;
		else
			twin[i] = twin[first[id - 1]] = true;
	}
	interner_release(&known);
	free(first);
	return twin;
}

/* ---- lines ---- */

/* Like snprintf: returns the full length, whatever the size of the buffer. */
static int spell(char *to, size_t room, enum line_same same, const struct sym_line *l)
{
	switch (same) {
	case LINE_FUNCTION:
		return snprintf(to, room, "%s\n%s\n%s", l->function, l->module, sym_file(l));
	case LINE_LINE:
		return snprintf(to, room, "%s\n%s\n%s\n%u", l->function, l->module, sym_file(l),
				l->line);
	case LINE_FILE:
		return snprintf(to, room, "%s", *l->file ? l->file : l->module);
	case LINE_MODULE:
		break;
	}
	return snprintf(to, room, "%s", l->module);
}

static uint32_t id_of_text(struct line_interner *k, const struct sym_line *l)
{
	char small[LINE_KEY_ROOM], *s = small;
	int n = spell(small, sizeof(small), k->same, l);
	uint32_t id;

	if (n >= (int)sizeof(small)) {
		s = must_malloc((size_t)n + 1);
		spell(s, (size_t)n + 1, k->same, l);
	}
	id = interner_id(&k->keys, s, (size_t)n);
	if (s != small)
		free(s);
	return id;
}

uint32_t line_interner_id(struct line_interner *k, const struct sym_line *line)
{
	uint64_t *id = hash_at(&k->seen, (uintptr_t)line);
	size_t known = k->keys.count;

	if (*id)
		return (uint32_t)*id;
	*id = id_of_text(k, line);
	if (k->keys.count > known) {
		GROW(k->first, k->keys.count, k->first_room);
		k->first[known] = line;
	}
	return (uint32_t)*id;
}

void line_interner_release(struct line_interner *k)
{
	interner_release(&k->keys);
	hash_release(&k->seen);
	free(k->first);
	*k = (struct line_interner){ .same = k->same };
}
