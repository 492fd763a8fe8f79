/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * compressed.h - a stream that compresses into another one.
 *
 * The output is complete only after compressed_close(), which leaves the other stream open; its
 * owner checks it for write errors. Memory: one window of the method.  Threads: one at a time.
 */
#pragma once

#include <stdio.h>

enum compressed { COMPRESSED_NOT, COMPRESSED_GZIP, COMPRESSED_ZSTD };

/* Decides by the extension .gz or .zst; other names, and NULL, are not compressed. */
enum compressed compressed_of(const char *name);

/* With COMPRESSED_NOT, returns `out` itself.  Without memory the program ends. */
FILE *compressed_open(FILE *out, enum compressed how);
/* Returns 0, or -errno if the stream could not be completed.  s may be `out` itself. */
int compressed_close(FILE *s, FILE *out);
