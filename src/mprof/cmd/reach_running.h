/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * reach_running.h - which live blocks a process that runs, and is recorded, can still reach:
 * `mprof report leaks --reach PID`.
 *
 * The process is stopped between the two calls, so that its memory and its trace agree.
 */
#pragma once

#include "../run/examine.h"

struct reach_running {
	struct examine x;
	struct stopped stopped;
};

/* Stops the process.  0, or -errno with one line in *err. */
int reach_running_stop(struct reach_running *r, pid_t pid, struct error *err);
/* Adds what it can reach to its trace, which was opened meanwhile.  The process runs on in any
 * case.  0, or -errno with one line in *err. */
int reach_running_take(struct reach_running *r, struct trace *t, struct error *err);
/* Lets it run on, without a trace. */
void reach_running_end(struct reach_running *r);
