// SPDX-License-Identifier: LGPL-3.0-or-later
/* group_times.c - see group_times.h. */
#include "group_times.h"

#include "group.h"

static inline uint64_t get(struct group_times *t, unsigned column)
{
	return cursor_get(&t->column[column]);
}

static inline uint64_t get_gap(struct group_times *t)
{
	return cursor_varint(&t->column[GROUP_GAP]);
}

static void step(struct group_times *t)
{
	uint64_t start = t->next, end, step;
	bool exact = t->next_is_exact;

	t->bucket = start >> t->shift;
	end = (t->bucket + 1) << t->shift;
	t->next = end;
	t->next_is_exact = false;
	if (t->column[GROUP_STEP].p == t->column[GROUP_STEP].end) {
		t->count = UINT64_MAX;
	} else {
		step = get(t, GROUP_STEP);
		t->count = step < STEP_LONG ? step : get_gap(t);
		if (step == STEP_EXACT) {
			t->next = (t->bucket << t->shift) + unzigzag(get_gap(t));
			t->next_is_exact = true;
		} else if (step >= STEP_LONG) {
			step = step == STEP_FAR ? unzigzag(get_gap(t)) : step - STEP_LONG + 1;
			t->next = (t->bucket + step) << t->shift;
		}
	}
	if (t->next > start && t->next < end)
		end = t->next;
	t->pace = t->count ? (end - start) / t->count : 0;
	if ((start | end) > MPROF_TICKS_MASK) /* no time is that late */
		start = t->pace = 0;
	t->at = start + (exact ? 0 : t->pace / 2);
}

uint64_t times_slow(struct group_times *t)
{
	uint64_t at;

	if (t->exact)
		t->count = t->exact_count;
	while (!t->count)
		step(t);
	t->count--;
	at = t->at;
	t->at += t->pace;
	if (!t->exact)
		return at;
	t->exact_count = t->count;
	t->count = 0;
	return (t->bucket << t->shift | (get(t, GROUP_LOW) & ((1u << t->shift) - 1))) &
	       MPROF_TICKS_MASK;
}

/* Times that are put without a question; those beyond their run are put again. */
#define AT_ONCE 4u

/*
 * Puts the times of whole runs, as long as these are plain: short, from one bucket to another.
 * Returns the first event without a time.  How many events a run has cannot be foreseen, so a
 * branch for each event would cost more than all else here.
 */
static struct event *put_runs(struct group_times *t, struct event *e, const struct event *end)
{
	struct cursor *const steps = &t->column[GROUP_STEP], *const gaps = &t->column[GROUP_GAP];
	const uint8_t *step = steps->p, *gap = gaps->p;
	const unsigned shift = t->shift;
	uint64_t next = t->next;

	while (step < steps->end && gap < gaps->end && next < MPROF_TICKS_MASK >> 1 &&
	       end - e >= AT_ONCE) {
		const unsigned far = *step >= STEP_LONG, n = far ? *gap : *step;
		const uint64_t pace = t->paces[n % TIMES_PLAIN];
		uint64_t at = next + pace / 2;

		if (n >= TIMES_PLAIN || n > end - e || *step >= STEP_EXACT)
			break;
		for (unsigned i = 0; i < AT_ONCE; i++, at += pace)
			e[i].ticks = at;
		for (unsigned i = AT_ONCE; i < n; i++, at += pace)
			e[i].ticks = at;
		e += n;
		next += (uint64_t)(far ? *step - STEP_LONG + 1 : 1) << shift;
		step++;
		gap += far;
	}
	steps->p = step;
	gaps->p = gap;
	t->next = next;
	return e;
}

void times_put(struct group_times *t, struct event *e, size_t n)
{
	const struct event *const end = e + n;

	while (e < end) {
		for (; t->count && e < end; e++)
			e->ticks = times_next(t);
		if (!t->exact && !t->next_is_exact && !(t->next & ((1ull << t->shift) - 1)))
			e = put_runs(t, e, end);
		if (e < end)
			e++->ticks = times_slow(t);
	}
}

void times_begin(struct group_times *t, struct cursor *column, uint64_t first_ticks, unsigned shift,
		 bool exact)
{
	*t = (struct group_times){ .column = column,
				   .shift = shift,
				   .exact = exact,
				   .next = first_ticks >> shift << shift };
	for (uint32_t i = 1; i < TIMES_PLAIN; i++)
		t->paces[i] = (1ull << shift) / i;
}
