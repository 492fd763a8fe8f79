/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * target.h - the path where a run is about to write its trace or counts.
 *
 * A finished file of the same kind stays at the path until a recorded process has made the new one:
 * then libmprof.so renames it to PATH.old (and a former PATH.old is lost).  So nothing has to be
 * repaired if the program cannot be recorded or mprof dies.  Other files at that path are never
 * touched, and symbolic links are not followed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../util/error.h"

struct target {
	char *path;   /* absolute */
	int claim;    /* while it is open no other mprof gets the path; -1 if closed */
	bool earlier; /* there was a finished file, this one: */
	dev_t dev;
	ino_t ino;
	uint8_t run_id[16]; /* from its header */
	char *spare;	    /* a second name of the file that was at PATH.old, or NULL */
};

/* What happened to the earlier file. */
enum target_earlier {
	TARGET_NONE,	  /* there was no file */
	TARGET_UNTOUCHED, /* still there: no process of the run created a file */
	TARGET_KEPT,	  /* moved to PATH.old */
	TARGET_PUT_BACK,  /* restored in place of an empty one */
};

/*
 * Makes the path absolute, and the directories above it; checks that a file can be made there
 * (magic: MPROF_MAGIC_*).  0, or -errno and *err if not; then nothing may be started.
 */
int target_take(struct target *t, const char *path, const char *magic, struct error *err);
/* Can a file be made and mapped there?  Tried, because permissions alone do not say.  shown: the
 * path in the message.  0, or -errno and *err. */
int target_try(const char *path, const char *shown, struct error *err);

/* Call this after the run.  If nothing was recorded, the earlier file replaces the new one. */
enum target_earlier target_settle(struct target *t, bool recorded);
void target_release(struct target *t);

/* Do both name one file, whether it exists or not? */
bool target_same(const char *a, const char *b);

/* Returns PATH.old, which the caller frees. */
char *target_old(const struct target *t);
