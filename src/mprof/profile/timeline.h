/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * timeline.h - figures of a process over time: of a profile, of several dumps of it, or of the
 * table that --dump stat writes.
 *
 * A timeline has at most TIMELINE_POINTS points; of a longer table or of more dumps, neighbours are
 * joined.  When seconds or calls of a table decrease (an exec, mprof ctl clear), its figures begin
 * anew.
 *
 * Errors: -errno with err filled.
 */
#pragma once

#include <mprof/exit_forms.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../trace/trace.h"
#include "../util/error.h"

#define TIMELINE_POINTS 1024u
#define TIMELINE_BINS	MPROF_STAT_BINS /* 0 = size 0; n = from 2^(n-1) to 2^n - 1 bytes */

/* The figures of a point; NAN if unknown. */
enum timeline_figure {
	TIMELINE_LIVE,	   /* most live bytes in it or, in a table, at its end, as requested */
	TIMELINE_PEAK,	   /* most live bytes until its end */
	TIMELINE_RESIDENT, /* bytes at its end */
	TIMELINE_VIRTUAL,  /* bytes at its end */
	TIMELINE_BLOCKS,   /* live blocks when most bytes were live or, in a table, at its end */
	TIMELINE_CALLS,	   /* calls that allocated a block in it */
	TIMELINE_BYTES,	   /* bytes allocated in it */
	TIMELINE_FIGURES,
};

struct timeline_point {
	double from, to; /* seconds since the start of the run */
	double figure[TIMELINE_FIGURES];
	/* In a table and of dumps: blocks by size, allocated in this point and live at its end. */
	uint64_t sizes[TIMELINE_BINS], live_sizes[TIMELINE_BINS];
};

struct timeline {
	uint32_t process;	/* 0: of a table, which does not name it */
	bool of_all, estimated; /* sizes are of all processes; figures are estimates */
	bool binned;		/* points have sizes */
	bool instants; /* of a table and of dumps: live bytes and blocks are those at its end */
	size_t count;
	struct timeline_point point[TIMELINE_POINTS];
	double live, blocks; /* of a profile: live bytes and blocks when it was written */
	uint64_t sizes[TIMELINE_BINS], live_sizes[TIMELINE_BINS]; /* at the end of the run */
};

/* process: 0 for the one with the highest peak.  -ESRCH if the profile has no such process. */
int timeline_of_profile(struct timeline *l, const struct trace *t, uint32_t process,
			struct error *err);

/* Makes a point for each of these dumps of one process, in any order.  process: as above, in the
 * first dump. */
int timeline_of_dumps(struct timeline *l, char *const *path, size_t n, uint32_t process,
		      struct error *err);

/* Does the file begin with the titles of a table? */
bool timeline_is_table(const char *path);
int timeline_of_table(struct timeline *l, const char *path, struct error *err);
