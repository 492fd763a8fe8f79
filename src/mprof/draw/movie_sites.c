// SPDX-License-Identifier: LGPL-3.0-or-later
/* movie_sites.c - sites with names. */
#include "movie_sites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../profile/profile.h"
#include "../util/alloc.h"

#define SHOWN 8 /* functions of a path, from the innermost outward */

static void add(struct blob *to, const char *text)
{
	blob_add(to, text, strlen(text));
}

void movie_string(struct blob *to, const char *text)
{
	const char *s;
	char code[8];

	add(to, "\"");
	for (s = text; *s; s++)
		if (strchr("\"\\<>&", *s) || (unsigned char)*s < ' ' || *s == 127) {
			snprintf(code, sizeof(code), "\\u%04x", (unsigned char)*s);
			add(to, code);
		} else {
			blob_add(to, s, 1);
		}
	add(to, "\"");
}

static void write_path(struct blob *to, const struct profile_path *path)
{
	size_t i, n = path->count < SHOWN ? path->count : SHOWN;

	add(to, "{\"path\":[");
	for (i = 0; i < n; i++) {
		if (i)
			add(to, ",");
		movie_string(to, path->line[path->count - 1 - i]->function);
	}
	add(to, n < path->count ? ",\"…\"],\"module\":" : "],\"module\":");
	movie_string(to, path->count ? path->line[path->count - 1]->module : "");
	add(to, "}");
}

static uint32_t number_of(struct movie_sites *s, uint32_t node)
{
	const struct profile_path *path = profile_path_once(s->names, node);
	struct blob text = { .data = NULL };
	uint32_t n = 0;

	if (path->count) {
		write_path(&text, path);
		n = interner_id(&s->text, text.data, text.used);
	}
	blob_release(&text);
	return n;
}

uint32_t movie_site(void *sites, uint32_t node)
{
	struct movie_sites *s = sites;
	size_t had = s->nodes;

	if (!s->names || !node)
		return 0;
	if (node >= s->nodes) {
		GROW(s->number, node + 1, s->nodes);
		memset(s->number + had, 0xff, (s->nodes - had) * sizeof(*s->number));
	}
	if (s->number[node] == UINT32_MAX)
		s->number[node] = number_of(s, node);
	return s->number[node];
}

void movie_sites_write(const struct movie_sites *s, struct blob *to)
{
	uint32_t id;

	add(to, "[{\"path\":[],\"module\":\"\"}");
	for (id = 1; id <= s->text.count; id++) {
		add(to, ",");
		blob_add(to, interner_text(&s->text, id), interner_bytes(&s->text, id));
	}
	add(to, "]");
}

void movie_sites_release(struct movie_sites *s)
{
	interner_release(&s->text);
	free(s->number);
	s->number = NULL;
	s->nodes = 0;
}
