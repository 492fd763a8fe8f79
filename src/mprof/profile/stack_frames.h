/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stack_frames.h - the bytes of a thread's stack at its deepest recorded call, by function.
 *
 * A frame reaches from its function's stack pointer to its caller's, so it has the return address
 * into the caller, and arguments that the caller pushed.  Inlined calls have no frame: their bytes
 * are their caller's.  Frames of folded calls are those of the allocating function.
 */
#pragma once

#include "../pass/stack_uses.h"
#include "profile.h"

struct stack_function {
	const struct sym_line *line; /* its innermost occurrence */
	uint64_t bytes, frames;	     /* frames: without those of folded calls */
};

struct stack_frames {
	struct stack_function *of; /* functions, most bytes first */
	size_t count;
	uint64_t *line; /* bytes by line of profile_path, 0 for an inlined one; count lines */
	uint64_t outer; /* of frames further out, which the stack does not have */
};

/* Returns false, with an empty result, if the sizes of frames are unknown. */
bool stack_frames_find(struct stack_frames *f, const struct stack_of *s, struct profile *p);
void stack_frames_release(struct stack_frames *f);
