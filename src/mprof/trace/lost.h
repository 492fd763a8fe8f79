/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* lost.h - how to read the lost[] counters (lost.def). */
#pragma once

#include <mprof/format.h>

enum lost_counts { LOST_CALLS, LOST_PROCESSES, LOST_STACKS };

struct lost_reason {
	enum lost_counts counts;
	const char *in_report, *at_end;
};

extern const struct lost_reason lost_reason[MPROF_LOST_REASONS];
