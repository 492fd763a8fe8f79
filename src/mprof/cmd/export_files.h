/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * export_files.h - which trace is exported, and what its files are called.
 */
#ifndef MPROF_CMD_EXPORT_FILES_H
#define MPROF_CMD_EXPORT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "../util/error.h"

/*
 * Of several traces, or of those that a pattern in quotes names, the one whose
 * program had the most memory resident: a run of many processes on many
 * machines is looked at where it is worst.  A single name is taken as it is.
 * *picked is the caller's; *of is how many there were.  0, or -errno with err filled.
 */
int export_pick(char *const *log, size_t logs, char **picked, size_t *of, struct error *err);

/* Is this output a directory, or to be one (it ends with a slash)?  Then it is made. */
int export_directory(const char *output, bool *is, struct error *err);

/*
 * FILE.EXT; with a value, FILE.VALUE.EXT; in a directory, that of the trace's
 * name without .log.  NULL without memory.
 */
char *export_file_name(const char *output, bool directory, const char *log, const char *extension,
		       const char *value);

/* Does the file begin as a trace of ours? */
bool export_is_trace(const char *path);
/* The trace of the current directory that was written last; the caller's to free, NULL: none. */
char *export_newest(void);

#endif
