/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* runs_args.h - the runner's arguments, time limit and announcement of each run. */
#pragma once

#include "play.h"
#include "runs.h"

/* Each function fills a; release it with play_args_free(). */
void runs_args_startup(struct play_args *a, const struct runs_plan *p);
void runs_args_memory(struct play_args *a, const struct runs_plan *p, const struct runs *r);
void runs_args_time(struct play_args *a, const struct runs_plan *p, const struct runs *r,
		    bool null);
void runs_args_latency(struct play_args *a, const struct runs_plan *p, const struct runs *r);

/* Returns the CPU time of the calls of a memory run, without its end; 0 if unknown. */
uint64_t runs_played_ns(const struct runs_row *row);
/* Returns the time limit of a run that plays the file this often. */
int64_t runs_limit_ms(const struct runs *r, const struct runs_plan *plan, unsigned passes);
/* Calls plan->progress. */
void runs_tell(struct runs *r, const struct runs_plan *plan, const char *what, const char *name);
