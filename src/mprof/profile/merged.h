/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * merged.h - sites whose stacks read the same, combined: a stack of function
 * names with the sum of all values.
 *
 * Calls from different lines of one function are one row; recursion keeps its depth.  Memory is
 * proportional to rows and names.
 */
#pragma once

#include "calltree.h"

struct merged_row {
	/* Id in `stacks`; its text is an array of ids of `lines`, outermost first. */
	uint32_t stack;
	uint64_t v[VALUE_COUNT];
};

struct merged {
	struct line_interner lines; /* functions */
	struct interner stacks;
	struct merged_row *row; /* most bytes first, as sites are */
	size_t count, room;
	uint32_t *id; /* of the current stack */
	size_t id_room;
};

/* Empty: zeroed except for lines.same, which is LINE_FUNCTION. */
#define MERGED_EMPTY                                            \
	{                                                       \
		.lines = { .same = LINE_FUNCTION }, .row = NULL \
	}

/* Adds a stack, outermost line first; lines must outlive m. */
void merged_add(struct merged *m, const struct sym_line *const *line, size_t n,
		const uint64_t v[VALUE_COUNT]);
/* Fills m with all sites. */
void merged_make(struct merged *m, struct profile *p);
/* Sorts rows with the same callers next to each other.  Nothing can be added afterwards. */
void merged_sort(struct merged *m);
void merged_release(struct merged *m);

/* Copies the ids of a row one by one, because they are not aligned; returns their number. */
size_t merged_depth(const struct merged *m, const struct merged_row *row);
uint32_t merged_id(const struct merged *m, const struct merged_row *row, size_t i);
const struct sym_line *merged_line(const struct merged *m, const struct merged_row *row, size_t i);
