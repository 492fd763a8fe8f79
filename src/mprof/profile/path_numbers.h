/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * path_numbers.h - numbers of stacks that read the same.
 *
 * A path has a key: it is computed line by line from the outermost one, and kept for each node of
 * the stacks, so a caller that many stacks share is read once.  Keys of different paths differ,
 * except by a chance of 1 in 2^62.
 *
 * Without memory the program ends (util/alloc.h).
 */
#pragma once

#include "paths.h"

/* A frame of a stack, and whether a frame inside it belongs to a script. */
struct path_step_in {
	uint32_t node;
	bool in_script;
};

struct path_numbers {
	struct line_interner lines;
	struct hash number; /* by key */
	uint32_t count;
	uint64_t *key[2]; /* by in_script, by node: of the lines up to there; 0: unknown */
	uint32_t
	    *line; /* by frame: id of its line, if it is just one that is added to any path; or 0 */
	struct path_step_in *list; /* those whose key is not known yet, innermost first */
	size_t room;
};
#define PATH_NUMBERS_EMPTY                                 \
	{                                                  \
		.lines = { .same = LINE_LINE }, .count = 0 \
	}

/*
 * Returns a number from 1, the same for stacks whose shown lines have the same text; whole: those
 * with folded lines.  Lines that only start a program or a thread make no difference.  t must be
 * the same in all calls.
 */
uint32_t path_number(struct path_numbers *k, struct profile_paths *t, uint32_t stack, bool whole);
void path_numbers_release(struct path_numbers *k);
