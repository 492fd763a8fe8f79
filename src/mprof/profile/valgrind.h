/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * valgrind.h - suppressions in Valgrind's format, as libraries install them:
 *
 *   {
 *      NAME
 *      Memcheck:Leak
 *      match-leak-kinds: reachable
 *      fun:malloc
 *      ...
 *      obj:*libfoo.so*
 *   }
 *
 * Each line from the third on matches a line of the stack, from the innermost one on: the name of
 * its function (fun), the path of its object (obj), or its source file (src: FILE or FILE:LINE); in
 * these, * matches anything and ? a character.  `...` matches any number of lines.  What is further
 * out makes no difference.  All kinds of leaks but none are the same, because a trace does not tell
 * them apart.  Suppressions of other errors and tools are ignored.
 */
#pragma once

#include "../util/error.h"
#include "stack_path.h"

struct valgrind_step {
	enum valgrind_what { VALGRIND_FUN, VALGRIND_OBJ, VALGRIND_SRC, VALGRIND_ANY } what;
	unsigned replaced; /* the functions replaced by Valgrind that it fits (valgrind.c) */
	char *glob;	   /* NULL for VALGRIND_ANY */
};

struct valgrind_steps {
	struct valgrind_step *step; /* innermost first */
	size_t count, room;
};

/* One that is being read; {} at first. */
struct valgrind_block {
	size_t lines; /* so far; 0 = outside */
	bool of_leaks;
	bool none; /* of no kind of leak */
	char *name;
	struct valgrind_steps steps;
};

/* Takes a line of a block without blanks at its ends.  Returns 1 if it ends a block of leaks, whose
 * name and steps the caller takes, 0, or -EINVAL with err. */
int valgrind_take(struct valgrind_block *b, const char *line, struct error *err);
void valgrind_release(struct valgrind_block *b);
void valgrind_steps_release(struct valgrind_steps *s);

bool valgrind_matches(const struct valgrind_steps *s, const struct stacks *stacks,
		      const struct profile_path *path);
