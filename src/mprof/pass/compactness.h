/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * compactness.h - the pass that compares the pages that live blocks would need
 * if they were packed with the pages they touch (virtual compactness).
 *
 *   needed      = live bytes / page size, upwards, of each process
 *   touched     = pages that hold at least one byte of [addr, addr + size) of
 *                 a live block
 *   compactness = needed / touched: 1 is perfect, 0.01 means a hundred pages
 *   for live bytes that would fit into one
 *
 * Minimum, maximum and mean are over the events that began or ended a block
 * and left at least one page touched; the mean over time weights each state by
 * its duration.  High water: most pages touched, and most live bytes, each at
 * its own time.  Figures of the run are sums over processes of needed and of
 * touched.
 */
#pragma once

#include "array.h"
#include "moment.h"
#include "walk.h"

struct compactness_of {
	double min, max, mean, mean_over_time; /* 0 when states == 0 */
	double at_peak;			       /* when live bytes were at their first peak */
	uint64_t high_pages, high_pages_ticks;
	uint64_t high_bytes;
	uint64_t high_needed, high_touched; /* at the peak of bytes */
	uint64_t states;		    /* events counted */
	/* While walking: the current state, and what it adds when it ends. */
	uint64_t needed, touched;
	double ratio;
	uint64_t run;	      /* events in this state */
	uint64_t since_ticks; /* when it began */
	double sum, time_sum, time;
};

struct compactness {
	struct walk *walk;
	bool brief;	      /* set before the walk: only the figures of the run at its peak */
	struct moment moment; /* if brief, that peak: the walk does not count pages */
	struct compactness_of all;
	struct array process; /* struct compactness_of, by index of the heap */
	bool apart;	      /* `all` is maintained; before that it equals the only process */
};

extern const struct pass_ops compactness_pass;

/* If not brief, for the loops of compactness.c and analysis.c: the row of the process of the next
 * events; and its live blocks, or the run's, after an event that began or ended a block. */
struct compactness_of *compactness_process(struct compactness *s, uint32_t process);
void compactness_state(struct compactness_of *c, const struct live *now, uint64_t ticks);

static inline void compactness_look(struct compactness_of *c, const struct live *now,
				    uint64_t ticks)
{
	if (now->pages != c->touched || now->needed != c->needed)
		compactness_state(c, now, ticks);
	c->run++;
	if (now->bytes > c->high_bytes) {
		c->high_bytes = now->bytes;
		c->high_needed = now->needed;
		c->high_touched = now->pages;
	}
}

/* If brief: the live bytes of the run after a block began, if they are more than after every
 * earlier event. */
void compactness_brief(struct compactness *s, const struct live *all, uint64_t ticks,
		       uint64_t number);
