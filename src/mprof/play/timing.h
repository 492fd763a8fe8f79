/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* timing.h - the rounds of time runs; part of runs.c. */
#ifndef MPROF_PLAY_TIMING_H
#define MPROF_PLAY_TIMING_H

#include "runs.h"

/* Fills cpu, wall and timed of the rows and of the control, and null_ns.  0, or -errno and *err. */
int timing_make(struct runs *r, const struct runs_plan *plan, struct error *err);
/* The run with timed calls.  What fails is the row's. */
void timing_latency(struct runs *r, struct runs_row *row, const struct runs_plan *plan);

#endif
