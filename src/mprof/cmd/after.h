/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * after.h - what every command that runs a program does before and after:
 * one sentence for a refusal, the losses first, the program's own exit status.
 */
#ifndef MPROF_CMD_AFTER_H
#define MPROF_CMD_AFTER_H

#include <stdbool.h>

#include "../run/run.h"
#include "tally.h"

/*
 * A plan from the caller's MPROF_CONF and these; NULL leaves as it is.
 * key names the file of this MODE, path its value.  Prints and returns false
 * when something is wrong.
 */
bool after_plan(struct run_plan *plan, char **argv, const char *mode, enum conf_key key,
		const char *path);
/* --allocator: prints and returns false when there is none of that name. */
bool after_allocator(struct run_plan *plan, const char *name);
void after_release(struct run_plan *plan);

/* What after_plan makes a run say when the program starts: that it cannot be recorded. */
void after_starting(const struct program *program);

/* Prints why run_program refused; returns the exit status, 126 and 127 as env(1). */
int after_refused(const struct run_result *r, int code, const struct error *err);

/* On stderr: n of lost[reason], in words; nothing if there are none. */
void after_loss(unsigned reason, uint64_t n);

/* On stderr: what was not recorded and why, losses, what became of the file. */
void after_tell(const struct run_plan *plan, const struct run_result *r);
/* Then: children with a malloc of their own. */
void after_own(const struct tally_own *own, const struct run_result *r);

/* Did the user end it, so that a second run would be against his will? */
bool after_interrupted(const struct run_result *r);

/* Flushes stdout and ends as the program did: the same signal or status. */
int after_status(const struct run_result *r);

#endif
