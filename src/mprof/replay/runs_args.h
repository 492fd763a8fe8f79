/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* runs_args.h - the runner's arguments for each kind of run. */
#ifndef MPROF_REPLAY_RUNS_ARGS_H
#define MPROF_REPLAY_RUNS_ARGS_H

#include "runs.h"

#define RUNS_ARGS 16

/* KEY=VALUE..., NULL.  Filled by one of the functions below; for runs_args_free(). */
struct runs_args {
	char *text[RUNS_ARGS + 1];
	size_t n;
	bool failed; /* no memory */
};

void runs_args_startup(struct runs_args *a, const struct runs_plan *p);
void runs_args_memory(struct runs_args *a, const struct runs_plan *p, const struct runs *r);
void runs_args_time(struct runs_args *a, const struct runs_plan *p, const struct runs *r,
		    bool null);
void runs_args_latency(struct runs_args *a, const struct runs_plan *p, const struct runs *r);
void runs_args_free(struct runs_args *a);

#endif
