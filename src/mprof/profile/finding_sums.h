/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * finding_sums.h - figures of findings by function.
 *
 * Only a few functions become findings.  Sums over all sites of a function, including those that
 * are left out because a library keeps their blocks, are upper bounds.  Which sites count is
 * decided only for a function whose bound is the highest.
 *
 * Without memory the program ends (util/alloc.h).
 */
#pragma once

#include "askers.h"
#include "finding.h"
#include "leak_growth.h"

/* A function's part of a kind of findings. */
struct finding_top {
	uint64_t part;
	uint64_t left;	/* PEAK: bytes never freed, and not suppressed */
	uint64_t calls; /* calls of all its sites */
	/* Sums of the sites that have any of the figure: */
	uint64_t own_calls, live_calls, peak_calls, peak_slack;
	bool reduced; /* the trace has not all calls of one of these */
};

struct finding_sums {
	const struct sites *sites;
	struct profile *names;
	struct askers askers;
	uint64_t page;	 /* bytes */
	bool ends_early; /* more events followed */
	enum finding_kind kind;
	size_t functions;
	uint64_t *calls; /* by function - 1 */
	/* By kind and function: an upper bound of its part; 0 after finding_sums_next() returned
	 * the function for this kind. */
	uint64_t *most;
	bool *
	    exact; /* by function: for this kind, `most` is exact, and `part` of its sites is set */
	uint64_t *part;		  /* by index of site: its part of this kind; 0 if it is left out */
	struct growth_calls when; /* `all` is 0 until finding_sums_calls() */
};

/* The sites and names must outlive s, which must not be moved. */
void finding_sums_make(struct finding_sums *s, const struct sites *sites, struct profile *names);
void finding_sums_release(struct finding_sums *s);

/* Begins with a kind, once for each. */
void finding_sums_begin(struct finding_sums *s, enum finding_kind kind);
/* Returns the function with the next largest part, the first of equal ones; 0 if none is left. */
uint32_t finding_sums_next(struct finding_sums *s, struct finding_top *top);
/* After that: adds up all figures of the sites that have any of the figure. */
void finding_sums_values(struct finding_sums *s, uint32_t function, struct site_values *v);
/* Sums live bytes at the end of each epoch, without stacks whose blocks are replaced
 * (leak_is_replaced()). */
void finding_sums_curve(struct finding_sums *s, uint32_t function, uint64_t live[SITE_EPOCHS]);
/* When the sites made calls. */
const struct growth_calls *finding_sums_calls(struct finding_sums *s);
/* Likewise: fills in the line of the function with most, what is around it, and the stack with
 * most. */
void finding_sums_place(struct finding_sums *s, uint32_t function, struct finding *f);
/* Is it of a shared object? */
bool finding_is_of_shared(const struct sym_line *line);
/* Does a library allocate there, such as the C library, or an interpreter?  Its callers cannot take
 * these blocks from a pool; those of C++ can pass an allocator. */
bool finding_is_theirs(const struct sym_line *line);
/* Does Rust request it for the text of a panic, and to unwind? */
bool finding_is_of_panic(const struct sym_line *through);
/* Sets has_twin of a finding with a line. */
void finding_sums_twin(const struct finding_sums *s, struct finding *f);
