/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* running.h - traces and profiles that are named by the process that mprof records into them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "../trace/trace.h"

/* A sentence of the help of commands that take such numbers. */
#define RUNNING_HELP \
	" Name a running process by its PID to read what mprof has recorded of it so far."

/* Does the word name no file, but could be the number of a process? */
bool running_is_pid(const char *word);

/*
 * Puts the path of its recording in place of each such word (NULL: no word), and says so on stderr.
 * The paths stay until mprof ends.  STATUS_OK, or STATUS_FILE after one line on stderr.
 */
int running_find(char **word, size_t words);
/* Opens a trace, or a record of another tool, as import_open() does, with names of generated code
 * also while it is recorded. */
int running_open(struct trace **t, const char *path, const char *kind_magic, struct error *err);
/*
 * Returns what outputs of a recording are named after: its path, or, if running_find() gave a link
 * because it was deleted or is in a container, the name that it has or had there.
 */
const char *running_name(const char *path);
