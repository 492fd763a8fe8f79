// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * budget.c - ends the recording of events when the file reaches its limit (BUDGET).
 *
 * header.log_end is the time up to which every event of every process is recorded.  The thread that
 * first finds the file near its limit sets it, once, to its own time; all hooks of the run compare
 * the times of their events with it (modules/mode/log_totals.c).  Events that threads hold in their
 * slots are still written, and totals continue; a part of the budget is reserved for them.
 */
#include "limits.h"

#include <mprof/module.h>

#include "config.h"
#include "file.h"

#define SPARED 8u /* part of the budget reserved for slots, totals and stacks still to come */

void mp_budget_look(uint64_t now)
{
	struct mprof_file_header *h = mp_file.header;
	uint64_t size = __atomic_load_n(&h->tail, __ATOMIC_RELAXED) -
			__atomic_load_n(&h->dropped_bytes, __ATOMIC_RELAXED);
	uint64_t none = 0;

	if (size + mp_config.budget / SPARED < mp_config.budget)
		return;
	__atomic_compare_exchange_n(&h->log_end, &none, now, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}
