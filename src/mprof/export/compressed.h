/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * compressed.h - a stream whose bytes arrive in another one compressed.
 *
 * What was written is complete only after compressed_close(), which leaves the
 * other stream open.  Whether that one took everything is for its owner to
 * check.  Memory: one window of the method.  Threads: one at a time.
 */
#pragma once

#include <stdio.h>

enum compressed { SQUEEZE_NOT, SQUEEZE_GZIP, SQUEEZE_ZSTD };

/* By the name's end: .gz, .zst, else not at all.  NULL: not at all. */
enum compressed compressed_of(const char *name);

/* SQUEEZE_NOT gives `out` itself.  Without memory the program ends. */
FILE *compressed_open(FILE *out, enum compressed how);
/* 0, or -errno when it could not be completed.  s may be `out` itself. */
int compressed_close(FILE *s, FILE *out);
