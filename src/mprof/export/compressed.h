/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * compressed.h - a stream that compresses into another one.
 *
 * The output is complete only after compressed_close(), which leaves the other stream open; its
 * owner checks it for write errors. Memory: one window of the method.  Threads: one at a time.
 */
#pragma once

#include <stdio.h>

enum compressed { SQUEEZE_NOT, SQUEEZE_GZIP, SQUEEZE_ZSTD };

/* From the extension .gz or .zst; others, and NULL, are not compressed. */
enum compressed compressed_of(const char *name);

/* SQUEEZE_NOT: `out` itself. Ends: without memory the program. */
FILE *compressed_open(FILE *out, enum compressed how);
/* 0, or -errno when it could not be completed.  s may be `out` itself. */
int compressed_close(FILE *s, FILE *out);
