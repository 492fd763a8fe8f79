/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * run_messages.h - what every command that runs a program does before and after: a sentence if it
 * refuses, losses first, the program's own exit status.
 */
#pragma once

#include <stdbool.h>

#include "../run/run.h"
#include "event_count.h"

/*
 * A plan from the caller's MPROF_CONF and these; NULL leaves as it is.
 * key names the file of this MODE, path its value.  Prints and returns false
 * when something is wrong.
 */
bool run_messages_plan(struct run_plan *plan, char **argv, const char *mode, enum conf_key key,
		       const char *path);
/* --allocator, NULL: not given.  The same if no allocator has that name. */
bool run_messages_allocator(struct run_plan *plan, const char *name);
void run_messages_release(struct run_plan *plan);

/* What run_messages_plan makes a run say when the program starts: that it cannot be recorded. */
void run_messages_starting(const struct program *program);

/* Prints why run_program refused; returns the exit status, 126 and 127 as env(1). */
int run_messages_refused(const struct run_result *r, int code, const struct error *err);

/* On stderr: n of lost[reason], in words; nothing if there are none. */
void run_messages_loss(unsigned reason, uint64_t n);

/* On stderr: what was not recorded and why, losses, what happened to the file. */
void run_messages_tell(const struct run_plan *plan, const struct run_result *r);
/* Then: children with a malloc of their own. */
void run_messages_own(const struct event_count_own *own, const struct run_result *r);

/* Did the user end it, so that there should be no second run? */
bool run_messages_interrupted(const struct run_result *r);

/*
 * Runs the program and returns the exit status; show: prints the settings instead.  after tells
 * what was recorded.
 */
int run_messages_run(const struct run_plan *plan, bool show,
		     void (*after)(const struct run_plan *plan, const struct run_result *r,
				   unsigned form),
		     unsigned form);

/* Flushes stdout and ends as the program did: the same signal or status. */
int run_messages_status(const struct run_result *r);
