/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * source_text.h - the lines of a source file, wherever it is now.
 *
 * Looked for below each directory given, with fewer and fewer leading components of its path, then
 * at the path itself.  Only regular files of at most 64 MiB.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../sym/sym.h"
#include "paragraph.h"

struct source_text {
	char *found;	   /* its path; NULL if not found */
	int64_t change_ns; /* when it was last changed, since 1970 */
	char *text;
	char **line; /* NUL-terminated, without line ends; [0] is line 1 */
	size_t lines;
	const char *why; /* why it was not found, for example "No such file or directory" */
};

void source_text_read(struct source_text *s, const char *path, const char *const *dir);
void source_text_release(struct source_text *s);

/* What to say of a file whose lines its author did not write, after its name: of a cell of a
 * notebook, or, if `cython`, of C that Cython generated; NULL otherwise. */
const char *source_remark(const char *file, bool cython);
/* Adds this sentence about the file of a line, if there is one. */
void source_words(struct paragraph *p, const struct sym_line *line);
