/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * analysis.h - all results of one walk, for the printers.
 *
 * Errors: analysis_make returns -errno with err filled.  The trace must stay
 * open and the analysis in place (it is not copied) until analysis_release.
 */
#pragma once

#include "compactness.h"
#include "growth.h"
#include "lifetimes.h"
#include "maps.h"
#include "never_freed.h"
#include "peak.h"
#include "residency.h"
#include "resident_parts.h"
#include "resizes.h"
#include "tree.h"
#include "sites.h"
#include "sizes.h"
#include "totals.h"
#include "walk.h"

struct cells;
struct cross_frees;
struct findings;
struct programs;

struct analysis {
	struct walk walk;  /* its heap has the problems, but no live blocks any more */
	bool walk_is_copy; /* of the walk that analysis_end was given */
	const struct trace_damage *damage;
	const char *path;
	uint64_t file_bytes;
	uint64_t time_error_ns;	 /* largest error of times, due to compression */
	bool of_other_tool;	 /* usable sizes are unknown: requested ones stand for them */
	bool untimed;		 /* ticks only count events */
	uint64_t calls, threads; /* recorded calls and threads */
	bool sampled;		 /* `calls` are samples */
	struct tree tree;
	struct totals totals;
	struct peak peak;
	struct never_freed never_freed;
	struct sizes sizes;
	struct resizes resizes;
	struct lifetimes lifetimes;
	struct compactness compactness;
	struct residency residency;
	struct resident_parts resident_parts;
	struct maps maps;
	/* true for a trace with call stacks; otherwise these are empty */
	bool has_stacks;
	struct sites sites;
	struct growth growth;
	/* The whole run, if events are missing: totals.read, if the trace has totals. */
	struct sites whole;
	bool of_totals;			 /* `whole` is all that is known of calls: of a profile */
	const struct findings *findings; /* about stacks, with names; NULL until they are made */
};

struct analysis_source {
	struct walk_input input;
	const struct trace_damage *damage;
	const char *path;
	uint64_t file_bytes;
	uint64_t time_error_ns;
	bool of_other_tool, untimed;
	const struct trace
	    *whole;		  /* a trace with totals beside its events, or a profile; or NULL */
	bool brief;		  /* omit what the first screen of a report does not print */
	struct trace *milestones; /* leaves some for this trace (milestones.h); may be NULL */
	/* As in sites_options: groups whose peaks a first walk leaves for later ones; may be NULL.
	 */
	uint32_t (*group)(void *context, uint32_t stack, uint64_t part);
	void *group_context;
	bool one_by_one; /* for tests: do not use the fused loop; the result is the same */
	void (*progress)(void *context, const struct walk *w);
	void *progress_context;
};

#define ANALYSIS_PASSES 12u

void analysis_source_of(struct analysis_source *source, struct trace *t);
int analysis_make(struct analysis *a, const struct analysis_source *source, struct error *err);
/*
 * For a walk that has other passes, too, and is run elsewhere.  Before it: fills `list` with
 * `source`'s passes and returns how many there are.  After it: w has no more of them; it stays the
 * caller's, and valid until analysis_release.  Not called after an error, when the walk's release
 * is that of the passes.
 */
size_t analysis_begin(struct analysis *a, const struct analysis_source *source,
		      struct walk_pass list[static ANALYSIS_PASSES]);
void analysis_end(struct analysis *a, const struct analysis_source *source, const struct walk *w);
void analysis_release(struct analysis *a);
/* The figures of stacks of the whole run: from the events, or if not all events of some stacks were
 * kept, from the totals. */
const struct sites *analysis_sites(const struct analysis *a);
/* tree_left_open() */
bool analysis_interrupted(const struct analysis *a);
/* Are calls missing, perhaps frees among them?  Then blocks that seem to be live may not be. */
bool analysis_is_cut(const struct analysis *a);
/* Is every live block known?  A profile, and a trace that has only the last calls, or not those of
 * busy call stacks, do not tell what memory is without blocks. */
bool analysis_knows_live(const struct analysis *a);
/* Does the allocator tell how much it rounds sizes up?  Records of other tools have no usable
 * sizes, and of an allocator without malloc_usable_size(), or of a debugging one whose function
 * returns what was requested, no block has more than its size. */
bool analysis_knows_rounding(const struct analysis *a);
/* At least how many of these live bytes were neither resident nor in swap: those beyond the sum of
 * what each process had in memory at most, and of swap.  0: unknown, or too few to mention. */
uint64_t analysis_untouched(const struct analysis *a, uint64_t bytes);

/* The passes of a page, each over all blocks. */
struct analysis_page {
	struct analysis *analysis; /* not brief, with stacks */
	struct cells *cells;
	struct cross_frees *cross_frees;
	struct programs *programs;
};

/* For struct walk.fused of a walk that has the passes of an analysis and of a page, and no others.
 */
size_t analysis_fused_page(void *analysis_page, struct walk *w, size_t first, size_t n);
/* The same of a walk that has only the pass of sites. */
size_t analysis_fused_sites(void *sites, struct walk *w, size_t first, size_t n);
