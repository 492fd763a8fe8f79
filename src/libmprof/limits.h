/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * limits.h - a run that keeps only its last events (keys LAST_BYTES and LAST_SECONDS, recent.c), or
 * records less when recording takes too much space (key BUDGET, budget.c) or too much time (key
 * OVERHEAD, overhead.c).
 */
#pragma once

#include <stdint.h>

/*
 * Drops chunks that are too old; `now` is in ticks.  Called by a thread that has just written a
 * chunk, with signals blocked.  Never fails: a chunk that cannot be dropped stays.
 */
void mp_recent_keep(uint64_t now);
/* Can the file system of our file free blocks inside a file?  0 if so, else -errno. */
int mp_recent_works(void);

/*
 * Adds to log_steps as the file grows towards its limit, then ends the events of the run, from
 * `now` on.  Called by a thread that has just written a chunk.
 */
void mp_budget_look(uint64_t now);

/* Called by a MODE; see module.h. */
const uint32_t *mp_log_steps(void);
int mp_overhead_spent(uint64_t now, uint64_t ticks, uint32_t calls);
