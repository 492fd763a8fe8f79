/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * change_runs.h - plays the recorded and the changed calls of a program on the same allocators in
 * turn.
 *
 * As in runs.h: one memory run and `reps` time runs each, without the time of the runner itself,
 * and a control: the recorded calls once more. Each round contains all of them and begins with the
 * next one. Times are for all calls together, because the two sides have different numbers of
 * calls.
 *
 * Noise: see verdict.h. Threads: one at a time; each run is a separate process.
 */
#pragma once

#include "../places/memories.h"
#include "../play/runs.h"

enum change_sides { SIDE_AS_IT_IS, SIDE_CHANGED, SIDES };

struct change_side {
	struct mprof_run_result memory; /* of the memory run */
	double *cpu;			/* ns of all calls, for each round */
	struct middle cpu_ns;		/* without the runner itself */
};

struct change_row {
	const struct variant *variant; /* owned by the caller */
	int status;		       /* 0, or -errno: */
	struct error why;
	struct change_side side[SIDES], control; /* control: cpu only */
	bool timed, quiet;			 /* there are times; and the control agrees */
	double noise;				 /* ns: a larger difference is significant */
	bool time_differs, peak_differs;
};

struct change_runs {
	struct change_row *row; /* by variant */
	size_t n;
	struct runs how[SIDES]; /* modes, touch, passes; no rows */
	struct middle null_ns[SIDES];
	struct memories heaps[SIDES]; /* filled with plan->heaps */
	bool has_heaps;
	unsigned done, of; /* runs, for progress */
};

struct change_runs_plan {
	struct runs_plan side[SIDES]; /* the same except for playback and head */
	bool heaps;		      /* also analyse block placement */
};

/* 0, also if variants failed; else -errno with *err.  Release it in any case. */
int change_runs_make(struct change_runs *r, const struct change_runs_plan *plan,
		     const struct variants *vs, struct error *err);
void change_runs_release(struct change_runs *r);

/* Returns the peak of a side above its start; page use (4 KiB) at the peak of live bytes, 0 if
 * unknown. */
uint64_t change_peak(const struct change_row *row, enum change_sides side);
double change_page_use(const struct change_runs *r, size_t row, enum change_sides side);
