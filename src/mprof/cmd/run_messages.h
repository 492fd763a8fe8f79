/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * run_messages.h - messages before and after the run of a program, for every command that runs one:
 * a sentence if it refuses, losses first, the program's own exit status.
 */
#pragma once

#include <stdbool.h>

#include "../run/run.h"
#include "event_count.h"

/*
 * Makes a plan from the caller's MPROF_CONF and these arguments; NULL changes nothing.  key names
 * the file of this MODE, path its value.  Prints and returns false if something is wrong.
 */
bool run_messages_plan(struct run_plan *plan, char **argv, const char *mode, enum conf_key key,
		       const char *path);
/* Takes --allocator, or NULL.  Prints and returns false if no allocator has that name. */
bool run_messages_allocator(struct run_plan *plan, const char *name);
void run_messages_release(struct run_plan *plan);

/* Called when the program starts: says if it cannot be recorded. */
void run_messages_starting(const struct program *program);

/* Prints why run_program refused; returns the exit status, 126 and 127 as env(1). */
int run_messages_refused(const struct run_result *r, int code, const struct error *err);

/* Prints on stderr n of lost[reason], in words; nothing if n is 0. */
void run_messages_loss(unsigned reason, uint64_t n);

/* Does the MODE write a file of this kind (MPROF_MAGIC_...)?  Otherwise refuses it, naming those
 * that do. */
bool run_messages_mode(const struct conf *conf, const char *magic, const char *expected);

/* Prints on stderr what was not recorded and why, losses, and what happened to the file. */
void run_messages_tell(const struct run_plan *plan, const struct run_result *r);
/* Call it then: reports children and objects with another malloc. */
void run_messages_own(const struct event_count_own *own, const struct run_result *r);

/* Did the user end it, so that there should be no second run? */
bool run_messages_interrupted(const struct run_result *r);

/*
 * Runs the program and returns the exit status; show: prints the settings instead.  after() reports
 * what was recorded.
 */
int run_messages_run(const struct run_plan *plan, bool show,
		     void (*after)(const struct run_plan *plan, struct run_result *r,
				   unsigned form),
		     unsigned form);

/* Flushes stdout and ends as the program did: the same signal or status. */
int run_messages_status(const struct run_result *r);
