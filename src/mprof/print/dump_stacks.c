// SPDX-License-Identifier: LGPL-3.0-or-later
/* dump_stacks.c - the printer of stacks for `mprof dump`. */
#include "dump_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "json.h"
#include "json_lines.h"

/* Returns a path without characters that could end a line, a field or a string; the caller frees
 * it. */
static char *clean(const char *path, bool json)
{
	const unsigned char *s = (const unsigned char *)path;
	char *text = must_malloc(6 * strlen(path) + 1), *to = text;

	while (*s) {
		int n = utf8_at(s);

		if (n && *s >= ' ' && *s != 127 && !utf8_is_control(s) &&
		    !(json && (*s == '"' || *s == '\\'))) {
			memcpy(to, s, (size_t)n);
			to += n;
		} else if (!n) {
			memcpy(to, UTF8_REPLACEMENT, 3);
			to += 3;
		} else if (json) {
			to += sprintf(to, "\\u%04x", s[n - 1]);
		} else {
			*to++ = '?';
		}
		s += n ? n : 1;
	}
	*to = 0;
	return text;
}

void dump_stacks_start(struct dump_stacks *d, const struct stacks *stacks, bool json)
{
	*d = (struct dump_stacks){ .stacks = stacks, .json = json };
	d->path = must_calloc(stacks->objects + 1, sizeof(*d->path));
	d->told = must_calloc(stacks->nodes / 8 + 1, 1);
	for (size_t i = 0; i < stacks->objects; i++)
		d->path[i] = clean(stacks->object[i].path, json);
}

void dump_stacks_end(struct dump_stacks *d)
{
	for (size_t i = 0; i < d->stacks->objects; i++)
		free(d->path[i]);
	free(d->path);
	free(d->told);
	free(d->chain);
}

/* A path may be longer than the line buffer. */
static void put_path(struct line *l, const char *path)
{
	if (strlen(path) < LINE_MAX_BYTES / 2) {
		line_text(l, path);
	} else if (line_flush(l)) {
		fputs(path, l->out);
	}
}

static void put_build_id(struct line *l, const struct stack_object *o)
{
	char text[STACK_BUILD_ID];

	line_text(l, stack_build_id(o, text));
}

static void text_node(const struct dump_stacks *d, struct line *l, uint32_t node)
{
	const struct stack_node *n = &d->stacks->node[node];
	const struct stack_frame *f = &d->stacks->frame[n->frame];

	line_char(l, '@');
	line_number(l, node);
	line_text(l, "\t@");
	line_number(l, n->parent);
	line_char(l, '\t');
	if (f->flags & STACK_FRAME_TRUNCATED) {
		line_text(l, "...");
	} else if (f->flags & STACK_FRAME_LOST_WAY) {
		line_text(l, "???");
	} else {
		put_path(l, d->path[f->object]);
		line_text(l, f->object ? "+0x" : "0x");
		line_hex(l, f->address);
	}
	line_text(l, f->flags & STACK_FRAME_EXACT ? "\texact\n" : "\n");
}

#define JSON_OF_STACKS
#define PATH(name, value, help)	     JSON_QUOTED(name, put_path(l, value))
#define BUILD_ID(name, object, help) JSON_QUOTED(name, put_build_id(l, object))
#include "../json/dump.def"

static void json_node(const struct dump_stacks *d, struct line *l, uint32_t node)
{
	const struct stack_node *n = &d->stacks->node[node];

	line_char(l, '{');
	dump_frame_fields(l, d, node, n, &d->stacks->frame[n->frame]);
	line_text(l, "}\n");
}

static bool is_told(const struct dump_stacks *d, uint32_t node)
{
	return d->told[node / 8] >> node % 8 & 1;
}

void dump_stacks_tell(struct dump_stacks *d, struct line *l, uint32_t node)
{
	size_t n = 0;

	for (; node && !is_told(d, node); node = d->stacks->node[node].parent) {
		GROW(d->chain, n + 1, d->chain_room);
		d->chain[n++] = node;
	}
	while (n-- && line_room(l)) {
		d->told[d->chain[n] / 8] |= (uint8_t)(1 << d->chain[n] % 8);
		(d->json ? json_node : text_node)(d, l, d->chain[n]);
	}
}

static void text_file(const struct dump_stacks *d, struct line *l, size_t i)
{
	const struct stack_object *o = &d->stacks->object[i];

	line_char(l, '%');
	line_number(l, i);
	line_char(l, '\t');
	put_build_id(l, o);
	line_text(l, o->build_id_bytes ? "\t" : "-\t");
	line_hex(l, o->bias);
	line_char(l, '\t');
	put_path(l, d->path[i]);
	line_char(l, '\n');
}

static void json_file(const struct dump_stacks *d, struct line *l, size_t i)
{
	line_char(l, '{');
	dump_file_fields(l, d, i, &d->stacks->object[i]);
	line_text(l, "}\n");
}

void dump_stacks_files(const struct dump_stacks *d, struct line *l)
{
	for (size_t i = 1; i < d->stacks->objects && line_room(l); i++)
		(d->json ? json_file : text_file)(d, l, i);
}
