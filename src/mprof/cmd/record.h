/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * record.h - what `mprof record` and `mprof test` both do once a trace is there.
 */
#ifndef MPROF_RECORD_CMD_H
#define MPROF_RECORD_CMD_H

#include <stdbool.h>

#include "../run/run.h"

enum record_form {
	RECORD_SMALL, /* compressed; times are right to 1 us */
	RECORD_EXACT, /* compressed, times as they were */
	RECORD_PLAIN, /* as it was written */
};

/* Tells losses, compresses the trace if wanted and if nobody writes it any more. */
void record_finish(const struct run_plan *plan, const struct run_result *r, enum record_form form);

#endif
