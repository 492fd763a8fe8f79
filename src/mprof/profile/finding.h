/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* finding.h - one finding: see findings.h. */
#pragma once

#include "reachable.h"
#include "../pass/growth.h"
#include "../sym/sym.h"

enum finding_kind {
#define FINDING(id, ...) FINDING_##id,
#include "finding_kinds.def"
	FINDING_KINDS,
};

/* How blocks that were never freed accumulated. */
enum finding_growth {
	GROWTH_ONCE,	/* by a single call */
	GROWTH_EARLY,	/* no more at the end than after the first quarter of the run, or at grew_ns
			 */
	GROWTH_STEADY,	/* it goes on, and nearly every part of the run ended with more */
	GROWTH_GOES_ON, /* leak_goes_on(): the last two quarters of its time */
	GROWTH_UNTIL, /* many parts of the run ended with more (leak_rises()), not the last ones */
	GROWTH_BUSY,  /* growth_is_busy() */
	GROWTH_OTHER,
};

/* A named part of a finding: a line of the function, or one of its stacks. */
struct finding_part {
	uint64_t part;	  /* of the finding's part */
	uint64_t calls;	  /* all of its calls */
	uint64_t largest; /* bytes of the largest block */
	uint32_t stack;	  /* node of its largest site */
};

struct finding {
	enum finding_kind kind;
	/* The allocating function, at the line with most.  GROWN: only that line. */
	const struct sym_line *line;
	bool has_twin; /* a function of its name in another source file allocates, too */
	struct finding_part at_line;
	size_t lines;			/* lines of the function that allocate */
	const struct sym_line *through; /* the function that line called for most of it, or NULL */
	bool all_through;		/* ... or for all of it */
	bool by_library;		/* finding_is_theirs() for more than half of that line's */
	/* The caller of most of it: as profile_asked; or, if several functions call that line's,
	 * the nearest one of the program that is not its main function; or NULL. */
	const struct sym_line *caller;
	bool all_by_caller;
	/* Beyond that caller, if it has several callers: the outermost one with most of the
	 * finding, on a path of shared functions; or NULL. */
	const struct sym_line *beyond;
	/* The nearest caller with known source, if line's is unknown or an interpreter's; or the
	 * innermost with a name, if neither that nor line and caller have one; else NULL. */
	const struct sym_line *source;
	bool all_from_source;
	/* line, or its nearest caller, in an interpreter's module; or NULL */
	const struct sym_line *interpreter;
	const char *note; /* why at_stack need not be at fault, as a sentence; or NULL */
	struct finding_part at_stack; /* the stack with most of it, as views show it */
	uint64_t part, of;	      /* the kind's figure: bytes, calls or blocks */
	uint64_t calls,
	    blocks;	  /* all calls of the line or function; PEAK, LEAK, TOTAL: blocks of part */
	uint64_t peak;	  /* bytes at the peak of the run; one_by_one: the most of it at a time */
	uint32_t process; /* not 0: this peak is of the largest of several processes */
	uint64_t left;	  /* PEAK: bytes that this function never freed */
	bool left_told;	  /* PEAK: a finding of this function says so */
	/* PEAK, interrupted: how long before the end of the run its last block was allocated, if it
	 * freed none and that is at least half of the run; else 0. */
	uint64_t quiet_ns;
	/* PEAK: how long before the end of the run its blocks still accumulated, if
	 * they were freed then (growth_freed_ticks()); else 0. */
	uint64_t growing_ns;
	uint64_t untouched;	    /* PEAK: analysis_untouched() */
	uint64_t pages;		    /* WASTE: what it rounds up beyond that, in whole pages */
	enum finding_growth growth; /* LEAK */
	uint64_t since_ns,
	    grew_ns;	   /* LEAK: GROWTH_BUSY between these times after the start,
			    * GROWTH_UNTIL the second one; of a profile, GROWTH_EARLY, too */
	bool one_by_one;   /* LEAK: processes left it one after another */
	bool ended_before; /* LEAK: processes that left it ended, not in a fork, before the run */
	bool examined;	   /* LEAK: its process was examined (reachable.h) */
	uint64_t unreachable;		/* and no pointer led to this many of its blocks */
	struct reachable_holder holder; /* of all of them, if pointers led to all; or "" */
	struct growth_site grown;	/* GROWN */
	bool interrupted;		/* PEAK, LEAK: analysis_interrupted */
	bool runs;			/* and the program still runs; set by overview_runs() */
	bool cut;			/* PEAK, LEAK: analysis_is_cut */
	bool about;	  /* PEAK, LEAK: its part is an estimate that may be wrong by half */
	bool reduced;	  /* the file has not all of its calls, so it cannot be replayed */
	bool beside;	  /* from the totals of a file that has calls, too */
	uint64_t aligned; /* calls of the run with an alignment */
	double rank;
};
