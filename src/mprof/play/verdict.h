/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * verdict.h - which differences between allocators mean something.
 *
 * Time.  a and b differ if their medians do by more than the noise: the maximum of stats_noise() of
 * the two, of the difference between the control and its variant, and of VERDICT_FLOOR of the
 * smaller one. A spread below the median spread of all variants is raised to it. If the control
 * differs by more than the noise of the two and VERDICT_CONTROL, the machine was too busy, and no
 * times are compared.
 *
 * Memory.  Peaks differ if by more than VERDICT_BYTES and VERDICT_PART of the smaller one: replays
 * and programs agree that closely.
 *
 * Rows that failed are not compared, nor are those that refused more blocks than the row that
 * refused fewest: refused memory costs nothing.  If a time does not exceed the spread of the
 * runner's own time, it was not measured, and no times are compared.
 */
#pragma once

#include "runs.h"

#define VERDICT_RUNS	3u
#define VERDICT_FLOOR	0.01
#define VERDICT_CONTROL 0.02
#define VERDICT_BYTES	(1u << 20)
#define VERDICT_PART	0.02
#define VERDICT_LEAST	(4u << 20) /* bytes below which ratios of memory say nothing */

struct verdict {
	const struct runs *runs;
	size_t reference; /* the row with which others are compared: the allocator that the program
			     used, else glibc, else the first; n if none was played */
	bool timed;	  /* there are times */
	bool quiet;	  /* ... and the control agrees with its variant */
	bool few;	  /* ... but fewer than VERDICT_RUNS of each, so not quiet */
	bool unmeasured;  /* ... but one was not measured, so not quiet */
	bool small; /* live bytes, and what the reference needs for them, are below VERDICT_LEAST */
	double control;	  /* relative difference between the control and its variant */
	double spread;	  /* the median relative MAD of all variants */
	uint64_t refused; /* blocks that every row refused, at least */
	size_t *by_peak;  /* rows that can be compared, the best first */
	size_t *by_time;
	size_t played; /* how many rows were played */
};

/* used: the object whose malloc the program used, NULL if unknown.  Release with
 * verdict_release(). */
void verdict_make(struct verdict *v, const struct runs *r, uint64_t peak_bytes, const char *used);
void verdict_release(struct verdict *v);

/* Returns the least significant difference of their times, in ns a call. */
double verdict_noise(const struct verdict *v, size_t a, size_t b);
/* Was row i played, and did it serve as many requests as others? */
bool verdict_fits(const struct verdict *v, size_t i);
/* Does it have a time? */
bool verdict_is_timed(const struct verdict *v, size_t i);
/* Is it the allocator that has the malloc of this object? */
bool verdict_is_used(const struct variant *x, const char *used);
/* Do they differ? */
bool verdict_by_time(const struct verdict *v, size_t a, size_t b);
bool verdict_by_peak(const struct verdict *v, size_t a, size_t b);
