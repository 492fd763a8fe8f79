/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * import_text.h - the lines of a text file that may be compressed: by gzip, or
 * as the only file in a zip.
 *
 * Errors: -ENOENT..., -EBADMSG if it is not a file, -ENOEXEC for a zip that cannot be read or does
 * not contain exactly one file.  Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../util/error.h"

#define IMPORT_LINE_MAX 8192u /* a longer line is cut to this */

struct import_text;

int import_text_open(struct import_text **out, const char *path, struct error *err);
void import_text_close(struct import_text *t);

/*
 * Returns the next line, without its end (LF, or CR and LF); NULL after the last one.  Valid until
 * the next call.  A zero byte ends it.
 */
const char *import_text_line(struct import_text *t);

/* Is the file compressed by gzip or in a zip?  Known after the first line was read. */
bool import_text_packed(const struct import_text *t);

/* After the last line: does it lack a line end? */
bool import_text_open_end(const struct import_text *t);
/* Returns why reading ended before the end of the file, or NULL. */
const char *import_text_why(const struct import_text *t);
