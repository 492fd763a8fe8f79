/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* runs_args.h - the runner's arguments for each kind of run. */
#ifndef MPROF_PLAY_RUNS_ARGS_H
#define MPROF_PLAY_RUNS_ARGS_H

#include "play.h"
#include "runs.h"

/* Each fills a, for play_args_free(). */
void runs_args_startup(struct play_args *a, const struct runs_plan *p);
void runs_args_memory(struct play_args *a, const struct runs_plan *p, const struct runs *r);
void runs_args_time(struct play_args *a, const struct runs_plan *p, const struct runs *r,
		    bool null);
void runs_args_latency(struct play_args *a, const struct runs_plan *p, const struct runs *r);

#endif
