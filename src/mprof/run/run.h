/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * run.h - runs a program under libmprof.so, from the checks before its start to the result after
 * its end.
 *
 * run_program does everything; a command only fills the plan and prints the result. Failures of the
 * program itself are not errors of a run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../util/error.h"
#include "code_names.h"
#include "conf.h"
#include "follower.h"
#include "program.h"
#include "launch.h"
#include "target.h"

struct run_plan {
	char **argv;
	struct conf conf;      /* complete; MODE decides which file is written */
	const char *allocator; /* absolute path, "" = glibc's, NULL = unchanged */
	bool preload;	       /* preload it, rather than have the library load it */
	bool python;	       /* give Python functions frames of their own */
	bool with_samples;     /* trace and profile: watch memory from outside */
	bool discards;	       /* the file is removed after the run: its path means nothing */
	uint64_t compress_at;  /* trace: from this size on it is compressed as it grows; 0 = not */
	const char *const *compress_how; /* further options for mprof compress, up to NULL */
	bool quiet;			 /* messages about the file are suppressed */
	/* NULL, or called with the program when all checks have passed. */
	void (*starting)(const struct program *program);
};

enum run_file {
	RUN_NO_FILE,   /* this MODE has no file */
	RUN_FILE,      /* the file is there */
	RUN_NOTHING,   /* no process created it */
	RUN_EMPTY,     /* it had no event, so the earlier file was restored */
	RUN_UNOPENED,  /* it is there, and cannot be opened: `why` */
	RUN_TRUNCATED, /* its header was truncated: nothing can be read */
	RUN_CUT,       /* it was truncated, but the rest can be read */
	RUN_RESTORED,  /* it was deleted, and was restored at its path */
	RUN_MOVED,     /* another file is at its place; it is at `path` now */
	RUN_ABOVE,     /* its directory was deleted; it was restored above it, and is at `path` */
	RUN_RENAMED,   /* it was renamed; it is at `path` now */
	RUN_LOST,      /* it was deleted or replaced, and could not be restored */
};

struct run_result {
	struct program program;
	struct launch_end end;
	pid_t pid;
	struct target target;	     /* .path: where the file was to be; NULL with RUN_NO_FILE */
	enum target_earlier earlier; /* what happened to the earlier file */
	char *path;		     /* where the file is, or NULL */
	enum run_file file;
	int why;		 /* RUN_UNOPENED: errno */
	uint32_t alive;		 /* of these, how many still run */
	bool unranked;		 /* %r is in the name, and nothing said the rank */
	enum code_python python; /* with the plan's python only */
	bool in_use; /* a process, maybe not counted in alive, still has the file open */
	uint64_t lost[MPROF_LOST_REASONS]; /* from the file's header, for all processes together */
	struct follower follower;	   /* compresses the trace, if it runs */
	uint64_t bytes;			   /* size of the file */
	uint64_t bytes_before;		   /* RUN_TRUNCATED, RUN_CUT: its size before, at least */
	char *notes;  /* lines "<pid> <exe>: reason" for processes that were not recorded */
	char *called; /* names of the called functions of WRAP, one a line; may be NULL */
};

/*
 * Returns 0 if the program ran.  -EINVAL, -EEXIST, ... with *err: refused, nothing was started;
 * -ENOENT and -EACCES with an empty result->program.path: there is no such program.
 */
int run_program(const struct run_plan *plan, struct run_result *result, struct error *err);
void run_release(struct run_result *result);

/* Can the file be written?  Checks as run_program does, but starts nothing. */
int run_check(const struct run_plan *plan, struct error *err);
/* Discards the file of a run and restores the earlier file. */
void run_undo(struct run_result *result);

/* Does a process still record into the file? */
bool run_uses(const char *path);

/* Returns the exit status to pass on: the program's, or 128 and the signal. */
int run_status(const struct run_result *result);

/*
 * recorded.c: does the file of a run contain at least one call?  magic: MPROF_MAGIC_*.  True if the
 * file cannot be read.
 */
bool recorded_anything(const char *path, const char *magic);
/* Copies the rank that MPI told a process of the file; "" if it told none. */
void recorded_rank(const char *path, const char *magic, char *rank, size_t size);
