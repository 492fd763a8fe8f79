/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * suppressions.h - leaks that are not reported.
 *
 * A file of suppressions is in the syntax of LeakSanitizer: lines "leak:PATTERN",
 * empty lines, and comments after #.  A pattern suppresses a stack if it is
 * found in a function, a source file or a module of any of its lines; * in it
 * matches anything, ^ and $ match the beginning and end.
 *
 * Built-in suppressions (suppressions.def) cover memory that the C library, the
 * loader and libstdc++ keep until the process ends. They match the innermost
 * lines only, from the first one that is not a wrapper outward while the module
 * is the same, so that memory allocated on behalf of the program is not hidden.
 *
 * Errors: -errno with err filled.  Threads: one at a time.
 */
#pragma once

#include "../util/hash.h"
#include "paths.h"

struct suppression {
	char *pattern;	       /* NULL: any function */
	const char *module;    /* glob, of a built-in one; NULL: any */
	const char *caller;    /* glob of the module that called, of a built-in one; NULL: any */
	const char *why;       /* of a built-in one; NULL: from a file */
	uint64_t calls, bytes; /* suppressed so far */
};

/* Of a function: does a built-in pattern match it? */
enum { NAME_ORDINARY = 1, NAME_BUILTIN };

struct suppressions {
	struct suppression *item;
	size_t count, room;
	size_t of_files;   /* not built in */
	struct hash names; /* by address: those requested so far, which must stay in place */
};

void suppressions_add_builtin(struct suppressions *s);
/* Lines for other tools of the same family are ignored, anything else is an error. */
int suppressions_read(struct suppressions *s, const char *file, struct error *err);
void suppressions_release(struct suppressions *s);

/* The first that suppresses this stack; NULL. */
struct suppression *suppressions_find(struct suppressions *s, const struct stacks *stacks,
				      const struct profile_path *path);
/* Why blocks of this stack are a library's own for the life of a process: a built-in one; NULL. */
const char *suppressions_kept(struct suppressions *s, const struct profile_path *path);

/* Is the pattern found in text?  As LeakSanitizer has it. */
bool suppression_matches(const char *pattern, const char *text);
