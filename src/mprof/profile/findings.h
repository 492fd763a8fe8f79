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
#include "finding.h"
#include "kept.h"
#include "larger.h"
#include "outside.h"
#include "profile.h"
#include "refaults.h"
#include "retained.h"
#include "../pass/alloc_times.h"
#include "stack_findings.h"
#include "../trace/shorter_stacks.h"

#define FINDINGS	    10u
#define FINDINGS_REDUCED    3u
#define FINDINGS_POOL_CALLS 1000u /* fewer take so little time and memory that no pool pays */
#define FINDINGS_POOLED	    16384u /* bytes: a pool of whatif/change.h takes blocks up to this size */

/* A change that mprof replay can play, to the line or stack that a finding is about. */
enum finding_change { PROPOSES_NOTHING, PROPOSES_DROP, PROPOSES_POOL, PROPOSES_RESERVE };
struct finding_proposal {
	enum finding_change change;
	bool of_line;	/* to the line, otherwise to at_stack */
	uint64_t calls; /* calls that it changes; RESERVE: blocks */
};
/* Proposes nothing if it would not help: the named part is less than half of the finding, the
 * program would do nothing else, a block does not fit into a pool (or may not, because of its
 * alignment), its calls are too few for a pool, the C library allocates them,
 * no function of the program made the call, or neither its line nor its name is known. */
struct finding_proposal finding_proposal(const struct finding *f);

struct findings {
	struct finding item[FINDINGS]; /* highest rank first */
	size_t count;
	struct outside outside;	      /* present without stacks, too */
	struct outside_place files;   /* outside_find_files() */
	struct stack_findings stacks; /* likewise */
	struct alloc_times times;     /* likewise */
	struct retained retained;
	struct refaults refaults;      /* present without stacks, too */
	struct larger larger;	       /* of a profile, instead of these */
	struct unmatched unmatched;    /* of a trace with stacks: the first free of no block */
	struct shorter_stacks shorter; /* of a run with stacks of one process */
	struct kept kept;	       /* excluded from findings of the peak, waste and leaks */
	/* Functions with stacks whose events were not all kept, at most some of them. */
	const struct sym_line *reduced[FINDINGS_REDUCED];
	size_t reduced_count;
	bool reduced_more;    /* there are others */
	struct profile names; /* for profile_path */
	bool named;
};

/* Do the blocks belong to strings that operator+ returned?  Each is a new one, whatever was
 * reserved. */
bool findings_of_plus(const struct finding *f);
/* Are both about one function? */
bool findings_same_function(const struct finding *a, const struct finding *b);

/* Before the analysis, if `source` leaves milestones: these have peaks of stacks, too, for which
 * names are needed.  f is zeroed. */
int findings_open(struct findings *f, struct trace *t, const struct profile_options *o,
		  struct analysis_source *source, struct error *err);
/* Fills f, which is zeroed or opened; for a trace without stacks, only `outside` and `stacks`. f
 * must not be moved; release in any case. */
int findings_make(struct findings *f, const struct analysis *a, struct trace *t,
		  const struct profile_options *o, struct error *err);
/* Memory outside malloc that is stacks and variables is told once: where it is all of that, by
 * their own findings, which name threads and variables; else by the one that sums it up.  After
 * outside.globals is known. */
void findings_tell_outside_once(struct findings *f);
void findings_release(struct findings *f);
