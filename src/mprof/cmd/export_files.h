/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* export_files.h - chooses the exported trace and the names of files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "../util/error.h"

/*
 * Picks, of several traces or those that a pattern in quotes names, the one with the largest
 * resident set, which matters most in a run of many processes on many machines.  The name of an
 * existing file is not a pattern.  Says which it is on stderr.  The caller frees *picked, which is
 * NULL after an error.  0, or -errno with err filled.
 */
int export_pick(char *const *log, size_t logs, char **picked, struct error *err);

/* Is this output a directory, or to become one (it ends with a slash)? If so, it is created. */
int export_directory(const char *output, bool *is, struct error *err);

/*
 * Returns FILE.EXT; with a value, FILE.VALUE.EXT; in a directory, from the trace's name without
 * .log.  The caller frees it.
 */
char *export_file_name(const char *output, bool directory, const char *log, const char *extension,
		       const char *value);

/* Does the file begin like a trace of mprof? */
bool export_is_trace(const char *path);
/* Returns the trace in the current directory that was written last, which the caller frees; NULL
 * if there is none. */
char *export_newest(void);
