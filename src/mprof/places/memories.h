/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * memories.h - block placement in the recorded run and on each allocator: a struct memory for each
 * run; each replay is a separate process.
 *
 * Errors: a variant that fails keeps its error, and the others continue.
 * Threads: one at a time.
 */
#pragma once

#include "../trace/trace.h"
#include "memory_use.h"
#include "place_plan.h"
#include "../play/variant.h"

#define MEMORIES_FRAMES	 64u
#define MEMORIES_SAMPLES 512u

struct memories_row {
	int status; /* 0, or -errno: */
	struct error why;
	struct memory memory; /* with status 0 */
};

struct memories {
	struct memories_row recorded; /* status -ENOENT if there is no trace of it */
	struct memories_row *row;     /* one for each variant, in the same order */
	size_t n;
};

struct memories_plan {
	const char *playback;	/* path */
	struct trace *trace;	/* the trace that the playback was made from; NULL if unknown */
	uint32_t process;	/* its number in the trace, as in place_trace.h */
	struct place_plan plan; /* with frames or samples 0 = MEMORIES_... */
	/* Called before each run; may be NULL. */
	void (*progress)(void *context, const char *name, size_t done, size_t of);
	void *context;
};

/* Release it with memories_release(). */
void memories_make(struct memories *m, const struct memories_plan *plan, const struct variants *vs);
void memories_release(struct memories *m);
