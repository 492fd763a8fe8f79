// SPDX-License-Identifier: LGPL-3.0-or-later
/* sources.c - a profile by lines of source. */
#include "sources.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "calltree.h"
#include "../util/alloc.h"
#include "../util/order.h"

static bool matches(const char *pattern, const char *path)
{
	const char *base = strrchr(path, '/');
	size_t n = strlen(path), k = strlen(pattern);

	if (!strcmp(pattern, path) ||
	    (n > k && path[n - k - 1] == '/' && !strcmp(path + n - k, pattern)))
		return true;
	return !fnmatch(pattern, path, 0) || (base && !fnmatch(pattern, base + 1, 0));
}

/* Returns the index of the file + 1; 0 if it does not match. */
static size_t file_of(struct sources *s, const char *path, const char *pattern)
{
	const size_t known = s->paths.count;
	uint32_t id = interner_id(&s->paths, path, strlen(path));

	if (s->paths.count == known)
		return s->file_of[id - 1];
	GROW(s->file_of, id, s->file_of_room);
	s->file_of[id - 1] = 0;
	if (pattern && !matches(pattern, path))
		return 0;
	GROW(s->file, s->files + 1, s->file_room);
	s->file[s->files++] = (struct source_file){ .path = path };
	return s->file_of[id - 1] = s->files;
}

static struct source_line *line_of(struct sources *s, size_t file, const struct sym_line *l)
{
	const uint64_t place[2] = { file, l->line };
	size_t known = s->places.count;
	uint32_t id = interner_id(&s->places, place, sizeof(place));

	if (s->places.count == known)
		return &s->line[id - 1];
	GROW(s->line, s->lines + 1, s->line_room);
	s->line[s->lines] = (struct source_line){
		.file = (uint32_t)file,
		.line = l->line,
		.example = l,
	};
	return &s->line[s->lines++];
}

static void add_to(uint64_t *to, const uint64_t *v)
{
	size_t k;

	for (k = 0; k < VALUE_COUNT; k++)
		to[k] += v[k];
}

/* Returns the line's entry, NULL if its file does not match.  In the stacks of a recursion, a line
 * occurs thousands of times. */
static struct source_line *entry_of(struct sources *s, const struct sym_line *l,
				    const char *pattern)
{
	uint64_t *known = hash_at(&s->entry_of, (uintptr_t)l);
	const struct source_line *line;
	size_t file;

	if (!*known) {
		file = *l->file ? file_of(s, l->file, pattern) : 0;
		line = file ? line_of(s, file - 1, l) : NULL; /* may move s->line */
		*known = line ? (uint64_t)(line - s->line) + 2 : 1;
	}
	return *known > 1 ? &s->line[*known - 2] : NULL;
}

/* Adds one line of the path of a site; `own`: it is the innermost. */
static void add_line(struct sources *s, const struct sym_line *l, const char *pattern, size_t site,
		     bool own, const uint64_t *v)
{
	struct source_line *line = entry_of(s, l, pattern);
	size_t file;

	if (!line)
		return;
	file = line->file + 1;
	if (line->last != site + 1) {
		line->last = site + 1;
		line->sites++;
		add_to(line->inclusive, v);
	}
	if (s->file[file - 1].last != site + 1) {
		s->file[file - 1].last = site + 1;
		add_to(s->file[file - 1].inclusive, v);
	}
	if (own) {
		add_to(line->exclusive, v);
		add_to(s->file[file - 1].exclusive, v);
	}
}

/* ---- order ---- */

ORDER(by_place, struct source_line, RISING(file) ?: RISING(line))

ORDER_IN(by_inclusive, struct source_file, enum profile_value,
	 FALLING(inclusive[*in]) ?: BY_NAME(path))

static void put_in_order(struct sources *s, enum profile_value value)
{
	size_t i;

	if (!s->lines)
		return;
	SORT(s->line, s->lines, by_place);
	for (i = s->lines; i--;) {
		s->file[s->line[i].file].first = i;
		s->file[s->line[i].file].count++;
	}
	SORT_IN(s->file, s->files, by_inclusive, &value);
}

void sources_make(struct sources *s, struct profile *p, const char *pattern,
		  enum profile_value value)
{
	struct calltree_path path = { .line = NULL };
	uint64_t v[VALUE_COUNT];
	size_t i, k;

	*s = (struct sources){ .line = NULL };
	for (i = 0; i < p->count; i++) {
		calltree_path_of(&path, p, i);
		for (k = 0; k < VALUE_COUNT; k++)
			v[k] = profile_value(p, i, (enum profile_value)k);
		for (k = 0; k < path.all; k++)
			add_line(s, path.line[k], pattern, i, k + 1 == path.asked, v);
	}
	free(path.line);
	put_in_order(s, value);
}

void sources_release(struct sources *s)
{
	interner_release(&s->paths);
	interner_release(&s->places);
	hash_release(&s->entry_of);
	free(s->file_of);
	free(s->file);
	free(s->line);
	*s = (struct sources){ .line = NULL };
}
