/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * lost.h - how to read the lost[] counters.
 *
 * Some reasons count single calls. The others mean that recording ended in a
 * process; that is counted once, whatever the process did afterwards. A call
 * without its stack is not lost.
 */
#pragma once

#include <stdbool.h>

#include <mprof/format.h>

/* Does this reason (enum mprof_lost) count processes whose recording ended early? */
static inline bool lost_is_end(unsigned reason)
{
	return reason == MPROF_LOST_SPACE || reason == MPROF_LOST_MEMORY ||
	       reason == MPROF_LOST_FILE || reason == MPROF_LOST_PROCESS ||
	       reason == MPROF_LOST_LOCKED;
}

/* Does it count calls that were recorded without their stacks? */
static inline bool lost_is_stack(unsigned reason)
{
	return reason == MPROF_LOST_STACK;
}
