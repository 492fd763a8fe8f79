// SPDX-License-Identifier: LGPL-3.0-or-later
/* leak_growth.c - see leak_growth.h. */
#include "leak_growth.h"

#include <math.h>

#include "leaks.h"

#define EPOCH_PART  (SITE_EPOCHS / 4)
#define BUSY_PART   16u /* of all calls: the most of an idle time */
#define BUSY_BLOCKS 16u /* the fewest that count as growth */
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define MOST(a, b)  ((a) > (b) ? (a) : (b))
#define SHORT_PART  8u /* of the live bytes */
/* A program that runs for less time builds something, uses it and ends: growth is normal there. */
#define GROWTH_RUN_NS 3000000000u
#define GROWTH_AGE    8u /* part of the run: the least that the oldest block lives */
#define UNTIL_PARTS   (SITE_EPOCHS * 3 / 8) /* the least that GROWTH_UNTIL takes */

/* Did the process last for half of the run or more? */
static bool lasted(const struct analysis *a, size_t process)
{
	const struct tree_process *p = tree_find(&a->tree, a->walk.heap.process[process]->number);
	const uint64_t run = a->tree.end_ticks - a->tree.start_ticks;
	const uint64_t end = p && p->end_ticks ? p->end_ticks : a->tree.end_ticks;

	return p && end > p->start_ticks && end - p->start_ticks >= run / 2;
}

bool growth_is_known(const struct analysis *a)
{
	const struct never_freed_process *p = a->never_freed.process.item;
	uint64_t most = 0, lasting = 0;
	size_t i;

	for (i = 0; i < a->never_freed.process.count; i++) {
		most = p[i].bytes > most ? p[i].bytes : most;
		lasting += p[i].bytes && lasted(a, i) ? p[i].bytes : 0;
	}
	return !a->walk.input.log_end &&
	       a->walk.heap.older_frees < a->never_freed.all.blocks / 10 + 1 &&
	       (most > lasting ? most : lasting) >= a->never_freed.all.bytes / 2;
}

enum finding_growth growth_of(const struct site_values *v, bool known)
{
	const uint64_t *e = v->epoch_bytes, end = e[SITE_EPOCHS - 1];
	unsigned rising = 0, i;

	if (v->calls == 1)
		return GROWTH_ONCE;
	if (v->kept_until_ns)
		return GROWTH_OTHER;
	for (i = 1; i < SITE_EPOCHS; i++)
		rising += e[i] > e[i - 1];
	if (known && leak_goes_on(e))
		return rising >= SITE_EPOCHS * 3 / 4 ? GROWTH_STEADY : GROWTH_GOES_ON;
	if (known && leak_rises(e, &i) >= UNTIL_PARTS)
		return GROWTH_UNTIL;
	/* What processes left that ended earlier is not in the last epoch. */
	return e[EPOCH_PART - 1] >= end && end >= v->live_bytes ? GROWTH_EARLY : GROWTH_OTHER;
}

/* Returns by how many bytes the live bytes of v may seem to grow without growing. */
static uint64_t noise_of(const struct sites *s, const struct site_values *v)
{
	const uint64_t least = v->live_bytes / LEAK_LATE;
	const double error = s->totals.estimated ? 2 * sqrt(v->error.live_bytes) : 0;
	const uint64_t most = MOST(least, s->totals.bound);

	return error > (double)most ? (uint64_t)error : most + !most;
}

/* Returns the end of the step in which the process last came within `most` bytes of what it has
 * later, at most `end`. */
static uint64_t rose_until(const struct sites *s, uint64_t most, uint64_t end)
{
	const struct mprof_course *c = s->totals.course;
	uint32_t i = c ? c->steps : 0;
	uint64_t until;

	while (i && c->step[i - 1].live_bytes + (int64_t)most >= (int64_t)s->totals.late_bytes)
		i--;
	until = i ? c->began_ticks + (i + 1ull) * c->step_ticks : end;
	return until < end ? until : end;
}

/* Where freed blocks explain what is live, only a steady rise from the start is growth, as that of
 * a queue. */
static bool is_replaced(const struct analysis *a, const struct site_values *v)
{
	const uint64_t start = a->tree.start_ticks, now = v->live_bytes;
	const uint64_t run = a->whole.totals.active_ticks - start;

	if (!leak_is_explained(v, walk_duration_ns(&a->walk, run)))
		return false;
	for (unsigned i = 0; i < SITE_PASTS; i++) {
		const double part = (double)(a->whole.totals.past_ticks[i] - start) / (double)run;

		if (fabs((double)v->past_bytes[i] - part * (double)now) > (double)now / 8)
			return true;
	}
	return !leak_was_never_more(v, now);
}

enum finding_growth growth_of_totals(const struct analysis *a, const struct site_values *v,
				     uint64_t *until_ticks)
{
	const struct sites *s = &a->whole;
	const uint64_t *at = s->totals.past_ticks, active = s->totals.active_ticks;
	uint64_t until = active;
	const uint64_t first = v->past_bytes[0], then = v->past_bytes[1], now = v->live_bytes;
	const uint64_t noise = noise_of(s, v), end = a->tree.end_ticks;
	/* Earlier figures are rounded, or lack what threads had not added yet. */
	const uint64_t slack = s->totals.estimated ? noise : s->totals.bound;

	*until_ticks = 0;
	if (v->calls == 1)
		return GROWTH_ONCE;
	if (!at[0])
		return GROWTH_OTHER;
	if (now <= first + LEAST(slack, now / LEAK_LATE)) {
		*until_ticks = at[0];
		return GROWTH_EARLY;
	}
	if (then < first + noise || now < v->local_bytes / 4 * 3 || is_replaced(a, v))
		return GROWTH_OTHER;
	/* The later time may be too short to show it: then most must have grown in the earlier, and
	 * not in its first half only, like what a server loads before it waits for hours. */
	if (now < then + noise &&
	    (now + noise < then || then - first < now / SHORT_PART ||
	     active - at[1] > (at[1] - at[0]) / 4 ||
	     s->totals.late_bytes < s->totals.midway_bytes + (then - first) / 4))
		return GROWTH_OTHER;
	if (now < then + noise)
		until = rose_until(s, (then - first) / 4, active);
	if (end <= until || end - until < (end - a->tree.start_ticks) / 4)
		return GROWTH_GOES_ON;
	*until_ticks = until;
	return GROWTH_UNTIL;
}

static unsigned epoch_of(const struct sites *s, uint64_t ticks)
{
	unsigned i = 0;

	while (i + 1 < SITE_EPOCHS && ticks >= s->epoch_ticks[i + 1])
		i++;
	return i;
}

void growth_calls_make(struct growth_calls *c, const struct sites *sites)
{
	uint64_t begun[SITE_EPOCHS] = { 0 }, over[SITE_EPOCHS] = { 0 };
	struct site site;
	unsigned i;

	*c = (struct growth_calls){ .all = 0 };
	for (i = 0; i < SITE_EPOCHS; i++)
		c->first_ticks[i] = UINT64_MAX;
	for (size_t k = 0; k < sites->count; k++) {
		sites_site(sites, k, &site);
		if (!site.v.calls)
			continue;
		c->all += site.v.calls;
		i = epoch_of(sites, site.v.first_ticks);
		begun[i] += site.v.calls;
		c->first_ticks[i] = LEAST(c->first_ticks[i], site.v.first_ticks);
		i = epoch_of(sites, site.v.last_ticks);
		over[i] += site.v.calls;
		c->last_ticks[i] = MOST(c->last_ticks[i], site.v.last_ticks);
	}
	for (i = 1; i < SITE_EPOCHS; i++) {
		c->before[i] = c->before[i - 1] + begun[i - 1];
		c->last_ticks[i] = MOST(c->last_ticks[i], c->last_ticks[i - 1]);
	}
	for (i = SITE_EPOCHS - 1; i; i--) {
		c->after[i - 1] = c->after[i] + over[i];
		c->first_ticks[i - 1] = LEAST(c->first_ticks[i - 1], c->first_ticks[i]);
	}
}

bool growth_is_short(const struct sites *sites, const struct site_values *v)
{
	return v->live_calls >= BUSY_BLOCKS &&
	       epoch_of(sites, v->last_ticks) - epoch_of(sites, v->first_ticks) < SITE_EPOCHS / 2;
}

bool growth_is_busy(const struct growth_calls *c, const struct sites *sites,
		    const struct site_values *v)
{
	const unsigned first = epoch_of(sites, v->first_ticks);
	const unsigned last = epoch_of(sites, v->last_ticks);

	return growth_is_short(sites, v) &&
	       c->before[first] + c->after[last] <= c->all / BUSY_PART &&
	       v->last_ticks - v->first_ticks >= (c->last_ticks[last] - c->first_ticks[first]) / 2;
}

bool growth_goes_on(enum finding_growth growth)
{
	return growth == GROWTH_STEADY || growth == GROWTH_GOES_ON || growth == GROWTH_UNTIL;
}

uint64_t growth_end_ns(const struct analysis *a, const struct sites *sites, const uint64_t *e)
{
	unsigned last;

	leak_rises(e, &last);
	return walk_since_ns(&a->walk, sites->epoch_ticks[last + 1]);
}

/* Takes the epochs up to the one that ended with most, if most of that was freed soon before the
 * end. Returns this epoch, or 0. */
static unsigned until_freed(const uint64_t e[SITE_EPOCHS], uint64_t live[SITE_EPOCHS])
{
	unsigned most = 0, i;

	for (i = 1; i < SITE_EPOCHS; i++)
		most = e[i] > e[most] ? i : most;
	if (most < SITE_EPOCHS * 3 / 4 || e[SITE_EPOCHS - 1] > e[most] / 2)
		return 0;
	for (i = 0; i < SITE_EPOCHS; i++)
		live[i] = i <= most ? e[i] : 0;
	return leak_goes_on(live) ? most : 0;
}

uint64_t growth_freed_ticks(const struct sites *sites, const uint64_t e[SITE_EPOCHS])
{
	uint64_t live[SITE_EPOCHS];
	const unsigned most = until_freed(e, live);

	return most ? sites->epoch_ticks[most + 1] : 0;
}

uint64_t growth_freed_ns(const struct analysis *a, const struct sites *sites,
			 const struct site_values *v, bool script)
{
	const uint64_t end = a->tree.end_ticks;
	const uint64_t run = walk_duration_ns(&a->walk, end - a->tree.start_ticks);
	uint64_t live[SITE_EPOCHS], ticks;
	unsigned most;

	if (a->of_totals || a->walk.input.log_end || (!script && run < GROWTH_RUN_NS))
		return 0;
	most = until_freed(v->epoch_bytes, live);
	ticks = sites->epoch_ticks[most + 1];
	if (!most || ticks >= end ||
	    (v->lifetime_max_ns < run / GROWTH_AGE && !leak_rises_like_a_queue(v, live)))
		return 0;
	return walk_duration_ns(&a->walk, end - ticks);
}
