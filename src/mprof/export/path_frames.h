/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * path_frames.h - a path frame by frame, innermost first, for formats in which one
 * address has several lines.
 *
 * A place is a frame with those of its lines that the path shows: the real
 * function and what was inlined there.  Where the path was cut in the middle of
 * a frame, the inner lines are missing, so a frame may be several places.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../profile/calltree.h"

struct place {
	uint32_t frame;			    /* of stacks->frame */
	uint32_t lines;			    /* at least 1 */
	const struct sym_line *const *line; /* outermost, the real function, first */
	uint64_t key;			    /* the same for the same lines of the same frame */
};

/* The next place outward; *at is path->count before the first.  False: there is none. */
bool place_next(const struct profile_path *path, size_t *at, struct place *to);

/* The address in the object that belongs to the call: in the call itself, not behind it. */
static inline uint64_t place_address(const struct stack_frame *f)
{
	return f->flags & STACK_FRAME_EXACT || !f->address ? f->address : f->address - 1;
}

/* The first program of the run and its arguments, in one line without its end. */
void place_command(FILE *out, const struct profile *p);

/* The same as a string; the caller's. */
char *place_command_text(const struct profile *p);

#define BUILD_ID_TEXT 129u
/* The build-id in hexadecimal, "" for none; `to` itself. */
const char *place_build_id(const struct stack_object *o, char to[BUILD_ID_TEXT]);
