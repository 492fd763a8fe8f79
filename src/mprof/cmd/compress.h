/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * compress.h - compressing a trace in place.
 */
#pragma once

#include <stdbool.h>

#include "../run/follower.h"
#include "event_count.h"

#define COMPRESS_AT (512u << 20) /* bytes of a trace that is compressed while it is written */

/* What `mprof compress --follow` tells who started it. */
struct compress_result {
	int code; /* 0, or -errno: the trace is as it was, and readable */
	struct event_count event_count;
};

/*
 * Compresses a trace with a progress line on a terminal; Ctrl-C stops it. *event_count, if not
 * NULL, is filled if the trace was not compressed before; *interrupted, if not NULL, is the signal
 * that stopped it. 0, or -errno after a message: the trace is unchanged.
 */
int compress_in_place(const char *path, int level, bool exact, struct event_count *event_count,
		      int *interrupted);
/*
 * Has the process that follows a trace compress the rest of it; signals are handed on to it.  1:
 * there is none, or it failed, and the trace is as it was.  0 and -EINTR as above.
 */
int compress_by(struct follower *f, struct event_count *event_count);
