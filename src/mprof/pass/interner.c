// SPDX-License-Identifier: LGPL-3.0-or-later
/* interner.c - strings of bytes as small numbers. */
#include "interner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sym/sym.h"

#define LINE_KEY_ROOM 512 /* of one spelt line; longer ones are spelt on the heap */

/* ---- strings ---- */

static uint64_t hash_of(const unsigned char *s, size_t bytes)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */

	for (; bytes; bytes--)
		h = (h ^ *s++) * 0x100000001b3ull;
	return h ^ h >> 29;
}

size_t interner_bytes(const struct interner *k, uint32_t id)
{
	size_t end = id < k->count ? k->at[id] : k->used;

	return end - k->at[id - 1] - 1;
}

const char *interner_text(const struct interner *k, uint32_t id)
{
	return k->text + k->at[id - 1];
}

/* The slot that has s, or the empty one where it belongs.  There are slots. */
static uint32_t *slot_of(const struct interner *k, const void *s, size_t bytes)
{
	size_t i = hash_of(s, bytes) & (k->slots - 1);

	for (; k->slot[i]; i = (i + 1) & (k->slots - 1))
		if (interner_bytes(k, k->slot[i]) == bytes &&
		    !memcmp(interner_text(k, k->slot[i]), s, bytes))
			break;
	return &k->slot[i];
}

static bool more_slots(struct interner *k)
{
	size_t slots = k->slots ? 2 * k->slots : 64;
	uint32_t *grown = calloc(slots, sizeof(*grown)), *old = k->slot;
	uint32_t id;

	if (!grown)
		return false;
	k->slot = grown;
	k->slots = slots;
	for (id = 1; id <= k->count; id++)
		*slot_of(k, interner_text(k, id), interner_bytes(k, id)) = id;
	free(old);
	return true;
}

static bool more_text(struct interner *k, size_t bytes)
{
	size_t room = k->room ? k->room : 4096;
	char *grown;

	if (k->used + bytes <= k->room)
		return true;
	while (room < k->used + bytes)
		room *= 2;
	grown = realloc(k->text, room);
	if (!grown)
		return false;
	k->text = grown;
	k->room = room;
	return true;
}

static bool more_ids(struct interner *k)
{
	size_t room = k->at_room ? 2 * k->at_room : 64;
	size_t *grown;

	if (k->count < k->at_room)
		return true;
	grown = reallocarray(k->at, room, sizeof(*grown));
	if (!grown)
		return false;
	k->at = grown;
	k->at_room = room;
	return true;
}

uint32_t interner_find(const struct interner *k, const void *s, size_t bytes)
{
	return k->slots ? *slot_of(k, s, bytes) : 0;
}

uint32_t interner_id(struct interner *k, const void *s, size_t bytes)
{
	uint32_t *slot;

	if (k->count * 4 >= k->slots * 3 && !more_slots(k)) {
		k->failed = true;
		return 0;
	}
	slot = slot_of(k, s, bytes);
	if (*slot)
		return *slot;
	if (k->count >= UINT32_MAX - 1 || !more_ids(k) || !more_text(k, bytes + 1)) {
		k->failed = true;
		return 0;
	}
	memcpy(k->text + k->used, s, bytes);
	k->text[k->used + bytes] = '\0';
	k->at[k->count++] = k->used;
	k->used += bytes + 1;
	return *slot = (uint32_t)k->count;
}

void interner_release(struct interner *k)
{
	free(k->text);
	free(k->at);
	free(k->slot);
	*k = (struct interner){ .text = NULL };
}

/* ---- lines ---- */

/* As it is shown: one header may be known by several paths. */
static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* snprintf's rule: the length it would have, whatever the room. */
static int spell(char *to, size_t room, enum line_same same, const struct sym_line *l)
{
	switch (same) {
	case LINE_FUNCTION:
		return snprintf(to, room, "%s\n%s\n%s", l->function, l->module, base_of(l->file));
	case LINE_LINE:
		return snprintf(to, room, "%s\n%s\n%s\n%u", l->function, l->module,
				base_of(l->file), l->line);
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
		s = malloc((size_t)n + 1);
		if (!s) {
			k->keys.failed = true;
			return 0;
		}
		spell(s, (size_t)n + 1, k->same, l);
	}
	id = interner_id(&k->keys, s, (size_t)n);
	if (s != small)
		free(s);
	return id;
}

static size_t seen_at(const struct line_interner *k, const struct sym_line *l)
{
	size_t i = ((uintptr_t)l >> 4) * 0x9e3779b97f4a7c15ull >> 20 & (k->seen_room - 1);

	while (k->seen[i] && k->seen[i] != l)
		i = (i + 1) & (k->seen_room - 1);
	return i;
}

static bool more_seen(struct line_interner *k)
{
	size_t room = k->seen_room ? 2 * k->seen_room : 256, i, to;
	struct line_interner grown = { .seen = calloc(room, sizeof(*grown.seen)),
				       .seen_id = calloc(room, sizeof(*grown.seen_id)),
				       .seen_room = room };

	if (!grown.seen || !grown.seen_id) {
		free(grown.seen);
		free(grown.seen_id);
		k->keys.failed = true;
		return false;
	}
	for (i = 0; i < k->seen_room; i++) {
		if (!k->seen[i])
			continue;
		to = seen_at(&grown, k->seen[i]);
		grown.seen[to] = k->seen[i];
		grown.seen_id[to] = k->seen_id[i];
	}
	free(k->seen);
	free(k->seen_id);
	k->seen = grown.seen;
	k->seen_id = grown.seen_id;
	k->seen_room = room;
	return true;
}

static bool remember_first(struct line_interner *k, uint32_t id, const struct sym_line *l)
{
	size_t room = k->first_room ? 2 * k->first_room : 64;
	const struct sym_line **grown;

	if (id > k->first_room) {
		grown = reallocarray(k->first, room, sizeof(*grown));
		if (!grown) {
			k->keys.failed = true;
			return false;
		}
		k->first = grown;
		k->first_room = room;
	}
	k->first[id - 1] = l;
	return true;
}

uint32_t line_interner_id(struct line_interner *k, const struct sym_line *line)
{
	size_t at, known = k->keys.count;
	uint32_t id;

	if (k->seen_count * 2 >= k->seen_room && !more_seen(k))
		return 0;
	at = seen_at(k, line);
	if (k->seen[at])
		return k->seen_id[at];
	id = id_of_text(k, line);
	if (!id || (k->keys.count > known && !remember_first(k, id, line)))
		return 0;
	k->seen[at] = line;
	k->seen_id[at] = id;
	k->seen_count++;
	return id;
}

void line_interner_release(struct line_interner *k)
{
	interner_release(&k->keys);
	free(k->seen);
	free(k->seen_id);
	free(k->first);
	*k = (struct line_interner){ .same = k->same };
}
