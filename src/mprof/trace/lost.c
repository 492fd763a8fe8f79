// SPDX-License-Identifier: LGPL-3.0-or-later
/* lost.c - the reasons for losses. */
#include "lost.h"

const struct lost_reason lost_reason[MPROF_LOST_REASONS] = {
#define LOST(id, name, counts, in_report, at_end, help) \
	[MPROF_LOST_##id] = { LOST_##counts, in_report, at_end },
#include "lost.def"
};

#define LOST(...) +1
_Static_assert(
#include "lost.def"
    == MPROF_LOST_REASONS, "each reason has a row");
