/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* leak_growth.h - how what a function never freed grew over the run.  Threads: any. */
#pragma once

#include "../pass/analysis.h"
#include "finding.h"

/*
 * Is growth known?  In a trace of the last calls only, older blocks are missing, so blocks that
 * replace them look like growth. So do the blocks of many short processes that each leak a little:
 * then neither one process has half of all, nor those that lasted.  Totals have no course over
 * time.
 */
bool growth_is_known(const struct analysis *a);
/* known: growth_is_known() */
enum finding_growth growth_of(const struct site_values *v, bool known);
/* Is it growth that a longer run would have more of? */
bool growth_goes_on(enum finding_growth growth);
/* Returns the end of the last epoch in which these live bytes, one number for each epoch, grew: in
 * ns since the start. */
uint64_t growth_end_ns(const struct analysis *a, const struct sites *sites, const uint64_t *e);
