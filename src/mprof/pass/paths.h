/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * paths.h - stacks as lines: inlined calls unfolded, wrappers folded away, cut
 * where --stop-at says; and which of them --function, --file and --module match.
 *
 * Nobody but profile.c and what shares it includes this.  Paths that are asked
 * for by name are kept until release; answers about frames are kept by frame.
 *
 * Errors: without memory the answer is NULL or false, and `failed` stays set.
 */
#ifndef MPROF_PATHS_H
#define MPROF_PATHS_H

#include "profile.h"

/* A path that is made again and again in the same memory. */
struct path_scratch {
	struct profile_path path;
	size_t room;
	uint32_t *frame; /* of the stack, innermost first */
	size_t frame_room;
};

enum path_mark {
	PATH_MARK_KNOWN = 1,	/* the others were looked up */
	PATH_MARK_FUNCTION = 2, /* a line of the frame matches --function */
	PATH_MARK_FILE = 4,
	PATH_MARK_MODULE = 8,
};

struct profile_paths {
	const struct stacks *stacks;
	struct sym *sym;
	const char *function, *file, *module;
	bool wrappers;
	uint8_t *mark; /* by frame: enum path_mark */
	struct profile_path **path;
	uint32_t *node; /* of each path */
	size_t slots, count;
	struct path_scratch scratch;
	bool failed;
};

/* 0, -ENOMEM, or -EINVAL for a pattern that is none; err filled.  Release in all cases. */
int paths_init(struct profile_paths *t, const struct stacks *stacks, struct sym *sym,
	       const struct profile_options *o, struct error *err);
void paths_release(struct profile_paths *t);

/* The path of a stack, valid until the next question; NULL without memory. */
const struct profile_path *paths_look(struct profile_paths *t, uint32_t stack);
/* The same, to keep. */
const struct profile_path *paths_keep(struct profile_paths *t, uint32_t stack);
/* Do --function, --file and --module each match a line of it? */
bool paths_match(struct profile_paths *t, const struct profile_path *path);
/* Does a line of it match this pattern, as --function does? */
bool paths_has_function(const struct profile_path *path, const char *pattern);
/* Does it only pass on a request for memory? */
bool paths_is_wrapper(const struct sym_line *line);
/* Index of the innermost line that is no wrapper, else 0. */
size_t paths_innermost(const struct profile_path *path);

#endif
