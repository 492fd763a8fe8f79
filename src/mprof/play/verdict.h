/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * verdict.h - which differences between allocators mean something.
 *
 * Time.  a and b are told apart when their medians differ by more than the
 * noise: the greatest of stats_noise() of the two, of what the control differs
 * from the variant that it is, and of VERDICT_FLOOR of the smaller one.  A spread
 * that is less than the middle one of all variants is taken as that.  If
 * the control differs by more than the noise of the two and VERDICT_CONTROL, the
 * machine was too busy, and nobody is told apart by time.
 *
 * Memory.  Peaks differ when by more than VERDICT_BYTES and VERDICT_PART of the
 * smaller one: replays and programs agree that well.
 *
 * Rows that failed compare with nobody, nor do those that refused more blocks
 * than the row that refused least: memory that was not given costs nothing.
 */
#pragma once

#include "runs.h"

#define VERDICT_RUNS	3u
#define VERDICT_FLOOR	0.01
#define VERDICT_CONTROL 0.02
#define VERDICT_BYTES	(1u << 20)
#define VERDICT_PART	0.02
#define VERDICT_LEAST	(4u << 20) /* live bytes below which ratios of memory say nothing */

struct verdict {
	const struct runs *runs;
	size_t reference; /* the row that others are compared with: glibc, else the first;
			   * n when none was played */
	bool timed;	  /* there are times */
	bool quiet;	  /* ... and the control was as its variant */
	bool few;	  /* ... but less than VERDICT_RUNS of each: then it is not quiet */
	bool small;	  /* below VERDICT_LEAST */
	double control;	  /* by what part of its variant's time the control differed */
	double spread;	  /* the middle relative MAD of all variants */
	uint64_t refused; /* blocks that every row refused, at least */
	size_t *by_peak;  /* rows that compare, the best first */
	size_t *by_time;
	size_t played; /* how many */
};

/* For verdict_release(). */
void verdict_make(struct verdict *v, const struct runs *r, uint64_t peak_bytes);
void verdict_release(struct verdict *v);

/* By what a's and b's time must differ, ns a call. */
double verdict_noise(const struct verdict *v, size_t a, size_t b);
/* Was it played, and gave it what others gave? */
bool verdict_fits(const struct verdict *v, size_t i);
/* Can they be told apart? */
bool verdict_by_time(const struct verdict *v, size_t a, size_t b);
bool verdict_by_peak(const struct verdict *v, size_t a, size_t b);
