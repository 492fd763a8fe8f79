// SPDX-License-Identifier: LGPL-3.0-or-later
/* johnstone.c - the four measures of fragmentation. */
#include "johnstone.h"

static double more(uint64_t memory, uint64_t live)
{
	return live ? (double)memory / (double)live - 1 : 0;
}

void johnstone_add(struct johnstone *j, uint64_t op, uint64_t live, uint64_t memory)
{
	const uint64_t since = op - j->op;

	j->op = op;
	if (!live || !memory)
		return;
	if (live > j->live_peak) {
		j->live_peak = live;
		j->live_peak_memory = memory;
	}
	if (memory > j->memory_peak) {
		j->memory_peak = memory;
		j->memory_peak_live = live;
	}
	if (live < j->peak / 64)
		return;
	j->samples++;
	j->ops += since;
	j->sum += more(memory, live) * (double)since;
}

void johnstone_finish(struct johnstone *j)
{
	const bool large = j->live_peak >= JOHNSTONE_LEAST && j->samples;

	j->average_known = large && j->samples >= j->least && j->ops;
	j->live_known = large && j->live_peak >= j->peak - j->peak / 100;
	j->realized_known = j->average_known && j->memory_peak_live >= JOHNSTONE_LEAST;
	j->known = j->average_known || j->live_known;
	j->average = j->ops ? j->sum / (double)j->ops : 0;
	j->at_live_peak = more(j->live_peak_memory, j->live_peak);
	j->at_memory_peak = more(j->memory_peak, j->memory_peak_live);
	j->of_peaks = more(j->memory_peak, j->live_peak);
}
