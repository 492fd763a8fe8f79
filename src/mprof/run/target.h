/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * target.h - the path where a run is about to write its trace or counts.
 *
 * A finished file of the same kind stays where it is until a recorded process
 * has made the new one: then libmprof.so renames it to PATH.old (and a former
 * PATH.old is gone).  So nothing has to be repaired if the program cannot be recorded or mprof
 * dies. Anything else at that path is never touched, and no symbolic link is followed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../util/error.h"

struct target {
	char *path;   /* absolute */
	int claim;    /* while it is open no other mprof is given the path; -1: none */
	bool earlier; /* a finished file was there, this one: */
	dev_t dev;
	ino_t ino;
	uint8_t run_id[16]; /* by its header */
	char *spare;	    /* a second name of the file that was at PATH.old; NULL: none */
};

/* What happened to the earlier file. */
enum target_earlier {
	TARGET_NONE,	  /* there was none */
	TARGET_UNTOUCHED, /* it is still there: no process of the run created a file */
	TARGET_KEPT,	  /* it is at PATH.old */
	TARGET_PUT_BACK,  /* it was restored in place of an empty one */
};

/*
 * Makes the path absolute, and the directories above it; checks that a file can be made there
 * (magic: MPROF_MAGIC_*).  0, or -errno and *err if not; then nothing may be started.
 */
int target_take(struct target *t, const char *path, const char *magic, struct error *err);

/* After the run.  With nothing recorded, the earlier file takes the place of the new one. */
enum target_earlier target_settle(struct target *t, bool recorded);
void target_release(struct target *t);

/* Do both name one file, whether it exists or not? */
bool target_same(const char *a, const char *b);

/* PATH.old; free() it. */
char *target_old(const struct target *t);
