/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* record.h - finishes a trace for `mprof record` and `mprof test`. */
#pragma once

#include <stdbool.h>

#include "../run/run.h"

struct event_count;

/* 0 = compressed, times accurate to 1 us. */
#define RECORD_EXACT 1u /* exact times */
#define RECORD_BEST  2u /* smaller, for more time */
#define RECORD_PLAIN 4u /* not compressed */

/*
 * Reports losses, compresses the trace if requested and if no process still writes to it, and
 * counts its events. Prints a message and returns false if the trace is missing or unreadable.
 */
bool record_finish(const struct run_plan *plan, struct run_result *r, unsigned form,
		   struct event_count *event_count);
