/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * findings.h - what call stacks say that a reader should know first, ranked by
 * what there is to save.
 *
 * Figures come from the sites and chains that the analysis' walk found.  Sites
 * are put together by the function that asked: the innermost line that a reader
 * can do something about, which is no wrapper of the allocator, no function that
 * calls itself one ("alloc" in its name), not in the C or C++ library, and of no
 * container of these.  Only stacks that make up nearly all of a figure are
 * given names, so a function's part may be a little more than is told, never less.
 *
 * Rank.  Each kind has a figure between 0 and 1: how much of the peak it is
 * (peak, leak, waste), of all calls (hot, temporary, grown) or of all copied and
 * allocated bytes (grown), of all freed blocks (other threads); those that cost
 * less than they seem to are weighed down (see findings.c).
 *
 * Errors: -errno with err filled.  The trace and the analysis must outlive them.
 */
#ifndef MPROF_FINDINGS_H
#define MPROF_FINDINGS_H

#include "analysis.h"
#include "profile.h"

#define FINDINGS 10u

enum finding_kind {
	FINDING_PEAK,	   /* who held memory at the peak */
	FINDING_LEAK,	   /* who left most */
	FINDING_HOT,	   /* who calls most */
	FINDING_TEMPORARY, /* whose blocks are freed at once */
	FINDING_GROWN,	   /* blocks grown step by step */
	FINDING_WASTE,	   /* whose blocks were rounded up most, at the peak */
	FINDING_THREADS,   /* whose blocks are freed by other threads */
	FINDING_KINDS,
};

/* How what was never freed came to be. */
enum finding_growth {
	GROWTH_ONCE,	/* a single call */
	GROWTH_EARLY,	/* no more at the end than after the first quarter of the run */
	GROWTH_STEADY,	/* more at the end of nearly every part of the run than before */
	GROWTH_GOES_ON, /* more in the last quarter than before it */
	GROWTH_OTHER,
};

struct finding {
	enum finding_kind kind;
	const struct sym_line *line;	/* who asked: the line of its largest site */
	const struct sym_line *through; /* what it called for that, e.g. strdup; NULL: nothing */
	const struct sym_line *caller;	/* the nearest with a name, when line has none; NULL */
	uint32_t stack;			/* of the largest site */
	uint64_t part, of;		/* the kind's figure: bytes, calls or blocks */
	uint64_t calls, blocks;		/* LEAK, PEAK: blocks of part; TEMPORARY: all calls of it */
	uint64_t left;			/* PEAK: bytes that this function never freed */
	size_t sites;
	enum finding_growth growth;	 /* LEAK */
	const struct growth_site *grown; /* GROWN */
	double rank;
};

struct findings {
	struct finding item[FINDINGS]; /* highest rank first */
	size_t count;
	struct profile names; /* for profile_path */
	bool named;
};

/* Fills f, and nothing of a trace without stacks.  f is not moved; release in any case. */
int findings_make(struct findings *f, const struct analysis *a, struct trace *t,
		  const struct profile_options *o, struct error *err);
void findings_release(struct findings *f);

/* Is it code that asks for others: who called it is who a reader looks for? */
bool findings_is_library(const struct sym_line *l);

#endif
