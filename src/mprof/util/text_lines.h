/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* text_lines.h - text files that users write. */
#pragma once

#include "error.h"

/*
 * Passes each line, with its newline, to `take`, which may modify it and returns 0 or -errno with
 * err.  Stops at the first error, to which it adds path and line, and returns it.  Also -errno if
 * the file cannot be read.
 */
int text_lines(const char *path, int (*take)(void *self, char *line, struct error *err), void *self,
	       struct error *err);

/* Returns s without blanks at both ends, modified. */
char *text_trim(char *s);
