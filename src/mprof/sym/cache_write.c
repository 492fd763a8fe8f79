/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * cache_write.c - the symbol cache on disk: merging and writing.
 *
 * A new file is written under another name and then renamed over the old one, so readers never see
 * a part of it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "cache_format.h"
#include "../util/alloc.h"
#include "../util/arena.h"
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

/* crc32 forgets what it has so far if it gets NULL. */
static uLong add_checksum(uLong crc, const void *from, size_t n)
{
	return n ? crc32(crc, from, (uInt)n) : crc;
}

static uint32_t checksum(const struct cache_head *h, const struct writer *w)
{
	const char *rest = (const char *)&h->crc + sizeof(h->crc);
	uLong crc = add_checksum(0, rest, (size_t)((const char *)(h + 1) - rest));

	crc = add_checksum(crc, w->entry, w->entries * sizeof(*w->entry));
	crc = add_checksum(crc, w->line, w->lines * sizeof(*w->line));
	crc = add_checksum(crc, w->variable, w->variables * sizeof(*w->variable));
	return (uint32_t)add_checksum(crc, w->strings, w->bytes);
}

static bool write_part(int fd, const void *from, size_t n)
{
	return !n || write(fd, from, n) == (ssize_t)n;
}

static bool write_all(int fd, const struct cache_head *h, const struct writer *w)
{
	return write_part(fd, h, sizeof(*h)) &&
	       write_part(fd, w->entry, w->entries * sizeof(*w->entry)) &&
	       write_part(fd, w->line, w->lines * sizeof(*w->line)) &&
	       write_part(fd, w->variable, w->variables * sizeof(*w->variable)) &&
	       write_part(fd, w->strings, w->bytes);
}

static void write_file(struct cache *c, const struct writer *w, const struct cache_key *key,
		       uint32_t path, enum cache_quality quality)
{
	const struct build_id id = key->id;
	char name[CACHE_NAME], new[CACHE_NAME + 40];
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
	struct timespec now;
	bool written;
	int fd;

	if (!cache_name(id, name))
		return;
	memcpy(h.magic, CACHE_MAGIC, sizeof(h.magic));
	memcpy(h.id, id.bytes, id.n);
	h.crc = checksum(&h, w);
	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(new, sizeof(new), "%s.%d.%ld", name, (int)getpid(), now.tv_nsec);
	fd = openat(c->directory, new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	written = write_all(fd, &h, w);
	if (close(fd) || !written || renameat(c->directory, new, c->directory, name))
		unlinkat(c->directory, new, 0);
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
	    (size_t)CACHE_FILE_BYTES)
		write_file(c, &w, key, path, quality);
	free(w.entry);
	free(w.line);
	free(w.variable);
	free(w.strings);
	hash_release(&w.offset);
	arena_release(&w.arena);
}
