/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * suppressions.h - leaks that are not reported.
 *
 * A file of suppressions is in the syntax of LeakSanitizer: lines "leak:PATTERN",
 * empty lines, and comments after #.  A pattern suppresses a stack if it is
 * found in a function, a source file or a module of any of its lines; * in it
 * matches anything, ^ and $ match the beginning and end.  It may also have
 * suppressions in the syntax of Valgrind (valgrind.h).
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
#include "stack_path.h"
#include "valgrind.h"

struct suppression {
	char *pattern;		     /* NULL = any function; of Valgrind's, its name */
	struct valgrind_steps steps; /* of Valgrind's */
	const char *module;	     /* glob, for a built-in one; NULL = any */
	const char *caller; /* glob of the module that called, for a built-in one; NULL = any */
	const char *why;    /* for a built-in one; NULL for one from a file */
	bool objects;	    /* SUPPRESSION_OBJECTS */
	unsigned most;	    /* live blocks of a stack for each run of its program; 0 = any number */
	uint64_t calls, bytes; /* suppressed so far */
};

/* Does a built-in pattern match a line? */
enum { LINE_ORDINARY = 1, LINE_BUILTIN };

struct suppressions {
	struct suppression *item;
	size_t count, room;
	size_t of_files;	     /* number of those that are not built in */
	struct valgrind_block block; /* while a file is read */
	struct hash lines; /* by address: the lines evaluated so far, which must not move */
};

void suppressions_add_builtin(struct suppressions *s);
/* Ignores lines for other tools of the same family.  Anything else, or a file that cannot be read,
 * is -EINVAL with err. */
int suppressions_read(struct suppressions *s, const char *file, struct error *err);
void suppressions_release(struct suppressions *s);

/* Returns the first whose pattern has this stack, or NULL.  stacks NULL: only of built-in ones. */
struct suppression *suppressions_find(struct suppressions *s, const struct stacks *stacks,
				      const struct profile_path *path);

/* Can a line be the reason?  If no line of a stack can, it is kept at most because it was called at
 * the start of an interpreter, or by an import. */
bool suppressions_may_keep(struct suppressions *s, const struct sym_line *line);

/* Is the pattern found in text, as LeakSanitizer does it? */
bool suppression_matches(const char *pattern, const char *text);
