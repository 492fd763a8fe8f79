/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* cache_write.c - the symbol cache on disk: merging and writing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "cache_format.h"
#include "../util/alloc.h"
#include "../util/arena.h"
#include "../util/cache_directory.h"
#include "../util/order.h"

struct writer {
	struct cache_stored *entry;
	struct cache_line *line;
	struct cache_variable *variable;
	size_t entries, lines, variables, room, line_room, variable_room;
	uint32_t variables_known;
	char *strings;
	size_t bytes, string_room;
	struct arena arena; /* strings that were written ... */
	struct hash offset; /* ... and their offsets, plus 1 */
};

static uint32_t put_string(struct writer *w, const char *text)
{
	const char *kept = arena_intern(&w->arena, text);
	uint64_t *known = hash_at(&w->offset, (uintptr_t)kept);
	size_t n = strlen(text) + 1;

	if (!*known) {
		GROW(w->strings, w->bytes + n, w->string_room);
		memcpy(w->strings + w->bytes, text, n);
		*known = w->bytes + 1;
		w->bytes += n;
	}
	return (uint32_t)(*known - 1);
}

static void put_location(struct writer *w, const struct location *p)
{
	uint32_t raw = put_string(w, p->raw), file = put_string(w, p->file);

	GROW(w->line, w->lines + 1, w->line_room);
	w->line[w->lines++] =
	    (struct cache_line){ .raw = raw, .file = file, .line = p->line, .offset = p->offset };
}

static void put_entry(struct writer *w, uint64_t address, const struct location *location, size_t n)
{
	size_t i;

	GROW(w->entry, w->entries + 1, w->room);
	w->entry[w->entries++] = (struct cache_stored){ .address = address,
							.first = (uint32_t)w->lines,
							.n = (uint32_t)n };
	for (i = 0; i < n; i++)
		put_location(w, &location[i]);
}

ORDER(by_address, struct cache_entry, RISING(address))

/* Both are sorted; an address in both is taken once. */
static void merge(struct writer *w, struct cache_file *f, bool keep_loaded)
{
	struct cache_view v = { 0 };
	struct location location[LOCATIONS_MOST];
	size_t i, old = 0, count, n;

	if (keep_loaded)
		v = cache_view(f->loaded);
	count = keep_loaded ? v.head->entries : 0;
	SORT(f->added, f->count, by_address);
	put_string(w, "");
	for (i = 0; i < f->count || old < count;) {
		if (old < count && (i == f->count || v.entry[old].address < f->added[i].address)) {
			if (cache_find(f, v.entry[old].address, location, &n))
				put_entry(w, v.entry[old].address, location, n);
			old++;
			continue;
		}
		if (!i || f->added[i].address != f->added[i - 1].address)
			put_entry(w, f->added[i].address, f->added[i].location, f->added[i].n);
		old += old < count && v.entry[old].address == f->added[i].address;
		i++;
	}
}

static void put_variables(struct writer *w, const struct object_variable *of, size_t n,
			  bool stripped)
{
	w->variables_known = stripped ? CACHE_VARIABLES_STRIPPED : CACHE_VARIABLES_ALL;
	GROW(w->variable, n, w->variable_room);
	for (size_t i = 0; i < n; i++)
		w->variable[i] = (struct cache_variable){ .address = of[i].address,
							  .size = of[i].size,
							  .name = put_string(w, of[i].name),
							  .file = put_string(w, of[i].file),
							  .line = of[i].line,
							  .tls = of[i].tls };
	w->variables = n;
}

static void merge_variables(struct writer *w, const struct cache_file *f, bool keep_loaded)
{
	struct object_variable *loaded;
	size_t n;
	bool stripped;

	if (f->found) {
		put_variables(w, f->found->of, f->found->n, f->found->stripped);
	} else if (keep_loaded && cache_find_variables(f, &loaded, &n, &stripped)) {
		put_variables(w, loaded, n, stripped);
		free(loaded);
	}
}

/* The checksum of what follows the member `crc`.  crc32() forgets what it has so far if it gets
 * NULL. */
static uint32_t checksum(const struct cache_part *part, size_t n)
{
	const size_t from = offsetof(struct cache_head, crc) + sizeof(uint32_t);
	uLong crc = crc32(0, (const Bytef *)part->from + from, (uInt)(part->bytes - from));

	for (size_t i = 1; i < n; i++)
		if (part[i].bytes)
			crc = crc32(crc, part[i].from, (uInt)part[i].bytes);
	return (uint32_t)crc;
}

static void write_file(struct cache *c, const struct writer *w, const struct cache_key *key,
		       uint32_t path, enum cache_quality quality)
{
	const struct build_id id = key->id;
	char name[CACHE_NAME];
	struct cache_head h = { .order = 1,
				.quality = quality,
				.id_bytes = (uint32_t)id.n,
				.entries = (uint32_t)w->entries,
				.lines = (uint32_t)w->lines,
				.strings = (uint32_t)w->bytes,
				.path = path,
				.variables = (uint32_t)w->variables,
				.variables_known = w->variables_known,
				.from = key->there };
	const struct cache_part part[] = {
		{ &h, sizeof(h) },
		{ w->entry, w->entries * sizeof(*w->entry) },
		{ w->line, w->lines * sizeof(*w->line) },
		{ w->variable, w->variables * sizeof(*w->variable) },
		{ w->strings, w->bytes },
	};
	const size_t parts = sizeof(part) / sizeof(*part);

	if (!cache_name(id, name))
		return;
	memcpy(h.magic, CACHE_MAGIC, sizeof(h.magic));
	memcpy(h.id, id.bytes, id.n);
	h.crc = checksum(part, parts);
	cache_file_write(c->directory, name, 0600, part, parts);
	c->wrote = true;
}

void cache_store(struct cache *c, struct cache_file *f, const struct cache_key *key,
		 enum cache_quality quality)
{
	struct writer w = { 0 };
	uint32_t path;
	bool keep_loaded = f->loaded && f->quality == quality;

	/* A better existing file stays. */
	if (!c || (!f->count && !f->found) || f->quality > quality)
		return;
	merge(&w, f, keep_loaded);
	merge_variables(&w, f, keep_loaded);
	path = put_string(&w, key->path);
	if (sizeof(struct cache_head) + w.entries * sizeof(*w.entry) + w.lines * sizeof(*w.line) +
		w.variables * sizeof(*w.variable) + w.bytes <=
	    CACHE_FILE_BYTES)
		write_file(c, &w, key, path, quality);
	free(w.entry);
	free(w.line);
	free(w.variable);
	free(w.strings);
	hash_release(&w.offset);
	arena_release(&w.arena);
}
