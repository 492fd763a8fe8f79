/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * keys.h - strings of bytes as small numbers: equal ones get the same, in the
 * order in which they were first seen; and lines of stacks as such strings, by
 * what makes two of them the same.
 *
 * Errors: without memory the answer is 0, and `failed` stays set.  Threads: one
 * at a time.  A zeroed struct is empty.
 */
#ifndef MPROF_PASS_KEYS_H
#define MPROF_PASS_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sym_line;

struct keys {
	char *text; /* all strings, each followed by a NUL that is not part of it */
	size_t used, room;
	size_t *at;	/* by id - 1: where its text begins */
	uint32_t *slot; /* id, 0 empty; open addressing */
	size_t slots, count, at_room;
	bool failed;
};

/* The number of s, from 1; 0 without memory. */
uint32_t keys_id(struct keys *k, const void *s, size_t bytes);
/* As keys_id, but 0 too if it was never seen. */
uint32_t keys_find(const struct keys *k, const void *s, size_t bytes);
/* Valid until the next keys_id. */
const char *keys_text(const struct keys *k, uint32_t id);
size_t keys_bytes(const struct keys *k, uint32_t id);
void keys_release(struct keys *k);

/* When are two lines the same? */
enum line_same {
	LINE_FUNCTION, /* function, module, and the name of the source file: statics share names */
	LINE_LINE,     /* these and the line */
	LINE_FILE,     /* source file, or module where none is known */
	LINE_MODULE,
};

struct line_keys {
	enum line_same same; /* set before the first question */
	struct keys keys;
	const struct sym_line **seen; /* by address, so that a line is spelt once */
	uint32_t *seen_id;
	size_t seen_room, seen_count;
	const struct sym_line **first; /* by id - 1: the first line that got it */
	size_t first_room;
};

uint32_t line_keys_id(struct line_keys *k, const struct sym_line *line);
static inline const struct sym_line *line_keys_line(const struct line_keys *k, uint32_t id)
{
	return k->first[id - 1];
}
void line_keys_release(struct line_keys *k);

#endif
