/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * cache.c - the symbol cache on disk: reading, finding, adding.
 *
 * cache_write.c writes, cache_open.c manages the directory.  The layout is in cache_format.h.  A
 * file is checked completely when it is loaded, so that cache_find need not check.
 */
#include "cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "cache_format.h"
#include "../util/alloc.h"
#include "../util/cache_directory.h"
#include "../util/order.h"
#include "../util/whole.h"

bool cache_name(struct build_id id, char name[CACHE_NAME])
{
	size_t i;

	if (id.n < 4 || id.n > sizeof(((struct cache_head *)0)->id))
		return false;
	for (i = 0; i < id.n; i++)
		snprintf(name + 2 * i, 3, "%02x", id.bytes[i]);
	return true;
}

/* ---- reading ---- */

static bool strings_end(const struct cache_view *v)
{
	uint32_t n = v->head->strings;

	return n && !v->strings[0] && !v->strings[n - 1];
}

static bool lines_are_sound(const struct cache_view *v)
{
	uint32_t i;

	for (i = 0; i < v->head->lines; i++)
		if (v->line[i].raw >= v->head->strings || v->line[i].file >= v->head->strings)
			return false;
	return true;
}

static bool variables_are_sound(const struct cache_view *v)
{
	if (v->head->variables_known > CACHE_VARIABLES_STRIPPED)
		return false;
	for (uint32_t i = 0; i < v->head->variables; i++)
		if (v->variable[i].name >= v->head->strings ||
		    v->variable[i].file >= v->head->strings)
			return false;
	return true;
}

static bool entries_are_sound(const struct cache_view *v)
{
	uint32_t i;

	for (i = 0; i < v->head->entries; i++) {
		const struct cache_stored *e = &v->entry[i];

		if (e->n > LOCATIONS_MOST || e->first > v->head->lines ||
		    e->n > v->head->lines - e->first)
			return false;
		if (i && e->address <= v->entry[i - 1].address)
			return false;
	}
	return true;
}

struct cache_view cache_view(const char *bytes)
{
	struct cache_view v = { .head = (const struct cache_head *)bytes };

	v.entry = (const struct cache_stored *)(v.head + 1);
	v.line = (const struct cache_line *)(v.entry + v.head->entries);
	v.variable = (const struct cache_variable *)(v.line + v.head->lines);
	v.strings = (const char *)(v.variable + v.head->variables);
	return v;
}

static bool is_sound(const char *bytes, size_t n, struct build_id id)
{
	const struct cache_head *h = (const struct cache_head *)bytes;
	struct cache_view v;

	if (n < sizeof(*h) || memcmp(h->magic, CACHE_MAGIC, sizeof(h->magic)) || h->order != 1 ||
	    h->id_bytes != id.n || memcmp(h->id, id.bytes, id.n) || h->quality > CACHE_LINES)
		return false;
	if (sizeof(*h) + (uint64_t)h->entries * sizeof(struct cache_stored) +
		(uint64_t)h->lines * sizeof(struct cache_line) +
		(uint64_t)h->variables * sizeof(struct cache_variable) + h->strings !=
	    n)
		return false;
	if (crc32(0, (const Bytef *)&h->crc + sizeof(h->crc),
		  (uInt)(n - offsetof(struct cache_head, crc) - sizeof(h->crc))) != h->crc)
		return false;
	v = cache_view(bytes);
	return strings_end(&v) && h->path < h->strings && lines_are_sound(&v) &&
	       entries_are_sound(&v) && variables_are_sound(&v);
}

static char *read_all(struct cache *c, const char *name, uint64_t *bytes)
{
	const int fd = cache_file_open(c->directory, name, bytes);
	char *all = NULL;

	if (fd < 0)
		return NULL;
	if (*bytes <= CACHE_FILE_BYTES) {
		all = must_malloc(*bytes + 1);
		if (read_at(fd, all, *bytes, 0) != *bytes) {
			free(all);
			all = NULL;
		}
	}
	close(fd);
	return all;
}

static bool is_of_path(const struct cache_file *f, const char *path)
{
	const struct cache_view v = cache_view(f->loaded);

	return !strcmp(v.strings + v.head->path, path);
}

static bool is_of_other_file(const struct cache_file *f, const struct file_identity *there)
{
	static const struct file_identity none;

	return memcmp(there, &none, sizeof(none)) &&
	       memcmp(there, &cache_view(f->loaded).head->from, sizeof(none));
}

void cache_load(struct cache *c, struct cache_file *f, const struct cache_key *key)
{
	char name[CACHE_NAME];
	uint64_t bytes;

	if (!c || !cache_name(key->id, name))
		return;
	f->loaded = read_all(c, name, &bytes);
	if (f->loaded && (!is_sound(f->loaded, bytes, key->id) || !is_of_path(f, key->path))) {
		free(f->loaded);
		f->loaded = NULL;
	}
	if (f->loaded) {
		f->quality = cache_view(f->loaded).head->quality;
		f->doubtful = is_of_other_file(f, &key->there);
	}
}

void cache_forget(struct cache_file *f)
{
	free(f->loaded);
	f->loaded = NULL;
	f->quality = CACHE_NOTHING;
	f->doubtful = false;
}

void cache_release(struct cache_file *f)
{
	size_t i;

	for (i = 0; i < f->count; i++)
		free(f->added[i].location);
	if (f->found)
		free(f->found->of);
	free(f->found);
	free(f->added);
	free(f->loaded);
	memset(f, 0, sizeof(*f));
}

static const struct cache_stored *search(const struct cache_view *v, uint64_t address)
{
	const size_t i = FIRST_WHERE(k, v->head->entries, v->entry[k].address >= address);

	return i < v->head->entries && v->entry[i].address == address ? &v->entry[i] : NULL;
}

bool cache_find(const struct cache_file *f, uint64_t address,
		struct location location[LOCATIONS_MOST], size_t *n)
{
	const struct cache_stored *e;
	struct cache_view v;
	uint32_t i;

	if (!f->loaded)
		return false;
	v = cache_view(f->loaded);
	e = search(&v, address);
	if (!e)
		return false;
	for (i = 0; i < e->n; i++)
		location[i] = (struct location){ .raw = v.strings + v.line[e->first + i].raw,
						 .file = v.strings + v.line[e->first + i].file,
						 .line = v.line[e->first + i].line,
						 .inlined = i + 1 < e->n,
						 .offset = v.line[e->first + i].offset };
	*n = e->n;
	return true;
}

void cache_add(struct cache_file *f, uint64_t address, const struct location *location, size_t n)
{
	GROW(f->added, f->count + 1, f->room);
	f->added[f->count++] = (struct cache_entry){
		.address = address, .n = n, .location = must_memdup(location, n * sizeof(*location))
	};
}

bool cache_find_variables(const struct cache_file *f, struct object_variable **of, size_t *n,
			  bool *stripped)
{
	struct cache_view v;

	if (!f->loaded)
		return false;
	v = cache_view(f->loaded);
	if (!v.head->variables_known)
		return false;
	*n = v.head->variables;
	*stripped = v.head->variables_known == CACHE_VARIABLES_STRIPPED;
	*of = must_calloc(*n + 1, sizeof(**of));
	for (size_t i = 0; i < *n; i++)
		(*of)[i] = (struct object_variable){ .name = v.strings + v.variable[i].name,
						     .file = v.strings + v.variable[i].file,
						     .line = v.variable[i].line,
						     .tls = v.variable[i].tls,
						     .address = v.variable[i].address,
						     .size = v.variable[i].size };
	return true;
}

void cache_add_variables(struct cache_file *f, const struct object_variable *of, size_t n,
			 bool stripped)
{
	if (f->found)
		return;
	f->found = must_malloc(sizeof(*f->found));
	*f->found = (struct cache_variables){ .of = n ? must_memdup(of, n * sizeof(*of)) : NULL,
					      .n = n,
					      .stripped = stripped };
}
