/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * compress.h - compressing a trace in place.
 */
#pragma once

#include <stdbool.h>

struct event_count;

/*
 * Compresses a trace with a progress line on a terminal; Ctrl-C stops it. *event_count, if not
 * NULL, is filled if the trace was not compressed before; *interrupted, if not NULL, is the signal
 * that stopped it. 0, or -errno after a message: the trace is unchanged.
 */
int compress_in_place(const char *path, int level, bool exact, struct event_count *event_count,
		      int *interrupted);
