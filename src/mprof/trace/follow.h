/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * follow.h - compressing a trace while the run that writes it goes on (FORMAT.md 8.6).
 *
 * Each round moves what has been written into groups in the same file, and frees the disk blocks
 * of the chunks that had it. The trace is readable at any time, also if we are killed. The order of
 * events and the heap are those that compressing at the end would give.
 *
 * One process follows a trace.  Threads: one at a time.
 */
#pragma once

#include <stdint.h>

#include "compact.h"

struct follow;

/*
 * Begins to follow a trace, without writing to it.  *o remains the caller's until the end; its `to`
 * is not used.  0, or -errno with *err: it cannot be followed, and is unchanged.
 */
int follow_start(struct follow **out, const char *path, const struct compact_options *o,
		 struct error *err);
/* Returns the bytes that were written since the last round began, also by it. */
uint64_t follow_grown(const struct follow *f);
/*
 * Compresses what is there.  0, or -errno: then it must not be called again, and the trace can only
 * be compressed by trace_compress().  Disk blocks stay while a reader has the file open.
 */
int follow_round(struct follow *f, struct error *err);
/* Compresses the rest, once the run has ended, as trace_compress() does. */
int follow_finish(struct follow *f, struct error *err);
/* NULL is ignored. */
void follow_free(struct follow *f);
