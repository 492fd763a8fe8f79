/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * squeeze.h - a stream whose bytes arrive in another one compressed.
 *
 * What was written is complete only after squeeze_close(), which leaves the
 * other stream open.  Whether that one took everything is for its owner to
 * check.  Memory: one window of the method.  Threads: one at a time.
 */
#ifndef MPROF_EXPORT_SQUEEZE_H
#define MPROF_EXPORT_SQUEEZE_H

#include <stdio.h>

enum squeeze { SQUEEZE_NOT, SQUEEZE_GZIP, SQUEEZE_ZSTD };

/* By the name's end: .gz, .zst, else not at all.  NULL: not at all. */
enum squeeze squeeze_of(const char *name);

/* SQUEEZE_NOT gives `out` itself.  NULL without memory. */
FILE *squeeze_open(FILE *out, enum squeeze how);
/* 0, or -errno when it could not be completed.  s may be `out` itself. */
int squeeze_close(FILE *s, FILE *out);

#endif
