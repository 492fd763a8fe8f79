/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * limits.h - a run that records less when recording takes too much space (key BUDGET, budget.c) or
 * too much time (key OVERHEAD, overhead.c).
 */
#pragma once

#include <stdint.h>

/*
 * Ends the events of the run, from `now` on, if the file has reached its limit.  Called by a thread
 * that has just written a chunk.  Without totals, later events count as lost.
 */
void mp_budget_look(uint64_t now);

/* From a MODE: see module.h. */
int mp_overhead_spent(uint64_t now, uint64_t ticks, uint32_t calls);
