/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* runs_args.h - what each run is given: the runner's arguments, a time limit, an announcement. */
#pragma once

#include "play.h"
#include "runs.h"

/* Each fills a, for play_args_free(). */
void runs_args_startup(struct play_args *a, const struct runs_plan *p);
void runs_args_memory(struct play_args *a, const struct runs_plan *p, const struct runs *r);
void runs_args_time(struct play_args *a, const struct runs_plan *p, const struct runs *r,
		    bool null);
void runs_args_latency(struct play_args *a, const struct runs_plan *p, const struct runs *r);

/* CPU time of the calls of a memory run, without its end; 0: not known. */
uint64_t runs_played_ns(const struct runs_row *row);
/* How long a run may take that plays the file so often. */
int64_t runs_limit_ms(const struct runs *r, const struct runs_plan *plan, unsigned passes);
/* Tells plan->progress. */
void runs_tell(struct runs *r, const struct runs_plan *plan, const char *what, const char *name);
