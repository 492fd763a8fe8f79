/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* run_file_of.h - the file that a process records into. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include <mprof/format.h>

#include "../util/error.h"

struct run_file_of {
	pid_t pid;
	char path[PATH_MAX]; /* as the program has it */
	bool deleted;	     /* from there */
	char link[64];	     /* valid nevertheless, as long as the process runs */
	struct mprof_file_header header;
};

/*
 * Finds the file of a process (or of that of a thread) that is recorded: one with this magic, or
 * any for NULL.  0, or -errno with *err: -ENOENT if it is not being recorded.
 */
int run_file_find(struct run_file_of *f, pid_t pid, const char *magic, struct error *err);

/* Says why a process cannot be examined; why: the errno of reading what /proc has of it. */
int run_cannot_examine(pid_t pid, int why, struct error *err);
