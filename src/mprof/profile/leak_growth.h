/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* leak_growth.h - how what a function never freed grew over the run.  Threads: any. */
#pragma once

#include "../pass/analysis.h"
#include "finding.h"

/*
 * Is growth known?  In a trace of the last calls only, older blocks are missing, so blocks that
 * replace them look like growth. So do the blocks of many short processes that each leak a little:
 * then neither one process has half of all, nor those that lasted.
 */
bool growth_is_known(const struct analysis *a);

/* When the sites of a run made calls: upper bounds of the calls before each epoch and after it, and
 * the first and the last call of the sites that made all of theirs from then on, or until then. */
struct growth_calls {
	uint64_t all, before[SITE_EPOCHS], after[SITE_EPOCHS];
	uint64_t first_ticks[SITE_EPOCHS], last_ticks[SITE_EPOCHS];
};
void growth_calls_make(struct growth_calls *c, const struct sites *sites);

/*
 * The same of a profile, which has the live bytes at two earlier times and now: it goes on if more
 * were live each time, by more than the profile may be wrong, and nearly as much as ever.
 * until_ticks: of GROWTH_EARLY, the time since which it did not grow; of GROWTH_UNTIL, the end of
 * the growth; else 0.
 */
enum finding_growth growth_of_totals(const struct analysis *a, const struct site_values *v,
				     uint64_t *until_ticks);
/* known: growth_is_known() */
enum finding_growth growth_of(const struct site_values *v, bool known);
/* Did blocks of v accumulate in less than half of the run?  Asked first, as the next takes all
 * sites. */
bool growth_is_short(const struct sites *sites, const struct site_values *v);
/*
 * Did blocks of v accumulate in a short part of the run, in which the program made nearly all of
 * its calls, for at least half of it?  It was idle before or after that, so nobody can tell such a
 * leak from a start.
 */
bool growth_is_busy(const struct growth_calls *c, const struct sites *sites,
		    const struct site_values *v);
/* Is it growth that a longer run would have more of? */
bool growth_goes_on(enum finding_growth growth);
/* Returns the end of the last epoch in which these live bytes, one number for each epoch, grew: in
 * ns since the start. */
uint64_t growth_end_ns(const struct analysis *a, const struct sites *sites, const uint64_t *e);
/*
 * Did these live bytes grow like a leak until the last quarter of the run, and were then freed, as
 * an interpreter frees its objects when it ends?  Returns the end of the last epoch in which they
 * grew, in ticks; else 0.
 */
uint64_t growth_freed_ticks(const struct sites *sites, const uint64_t e[SITE_EPOCHS]);
/* Returns the time from the end of such growth to the end of the run; 0 without.  A queue or a
 * cache without a limit is not among the blocks that were never freed, if the program, or the
 * interpreter of a script, frees them in the end.  Blocks that never live long come and go, unless
 * there are ever more of them. */
uint64_t growth_freed_ns(const struct analysis *a, const struct sites *sites,
			 const struct site_values *v, bool script);
