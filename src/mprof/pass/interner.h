/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * interner.h - strings of bytes as small numbers: equal strings get the same
 * number, in order of first occurrence; and lines of stacks as such strings, by
 * the properties that make two of them equal.
 *
 * Without memory the program ends (util/alloc.h).  Threads: one at a time.  A zeroed struct is
 * empty.
 */
#pragma once

#include <stdbool.h>

#include "../util/hash.h"

struct sym_line;

struct interned_string {
	size_t at;	    /* in the text */
	uint32_t same_hash; /* id of an earlier one, 0 if none */
};

struct interner {
	char *text; /* all strings, each followed by a NUL that is not part of it */
	size_t used, text_room;
	struct interned_string *string; /* by id - 1 */
	size_t count, room;
	struct hash last; /* hash -> id of the last string that has it */
};

/* Returns the number of s, from 1. */
uint32_t interner_id(struct interner *k, const void *s, size_t bytes);
/* Like interner_id, but 0 for an unknown string. */
uint32_t interner_find(const struct interner *k, const void *s, size_t bytes);
/* Valid until the next interner_id. */
const char *interner_text(const struct interner *k, uint32_t id);
size_t interner_bytes(const struct interner *k, uint32_t id);
void interner_release(struct interner *k);

/* Tells which of n texts occur several times: an array that the caller frees. */
bool *interner_twins(char *const *text, size_t n);

/* When are two lines the same? */
enum line_same {
	LINE_FUNCTION, /* function, module, and the name of the source file: statics share names */
	LINE_LINE,     /* function, module and line */
	LINE_FILE,     /* source file, or module if it is unknown */
	LINE_MODULE,
};

struct line_interner {
	enum line_same same; /* set before first use */
	struct interner keys;
	struct hash seen;	       /* address -> id, so that a line is spelt once */
	const struct sym_line **first; /* by id - 1: the first line with this id */
	size_t first_room;
};

uint32_t line_interner_id(struct line_interner *k, const struct sym_line *line);
static inline const struct sym_line *line_interner_line(const struct line_interner *k, uint32_t id)
{
	return k->first[id - 1];
}
void line_interner_release(struct line_interner *k);
