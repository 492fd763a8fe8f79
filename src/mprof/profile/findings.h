/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * findings.h - the most important facts about call stacks, ranked by the possible saving.
 *
 * Figures come from the sites and chains that the analysis' walk found.  Sites
 * are combined by the allocating function (profile_asked); a finding is their
 * sum, and names the line of the function with most of it.
 *
 * Rank.  Each kind has a figure between 0 and 1: its part of the peak (peak, leak, waste), of all
 * calls (hot, temporary, grown), of all allocated bytes (total), of these and all copied ones
 * (grown) or of all freed blocks (other threads); kinds that cost less than they seem have a lower
 * weight (finding_kinds.def), and so have all where the whole is very little.
 *
 * Errors: -errno with err filled.  The trace and the analysis must outlive them.
 */
#pragma once

#include "../pass/analysis.h"
#include "../pass/unmatched.h"
#include "kept.h"
#include "outside.h"
#include "profile.h"
#include "retained.h"
#include "../pass/alloc_times.h"
#include "stack_findings.h"

#define FINDINGS	 10u
#define FINDINGS_REDUCED 3u
#define FINDINGS_POOLED	 16384u /* bytes: a pool of whatif/change.h takes blocks up to this size */

enum finding_kind {
#define FINDING(id, ...) FINDING_##id,
#include "finding_kinds.def"
	FINDING_KINDS,
};

/* How blocks that were never freed accumulated. */
enum finding_growth {
	GROWTH_ONCE,	/* by a single call */
	GROWTH_EARLY,	/* no more at the end than after the first quarter of the run */
	GROWTH_STEADY,	/* it goes on, and nearly every part of the run ended with more */
	GROWTH_GOES_ON, /* leak_goes_on(): the last two quarters of its time */
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
	struct finding_part at_line;
	size_t lines;			/* lines of the function that allocate */
	const struct sym_line *through; /* the function that line called for most of it, or NULL */
	bool all_through;		/* ... or for all of it */
	const struct sym_line *caller;	/* as profile_asked */
	bool all_by_caller;
	/* The nearest caller with known source, if line's is unknown or an interpreter's; else
	 * NULL. */
	const struct sym_line *source;
	bool all_from_source;
	/* line, or its nearest caller, in an interpreter's module; or NULL */
	const struct sym_line *interpreter;
	struct finding_part at_stack; /* the stack with most of it, as views show it */
	uint64_t part, of;	      /* the kind's figure: bytes, calls or blocks */
	uint64_t calls,
	    blocks;	/* all calls of the line or function; PEAK, LEAK, TOTAL: blocks of part */
	uint64_t peak;	/* bytes at the peak of the run */
	uint64_t left;	/* PEAK: bytes that this function never freed */
	bool left_told; /* PEAK: a finding of this function says so */
	/* PEAK, interrupted: how long before the end of the run its last block was allocated, if it
	 * freed none and that is at least half of the run; else 0. */
	uint64_t quiet_ns;
	uint64_t untouched;	    /* PEAK: analysis_untouched() */
	uint64_t pages;		    /* WASTE: what it rounds up beyond that, in whole pages */
	enum finding_growth growth; /* LEAK */
	bool ended_before;	    /* LEAK: processes that left it ended before the run did */
	struct growth_site grown;   /* GROWN */
	bool interrupted;	    /* PEAK, LEAK: analysis_interrupted */
	bool reduced;		    /* the trace has not all of its calls, so a replay has not */
	uint64_t aligned;	    /* calls of the run with an alignment */
	double rank;
};

/* A change that mprof replay can play, to the line or stack that a finding is about. */
enum finding_change { PROPOSES_NOTHING, PROPOSES_DROP, PROPOSES_POOL, PROPOSES_RESERVE };
struct finding_proposal {
	enum finding_change change;
	bool of_line;	/* to the line, otherwise to at_stack */
	uint64_t calls; /* calls that it changes; RESERVE: blocks */
};
/* Proposes nothing if it would not help: the named part is less than half of the finding, the
 * program would do nothing else, a block does not fit into a pool (or may not, because of its
 * alignment), the C library allocates them,
 * no function of the program made the call, or neither its line nor its name is known. */
struct finding_proposal finding_proposal(const struct finding *f);

struct findings {
	struct finding item[FINDINGS]; /* highest rank first */
	size_t count;
	struct outside outside;	      /* present without stacks, too */
	struct stack_findings stacks; /* likewise */
	struct alloc_times times;     /* likewise */
	struct retained retained;
	struct unmatched unmatched; /* of a trace with stacks: the first free of no block */
	struct kept kept;	    /* excluded from findings of the peak, waste and leaks */
	/* Functions with stacks whose events were not all kept, at most some of them. */
	const struct sym_line *reduced[FINDINGS_REDUCED];
	size_t reduced_count;
	bool reduced_more;    /* there are others */
	struct profile names; /* for profile_path */
	bool named;
};

/* Are both about one function? */
bool findings_same_function(const struct finding *a, const struct finding *b);

/* Fills f; for a trace without stacks, only `outside` and `stacks`. f must not be moved; release in
 * any case.  look: of the same trace; NULL: another walk is made if the findings need it. */
int findings_make(struct findings *f, const struct analysis *a, struct trace *t,
		  const struct profile_options *o, const struct resident_look *look,
		  struct error *err);
/* Memory outside malloc that is stacks and variables is told once: where it is all of that, by
 * their own findings, which name threads and variables; else by the one that sums it up.  After
 * outside.globals is known. */
void findings_tell_outside_once(struct findings *f);
void findings_release(struct findings *f);
