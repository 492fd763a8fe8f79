// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * budget.c - records fewer events as the file grows towards its limit, and none when it reaches it
 * (BUDGET).
 *
 * From half of the limit on, the file has a level.  Each process that finds the level raised by a
 * chunk that it wrote takes a step: its MODE ends the events of its busiest stacks
 * (modules/mode/log_totals.c).  A process that writes less than half the average of those that run
 * leaves this to the others, so the events of a quiet process stay as long as possible.
 *
 * header.log_end is the time up to which events are recorded at all.  The thread that first finds
 * the file at its limit sets it, once, to its own time; all hooks of the run compare the times of
 * their events with it.  Events that threads hold in their slots are still written, and totals
 * continue; a part of the budget is reserved for them.
 */
#include "limits.h"

#include <mprof/module.h>

#include "config.h"
#include "file.h"
#include "local.h"

#define SPARED	    8u	/* part of the budget reserved for slots, totals and stacks still to come */
#define LEVELS	    32u /* parts of the rest */
#define LEVEL_FIRST 16u /* the last level without a step */

const uint32_t *mp_log_steps(void)
{
	return &mp_local->log_steps;
}

static uint32_t budget_running(void)
{
	const struct mprof_file_header *h = mp_file.header;
	uint32_t n = 0, most = __atomic_load_n(&h->processes, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < most && i < MPROF_PROCESS_TABLE; i++)
		n += __atomic_load_n(&h->process[i].state, __ATOMIC_RELAXED) ==
		     MPROF_PROCESS_RUNNING;
	return n ? n : 1;
}

/* Called by the thread that raised the level of its process. */
static void budget_step(struct mp_budget *b, uint64_t size)
{
	const uint64_t own = __atomic_load_n(&mp_local->file_bytes, __ATOMIC_RELAXED);

	/* How the file grew before this process began says nothing about it. */
	if (b->begun && 2 * (own - b->own) * budget_running() >= size - b->size)
		__atomic_fetch_add(&mp_local->log_steps, 1, __ATOMIC_RELAXED);
	b->begun = 1;
	b->size = size;
	b->own = own;
}

void mp_budget_look(uint64_t now)
{
	struct mprof_file_header *h = mp_file.header;
	struct mp_budget *b = &mp_local->budget;
	const uint64_t size = __atomic_load_n(&h->tail, __ATOMIC_RELAXED) -
			      __atomic_load_n(&h->dropped_bytes, __ATOMIC_RELAXED);
	const uint64_t limit = mp_config.budget - mp_config.budget / SPARED;
	const uint32_t level = size < limit ? (uint32_t)(size * LEVELS / limit) : LEVELS;
	uint32_t had = __atomic_load_n(&b->level, __ATOMIC_RELAXED);
	uint64_t none = 0;

	if (level == LEVELS)
		__atomic_compare_exchange_n(&h->log_end, &none, now, 0, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED);
	else if (level > had &&
		 __atomic_compare_exchange_n(&b->level, &had, level, 0, __ATOMIC_RELAXED,
					     __ATOMIC_RELAXED) &&
		 (level > LEVEL_FIRST || !b->begun))
		budget_step(b, size);
}
