/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * model_clock.h - guessing the times of a group's events (FORMAT.md 8.5).
 *
 * The time from one event to the next is mostly what it was the last time the
 * same was done.  So a clock of our own runs at a rate that each symbol has, and
 * is put right only when it would be wrong by more than the group's error.  What
 * it was wrong by teaches the rates.  Times here are in ticks * CLOCK_ONE since
 * the group's beginning.
 */
#ifndef MPROF_TRACE_MODEL_CLOCK_H
#define MPROF_TRACE_MODEL_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "model.h"

#define CLOCK_ONE	256
#define CLOCK_RATES	65536u
#define CLOCK_RATE_MIN	16
#define CLOCK_RATE_UNIT 64
#define CLOCK_RATE_MAX	(1 << 30)
#define CLOCK_SPAN_MAX	(1ull << 50) /* ticks of one group */
#define CLOCK_NOW_MAX	(1ll << 59)  /* beyond what a sound group comes to */

/* GROUP_MOVE: how the clock is put right. */
enum {
	MOVE_STALL, /* it stands still for GROUP_STALL events */
	MOVE_EXACT, /* GROUP_EXACT ticks after the event before */
	MOVE_UNITS, /* this and more: (value - 1) units after it */
};

struct model_clock {
	int32_t rate[CLOCK_RATES]; /* of the classes of this group; behind them anything */
	uint16_t *class;	   /* of the events since it was put right */
	size_t since, room;
	int64_t pace, error, unit;
};

static inline uint16_t model_clock_class(uint32_t symbol)
{
	return (uint16_t)(symbol ^ symbol >> 16);
}

/* How many classes a group of so many sorts can have: most groups are small. */
static inline uint32_t model_clock_classes(uint32_t sorts)
{
	return sorts < (CLOCK_RATES - SYMBOL_SORT) / 8 ? SYMBOL_SORT + 8 * sorts : CLOCK_RATES;
}

static inline void model_clock_start(struct model_clock *c, uint32_t sorts, uint32_t pace,
				     uint32_t error)
{
	uint32_t classes = model_clock_classes(sorts);

	c->pace = (int64_t)pace * CLOCK_ONE;
	c->error = (int64_t)error * CLOCK_ONE;
	c->unit = (int64_t)(error / 4 + 1) * CLOCK_ONE;
	c->since = 0;
	for (uint32_t i = 0; i < classes; i++)
		c->rate[i] = (int32_t)c->pace;
}

/*
 * All events since the last time were together off by this much: their rates
 * move a sixteenth of the way, each by its share.
 */
static inline void model_clock_learn(struct model_clock *c, int64_t off)
{
	int64_t sum = 0, factor;

	for (size_t i = 0; i < c->since; i++)
		sum += c->rate[c->class[i]];
	factor = off / (sum / 64 + 1);
	factor = factor < -32 ? -32 : factor > 64 ? 64 : factor;
	for (size_t i = 0; i < c->since; i++) {
		int64_t was = c->rate[c->class[i]], rate = was + was * factor / 1024;

		c->rate[c->class[i]] = (int32_t)(rate < CLOCK_RATE_MIN	 ? CLOCK_RATE_MIN
						 : rate > CLOCK_RATE_MAX ? CLOCK_RATE_MAX
									 : rate);
	}
	c->since = 0;
}

/* A rate as the group says it at its beginning. */
static inline int32_t model_clock_rate(const struct model_clock *c, int64_t units)
{
	int64_t rate = c->pace + units * CLOCK_RATE_UNIT;

	return (int32_t)(rate < CLOCK_RATE_MIN	 ? CLOCK_RATE_MIN
			 : rate > CLOCK_RATE_MAX ? CLOCK_RATE_MAX
						 : rate);
}

#endif
