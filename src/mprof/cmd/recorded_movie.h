/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* recorded_movie.h - the heap of one process as it was recorded, as a movie: for `mprof movie` and
 * for the heap page of the report. */
#pragma once

#include <stdio.h>

#include "../pass/programs.h"
#include "../places/place_plan.h"
#include "../profile/profile.h"

#define RECORDED_MOVIE_NOTE "as recorded; which pages were resident is unknown"

struct recorded_movie {
	const char *title; /* the program's command line */
	uint32_t process;  /* its number in the run; its program with most calls, unless: */
	const struct trace_program *of; /* one that is known, which saves a walk; or NULL */
	struct profile *names;		/* of the trace; NULL = sites are numbers */
	unsigned frames;		/* and one more at the peak */
	uint64_t limit; /* bytes of the data, which say what was left out to stay below the limit */
	struct place_plan plan; /* its progress and cancel are used; the others are set here */
};

/* The data of one movie (src/web/README.md) as JSON.  0 or -errno; nothing is written then. */
int recorded_movie_write(const struct recorded_movie *o, struct trace *t, FILE *out,
			 struct error *err);
