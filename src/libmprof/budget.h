/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * budget.h - a run that keeps no more events when they need too much (key BUDGET).
 */
#ifndef MP_BUDGET_H
#define MP_BUDGET_H

#include <stdint.h>

/*
 * Ends the events of the run, from `now` on, if the file is as large as it may be.  For a thread
 * that has just written a chunk.  Without totals, what is not kept is counted as lost.
 */
void mp_budget_look(uint64_t now);

#endif
