/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * limits.h - compares a profile with limits, and with an earlier profile.
 *
 * A limit applies to the whole run or to all stacks that go through a function (a glob).  Against a
 * baseline, calls, total, peak and leaked bytes may grow by the tolerance; a new leak is a stack
 * (as difference.h matches them) that leaks and did not, or leaks more than the tolerance allows,
 * if its innermost function leaks more in total, too.  A trace that lacks calls has figures that
 * are too small: it fails too, unless that is allowed.
 *
 * A limit for a function that no stack goes through checks nothing, so a typing
 * error or a new name would always pass: -EINVAL, unless that is allowed.
 *
 * Errors: -errno with err filled.  The profiles must outlive the result.
 */
#pragma once

#include "difference.h"

enum check_kind { CHECK_LIMIT, CHECK_BASELINE, CHECK_NEW_LEAKS, CHECK_COMPLETE };

/* What a trace does not have, besides lost calls: parts of the file; calls of objects that bypass
 * the library; the program that its first process became; calls that were not kept. */
enum check_lack { LACKS_PARTS = 1, LACKS_OBJECTS = 2, LACKS_PROGRAM = 4, LACKS_CALLS = 8 };

struct check_limit {
	enum profile_value value;
	const char *function; /* glob; NULL = the whole run */
	uint64_t most;
};

struct check_options {
	const struct check_limit *limit;
	size_t limits;
	bool no_new_leaks; /* needs a baseline */
	double tolerance;  /* percent that figures may grow over the baseline */
	bool allow_lost;
	bool allow_missing; /* allow a function that no stack has, as it allocates nothing */
};

struct check {
	enum check_kind kind;
	enum profile_value value;
	const char *function;
	bool failed;
	bool unclear; /* BASELINE: it grew, but by less than the error of samples */
	/* LIMIT, BASELINE: the figure.  NEW_LEAKS: stacks.  COMPLETE: lost calls. */
	uint64_t found, most;
	bool peaks_differ;	    /* BASELINE: as in struct diff */
	bool left_open[DIFF_SIDES]; /* as in struct diff, if leaked or live bytes are compared */
	unsigned lacks;		    /* COMPLETE: enum check_lack */
	/* LIMIT of a whole run of samples: the 95 % range of `found` */
	bool estimated;
	struct estimate_range range;
	uint64_t before; /* BASELINE: the figure of the baseline */
	/* After a failure: the function with most of it, or that grew most; NULL if unknown. */
	const struct sym_line *blame;
	uint64_t blamed; /* its part of `found`, or its growth */
};

struct checks {
	struct check *check;
	size_t count, failed;
	struct diff leaks; /* its first `found` groups are the new leaks */
	bool compared;	   /* `leaks` is filled */
};

/* baseline may be NULL.  Release in any case. */
int checks_make(struct checks *c, struct profile *p, struct profile *baseline,
		const struct check_options *o, struct error *err);
void checks_release(struct checks *c);
