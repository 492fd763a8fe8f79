/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * attaching.h - begins and ends the recording of a program that runs already.
 *
 * A thread of it loads libmprof.so and calls its mprof_attach() (src/libmprof/attach.h).
 *
 * Errors: 0 or -errno with one sentence in *err; then the program runs on as before.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../util/error.h"
#include "run_file_of.h"

struct attached {
	pid_t pid;
	char library[PATH_MAX]; /* that it loaded */
	bool copied;		/* this is a copy, which was removed */
	bool python;		/* set before: show functions of Python scripts */
	bool without_objects;	/* of Python: it has an allocator of which that is not possible */
	uint64_t detach;	/* address of mprof_detach() there */
	/* What calls need (inject.h).  An upgrade may replace these files before we detach. */
	char allocator[PATH_MAX];
	uint64_t system_call;
};

/* Does the process run CPython? */
bool attach_runs_python(pid_t pid);
/*
 * Can the process be recorded, as far as can be seen from outside?  Changes nothing there.  1: yes,
 * after the recording into *left has been ended, whose mprof was killed.
 * *claim: keeps other mprofs away from the process until it is closed; -1 if none was taken.
 */
int attach_check(pid_t pid, const char *library, struct run_file_of *left, int *claim,
		 struct error *err);
/* What is needed to end the recording that another mprof began. */
int attach_find(struct attached *a, const struct run_file_of *left, struct error *err);
/* Would the process, which creates its file, create it at this path?  Not if it has another root.
 */
int attach_check_file(pid_t pid, const char *path, struct error *err);
/*
 * library: the path of libmprof.so.  spare: where a copy of it may be written for a moment.  conf:
 * MPROF_CONF for it; the paths in it are absolute, and as the process sees them.
 */
int attach_begin(struct attached *a, pid_t pid, const char *library, const char *spare,
		 const char *conf, struct error *err);
/* Is the library still there?  Not if the process has ended, or runs another program by now. */
bool attach_is_on(const struct attached *a);
/* Ends the recording; the library stays in the process.  Call it only if attach_is_on(). */
int attach_end(struct attached *a, struct error *err);
