/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * export_files.h - which trace is exported, and what its files are called.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "../util/error.h"

/*
 * Of several traces, or of those that a pattern in quotes names, the one with the largest resident
 * set, which matters most in a run of many processes on many machines. A single name is taken
 * literally. The caller frees *picked; *of is their number.  0, or -errno with err filled.
 */
int export_pick(char *const *log, size_t logs, char **picked, size_t *of, struct error *err);

/* Is this output a directory, or to become one (it ends with a slash)? If so, it is created. */
int export_directory(const char *output, bool *is, struct error *err);

/*
 * FILE.EXT; with a value, FILE.VALUE.EXT; in a directory, that of the trace's
 * name without .log.  NULL without memory.
 */
char *export_file_name(const char *output, bool directory, const char *log, const char *extension,
		       const char *value);

/* Does the file begin like a trace of mprof? */
bool export_is_trace(const char *path);
/* The trace of the current directory that was written last; the caller's to free, NULL: none. */
char *export_newest(void);
