/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * leaks.h - evidence of a leak: how the live bytes of a group developed over
 * the run.
 *
 *   growing  in the time from its first block to the end of its processes, which is more than a
 *            quarter of the run, more was live at the end than at three quarters, and more there
 *            than at half, by at least a hundredth each time
 *   stopped  it grew over several epochs, by at least a hundredth at a time, but not, or hardly,
 *            to the end
 *   once     one block is left, or as much as when it was first seen
 *
 * The rate of a growing group is measured in the second half of that time. Suppressed blocks are
 * not evidence.
 */
#pragma once

#include "profile.h"

#define LEAK_LITTLE 100u /* leaks of less than 1 % of all come later */
#define LEAK_LATE   100u /* growth by less than 1 % of the leak does not count */

enum leak_kind { LEAK_GROWING, LEAK_STOPPED, LEAK_ONCE };

struct leak {
	enum leak_kind kind;
	uint64_t bytes_per_s; /* rate of a growing group */
	/* Since the start of the run: when a growing group began to grow, else when the oldest
	 * block that is left was allocated. */
	int64_t since_ns;
	int64_t grew_ns; /* the end of the last epoch in which it grew */
	uint64_t age_ns; /* from then to the end of the run */
};

void leak_of(const struct profile *p, const struct profile_group *g, struct leak *leak);
/*
 * Do blocks that are freed after a while explain how many are live?  Their mean number is the sum
 * of their lifetimes, divided by the time, and a batch that is filled and freed again and again has
 * at most twice as many, or a bit more, as the last one is not in the sum.  What is live then was
 * allocated within the longest lifetime: beside a leak, there is more.
 */
bool leak_is_explained(const struct site_values *v, uint64_t run_ns);
/*
 * Are the blocks of a stack replaced, as those of a batch or of a full cache are?  Then what was
 * live at the end of an epoch says little of growth: it is high or low as chance will have it. They
 * are if nothing is left of what was live at three quarters, unless it only rises, as a queue does;
 * or if freed blocks explain what is live, unless it grew much, or little in nearly every epoch.
 */
bool leak_is_replaced(const struct site_values *v, const uint64_t epoch_ticks[SITE_EPOCHS + 1],
		      uint64_t run_ns);
/* Were there hardly ever more live bytes than these? */
bool leak_was_never_more(const struct site_values *v, uint64_t bytes);
/* With these live bytes at the end of each epoch, does it only rise, to nearly as much as there
 * ever was, and much in the second half? */
bool leak_rises_like_a_queue(const struct site_values *v, const uint64_t live[SITE_EPOCHS]);
/* Is it growing, with this many live bytes at the end of each epoch? */
bool leak_goes_on(const uint64_t live[SITE_EPOCHS]);
/* Returns how many epochs ended with clearly more than any before, and the last of these; where
 * there are none, the first epoch with live bytes. */
unsigned leak_rises(const uint64_t live[SITE_EPOCHS], unsigned *last);
/* Is growth known?  A profile has no epochs; a trace of the last calls has blocks that replaced
 * older ones, which look like growth. */
bool leaks_know_growth(const struct profile *p);
/* Growing, and at least 1 % of all that leaked. */
bool leak_matters_most(const struct profile *p, const struct profile_group *g);
/* Sorts groups: those with leaks first, of these those with unreachable blocks, then the ones that
 * matter most; then the most bytes first. */
void leaks_rank(struct profile *p);
const char *leak_kind_name(enum leak_kind kind);
