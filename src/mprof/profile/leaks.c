// SPDX-License-Identifier: LGPL-3.0-or-later
/* leaks.c - evidence of a leak. */
#include "leaks.h"

#include "../util/order.h"

#define MOST_OF_MEAN 2.5 /* times the mean number of live blocks: what chance explains */
#define LESS(a, b)   ((a) < (b) ? (a) : (b))
#define LEAST	     5u /* epochs, of 16: in less time, growth cannot be told from a start */

/* The epochs at whose ends the blocks of a group were live. */
struct span {
	unsigned first, last;
};

static struct span span_of(const uint64_t *live)
{
	struct span s = { 0, SITE_EPOCHS - 1 };

	while (s.first < s.last && !live[s.first])
		s.first++;
	/* Their processes ended before the run did. */
	while (s.last > s.first && !live[s.last])
		s.last--;
	return s;
}

/* The epoch that ends after this many quarters of the span. */
static unsigned after_quarters(const struct span *s, unsigned quarters)
{
	return s->first + (s->last + 1 - s->first) * quarters / 4 - 1;
}

/* Did a quarter of it come in the second half? */
static bool grew_much(const uint64_t *live, const struct span *s)
{
	return live[after_quarters(s, 2)] <= live[s->last] / 4 * 3;
}

/* Did it rise in nearly all epochs of the second half?  What varies by chance does in half of them.
 */
static bool rises_steadily(const uint64_t *live, const struct span *s)
{
	const unsigned half = after_quarters(s, 2), all = s->last - half;
	unsigned rising = 0;

	for (unsigned i = half; i < s->last; i++)
		rising += live[i + 1] > live[i];
	return rising + all / 8 >= all;
}

bool leak_was_never_more(const struct site_values *v, uint64_t bytes)
{
	/* A block that grows by being copied to a larger one is live twice for a moment. */
	return bytes + LESS(v->size_max, bytes) >= v->local_bytes / 10 * 9;
}

bool leak_rises_like_a_queue(const struct site_values *v, const uint64_t live[SITE_EPOCHS])
{
	const struct span s = span_of(live);

	for (unsigned i = s.first; i < s.last; i++)
		if (live[i] > live[i + 1] + live[s.last] / 16)
			return false;
	return leak_was_never_more(v, live[s.last]) && grew_much(live, &s);
}

bool leak_is_explained(const struct site_values *v, uint64_t run_ns)
{
	const double run = (double)run_ns + 1, live = (double)v->live_calls;
	const double mean = (double)v->lifetime_ns / run;
	const double most = (double)v->calls * (double)v->lifetime_max_ns / run;

	return v->freed_calls && live <= MOST_OF_MEAN * mean && live <= most;
}

bool leak_is_replaced(const struct site_values *v, const uint64_t epoch_ticks[SITE_EPOCHS + 1],
		      uint64_t run_ns)
{
	const struct span s = span_of(v->epoch_bytes);

	if (s.last + 1 - s.first < LEAST || !v->left_ticks)
		return false;
	if (v->left_ticks >= epoch_ticks[after_quarters(&s, 3) + 1])
		return !leak_rises_like_a_queue(v, v->epoch_bytes);
	return leak_is_explained(v, run_ns) && !grew_much(v->epoch_bytes, &s) &&
	       !rises_steadily(v->epoch_bytes, &s);
}

/* Three late blocks of ten thousand are not growth. */
static bool grew(uint64_t from, uint64_t to, uint64_t end)
{
	return to > from && to - from >= end / LEAK_LATE;
}

bool leak_goes_on(const uint64_t live[SITE_EPOCHS])
{
	const struct span s = span_of(live);
	uint64_t half, three, last;

	if (s.last + 1 - s.first < LEAST)
		return false;
	half = live[after_quarters(&s, 2)];
	three = live[after_quarters(&s, 3)];
	last = live[s.last];
	return grew(three, last, last) && grew(half, three, last);
}

unsigned leak_rises(const uint64_t live[SITE_EPOCHS], unsigned *last)
{
	const struct span s = span_of(live);
	uint64_t level = live[s.first], most = 0;
	unsigned rises = 0, i;

	for (i = s.first; i <= s.last; i++)
		most = live[i] > most ? live[i] : most;
	*last = s.first;
	for (i = s.first + 1; i <= s.last; i++) {
		if (!grew(level, live[i], most))
			continue;
		level = live[i];
		*last = i;
		rises++;
	}
	return rises;
}

static enum leak_kind kind_of(const struct profile_group *g)
{
	const uint64_t *live = g->leaked_epochs;
	unsigned last;

	if (g->v->leaked_calls == 1)
		return LEAK_ONCE;
	if (leak_goes_on(live))
		return LEAK_GROWING;
	return leak_rises(live, &last) ? LEAK_STOPPED : LEAK_ONCE;
}

/* A queue that grows may have no block left of those that it began with.  Calls before its first
 * epoch left nothing behind. */
static uint64_t since_ticks(const struct profile_group *g, enum leak_kind kind, unsigned first,
			    const uint64_t *epoch)
{
	const uint64_t call = g->leaked_first_ticks, left = g->v->left_ticks ?: call;

	if (kind != LEAK_GROWING)
		return left;
	if (call >= epoch[first])
		return call;
	return left >= epoch[first] && left < epoch[first + 1] ? left : epoch[first];
}

void leak_of(const struct profile *p, const struct profile_group *g, struct leak *leak)
{
	const uint64_t *ticks = p->sites.epoch_ticks, *live = g->leaked_epochs;
	const struct span s = span_of(live);
	const unsigned half = after_quarters(&s, 2);
	uint64_t ns = walk_duration_ns(&p->walk, ticks[s.last + 1] - ticks[half + 1]);
	const int64_t end = walk_ns(&p->walk, ticks[SITE_EPOCHS]);
	const enum leak_kind kind = kind_of(g);
	unsigned last;

	leak_rises(live, &last);
	*leak = (struct leak){
		.kind = kind,
		.since_ns = walk_ns(&p->walk, since_ticks(g, kind, s.first, ticks)),
		.grew_ns = walk_ns(&p->walk, ticks[last + 1]),
	};
	leak->age_ns = end > leak->since_ns ? (uint64_t)end - (uint64_t)leak->since_ns : 0;
	if (leak->kind == LEAK_GROWING && ns)
		leak->bytes_per_s =
		    (uint64_t)((double)(live[s.last] - live[half]) * 1e9 / (double)ns);
}

bool leaks_know_growth(const struct profile *p)
{
	return !p->sites.totals.read && (!p->header->dropped_ticks ||
					 p->walk.heap.older_frees < p->total.leaked_calls / 10 + 1);
}

bool leak_matters_most(const struct profile *p, const struct profile_group *g)
{
	return leaks_know_growth(p) && g->v->leaked_bytes >= p->total.leaked_bytes / LEAK_LITTLE &&
	       kind_of(g) == LEAK_GROWING;
}

ORDER_IN(by_weight, struct profile_group, struct profile,
	 COMPARE(!x->v->leaked_calls, !y->v->leaked_calls)
	     ?: COMPARE(!x->v->unreachable_calls, !y->v->unreachable_calls)
	     ?: FALLING(v->unreachable_bytes)
	     ?: COMPARE(!x->v->examined_calls, !y->v->examined_calls)
	     ?: COMPARE(leak_matters_most(in, y), leak_matters_most(in, x))
	     ?: FALLING(v->leaked_bytes) ?: RISING(stack) ?: RISING(part))

void leaks_rank(struct profile *p)
{
	SORT_IN(p->group, p->groups, by_weight, p);
}

const char *leak_kind_name(enum leak_kind kind)
{
	static const char *const name[] = {
		[LEAK_GROWING] = "growing",
		[LEAK_STOPPED] = "stopped",
		[LEAK_ONCE] = "once",
	};

	return name[kind];
}
