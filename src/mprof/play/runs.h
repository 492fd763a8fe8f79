/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * runs.h - plays a playback file on several allocators and measures them.
 *
 * Each variant has start-up runs (the memory of a process that allocates almost nothing), one
 * memory run (peak, curve, memory that remains after all blocks are freed), `reps` time runs, and
 * one run in which some calls are timed. Time runs are made in rounds: each round has all variants,
 * one null run (the same file without an allocator, to be subtracted) and the control, which is the
 * first working variant once more. Each round begins with the next one, so none is always first or
 * last. A variant that fails once is left out afterwards.
 *
 * Memory runs wait for late releases while time runs are made.
 *
 * Threads: one at a time; each run is a separate process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/playback.h>
#include <mprof/runner.h>

#include "../util/error.h"
#include "play.h"
#include "stats.h"
#include "variant.h"

#define RUNS_STARTS    3     /* start-up runs; the minimum counts */
#define RUNS_SAMPLES   256   /* of the curve of resident bytes */
#define RUNS_SHORT_NS  1e7   /* CPU time of a time run below which the file is played repeatedly */
#define RUNS_PASSES    1000  /* at most */
#define RUNS_STALL_S   30    /* a run without progress for this time is stopped */
#define RUNS_LATENCIES 65536 /* calls that are timed, approximately */

enum runs_mode { RUNS_AUTO, RUNS_SERIAL, RUNS_THREADS, RUNS_ORDERED };
const char *runs_mode_name(enum runs_mode m);

struct runs_plan {
	const char *playback;
	const struct mprof_playback_header *head;
	enum runs_mode mode; /* AUTO: serial for one thread, else threads; memory then: ordered */
	unsigned speed; /* wait for the recorded time / speed; 0: do not wait; not with ordered */
	const char *touch; /* as in runner.h; NULL: "recorded" if available, else "page" */
	unsigned reps;	   /* 0 = no time runs */
	int cpu;	   /* -1 = do not pin */
	bool no_huge, keep, latency;
	unsigned drain_ms[MPROF_RUN_DRAINS], drains;
	int64_t limit_ms; /* time limit of one run; 0 = derived from the time of the first runs */
	/* Called before each run; may be NULL.  `done` of `of` runs are over. */
	void (*progress)(void *context, const char *what, const char *name, unsigned done,
			 unsigned of);
	void *context;
};

/* The results of a variant. Bytes are above the baseline of the process. */
struct runs_row {
	const struct variant *variant; /* owned by the caller */
	int status;		       /* 0, or -errno: */
	struct error why;	       /* "died of SIGSEGV during the playback" */
	char said[160];	  /* from stderr of the memory run, for example about invalid settings */
	uint64_t startup; /* VmHWM of the start-up run minus glibc's, 0 if negative */
	struct mprof_run_result memory;
	struct mprof_run_sample *sample; /* of the memory run */
	size_t samples;
	double *cpu, *wall; /* ns a call, one figure for each round; cpu without the null run */
	size_t times;	    /* rounds in which it was played */
	struct middle cpu_ns, wall_ns; /* their medians */
	struct mprof_run_result timed; /* the last time run */
	struct mprof_run_result latency;
	bool has_latency;
};

struct runs {
	struct runs_row *row; /* one for each variant, in the same order */
	size_t n;
	size_t control_of;	 /* the first row that worked */
	struct runs_row control; /* the same variant once more; it has no memory run */
	struct middle null_ns;	 /* ns a call of the runner itself, subtracted */
	enum runs_mode time_mode, memory_mode; /* not AUTO */
	const char *touch;
	unsigned passes; /* how often a time run plays the file */
	uint64_t thp;	 /* as in mprof_run_result */
	unsigned done;	 /* runs begun, for progress */
};

/*
 * Plays.  Returns 0, also if variants failed, or -errno with *err if nothing can be played.  Call
 * runs_release() in any case.
 */
int runs_make(struct runs *r, const struct runs_plan *plan, const struct variants *vs,
	      struct error *err);
void runs_release(struct runs *r);
/* Fills in the open parts of the plan: modes and touch; one pass. */
void runs_choose(struct runs *r, const struct runs_plan *plan);

/* Returns the most memory that a row needs: peak above the baseline, and start-up. */
static inline uint64_t runs_peak(const struct runs_row *row)
{
	return row->memory.peak_rss + row->startup;
}

/* ---- for other series of runs (whatif/change_runs.c) ---- */

/* Both fill a; release it with play_args_free(). */
void runs_args_memory(struct play_args *a, const struct runs_plan *p, const struct runs *r);
void runs_args_time(struct play_args *a, const struct runs_plan *p, const struct runs *r,
		    bool null);

/* Returns the time limit of a run that plays the file this often. */
int64_t runs_limit_ms(const struct runs *r, const struct runs_plan *plan, unsigned passes);
