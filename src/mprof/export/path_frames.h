/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * path_frames.h - the frames of a path, innermost first, for formats in which an address has
 * several lines.
 *
 * A place is a frame with the lines of it that the path contains: the function itself and what was
 * inlined there. A path may have been cut in the middle of a frame, so that inner lines are
 * missing.  So a frame may be several places.
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
	const struct sym_line *const *line; /* the real function, which is outermost, first */
	uint64_t key;			    /* equal for the same lines of the same frame */
};

/* Finds the next place outward; *at is path->count at the beginning.  False if there are no
 * more. */
bool place_next(const struct profile_path *path, size_t *at, struct place *to);

/* Returns the address of the call in its object, not the return address. */
static inline uint64_t place_address(const struct stack_frame *f)
{
	return f->flags & STACK_FRAME_EXACT || !f->address ? f->address : f->address - 1;
}

/* Writes the first program of the run and its arguments, without a line end. */
void place_command(FILE *out, const struct profile *p);

/* The same as a string, which the caller frees. */
char *place_command_text(const struct profile *p);
