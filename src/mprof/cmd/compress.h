/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * compress.h - compressing a trace where it stands.
 */
#ifndef MPROF_COMPRESS_H
#define MPROF_COMPRESS_H

#include <stdbool.h>

/* STATUS_OK, or STATUS_FILE after a message; the trace is then as it was. */
int compress_in_place(const char *path, int level, bool exact);

#endif
