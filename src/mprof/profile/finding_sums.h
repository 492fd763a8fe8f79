/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * finding_sums.h - figures of findings by function.
 *
 * Only a few functions become findings.  So the figures of all are first added up over all of their
 * sites, also those that are left out because a library keeps their blocks: no function has more.
 * Which of its sites count is decided only for a function that may have most.
 *
 * Without memory the program ends (util/alloc.h).
 */
#pragma once

#include "askers.h"
#include "finding.h"

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
	uint64_t *most;	 /* by kind and function: at most so much; of this kind, 0 once returned */
	bool *exact;	 /* by function: that is its part of this kind, and ... */
	uint64_t *part;	 /* ... that of its sites is known, by index of site; 0 if left out */
};

/* The sites and names must outlive s, which must not be moved. */
void finding_sums_make(struct finding_sums *s, const struct sites *sites, struct profile *names);
void finding_sums_release(struct finding_sums *s);

/* Begins with a kind, once for each. */
void finding_sums_begin(struct finding_sums *s, enum finding_kind kind);
/* Returns the function with the next most of it, the first one if several have as much; 0: no
 * other has any. */
uint32_t finding_sums_next(struct finding_sums *s, struct finding_top *top);
/* After that: adds up all figures of the sites that have any of the figure. */
void finding_sums_values(struct finding_sums *s, uint32_t function, struct site_values *v);
/* Likewise: fills in the line of the function with most, what is around it, and the stack with
 * most. */
void finding_sums_place(struct finding_sums *s, uint32_t function, struct finding *f);
