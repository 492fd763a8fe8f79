/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * record.h - what `mprof record` and `mprof test` both do once a trace is there.
 */
#ifndef MPROF_CMD_RECORD_H
#define MPROF_CMD_RECORD_H

#include <stdbool.h>

#include "../run/run.h"

struct event_count;

/* 0: compressed, times right to 1 us. */
#define RECORD_EXACT 1u /* times as they were */
#define RECORD_BEST  2u /* smaller, for more time */
#define RECORD_PLAIN 4u /* not compressed */

/*
 * Tells losses, compresses the trace if wanted and if nobody writes it any more, and
 * counts what is in it.  False when there is no trace or it cannot be read, after a message.
 */
bool record_finish(const struct run_plan *plan, const struct run_result *r, unsigned form,
		   struct event_count *event_count);

#endif
