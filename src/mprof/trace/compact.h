/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* compact.h - rewriting a finished trace so that it takes a quarter of the room. */
#ifndef MPROF_TRACE_COMPACT_H
#define MPROF_TRACE_COMPACT_H

#include <stdbool.h>

#include "../util/error.h"

#define COMPACT_LEVEL_DEFAULT 9	   /* of zstd */
#define COMPACT_ERROR_NS      1000 /* how wrong times may be made, unless none may */

/*
 * Compresses a trace that nobody writes any more, chunk by chunk (FORMAT.md 8):
 * into a file of its own in the same directory, which then takes the place of
 * the old one.  The old file is left as it was when anything fails.  A trace
 * that is compressed already is left alone, and a counts file refused.  Times are
 * right to COMPACT_ERROR_NS afterwards, or exact; the order of events is as it
 * was.  Bytes that no extent claims are not carried over; damaged chunks are, as they are.
 * Returns 0 or -errno with *err.
 */
int trace_compress(const char *path, int level, bool exact, struct error *err);

#endif
