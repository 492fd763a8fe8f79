// SPDX-License-Identifier: LGPL-3.0-or-later
/* leaks.c - evidence of a leak. */
#include "leaks.h"

#include <stdlib.h>

#define LAST  (SITE_EPOCHS - 1)
#define THREE (SITE_EPOCHS * 3 / 4 - 1) /* the epoch that ends at three quarters of the run */
#define HALF  (SITE_EPOCHS / 2 - 1)

/* Three late blocks of ten thousand are not growth. */
static bool grew(uint64_t from, uint64_t to, uint64_t end)
{
	return to > from && to - from >= end / LEAK_LATE;
}

bool leak_goes_on(const uint64_t live[SITE_EPOCHS])
{
	return grew(live[THREE], live[LAST], live[LAST]) &&
	       grew(live[HALF], live[THREE], live[LAST]);
}

static enum leak_kind kind_of(const struct profile_group *g)
{
	const uint64_t *live = g->leaked_epochs;
	unsigned first = 0, i;

	if (g->v.leaked_calls == 1)
		return LEAK_ONCE;
	if (leak_goes_on(live))
		return LEAK_GROWING;
	while (first < LAST && !live[first])
		first++;
	for (i = first; i < LAST; i++)
		if (live[i] != live[i + 1])
			return LEAK_STOPPED;
	return LEAK_ONCE;
}

static unsigned last_growth(const struct profile_group *g)
{
	unsigned i;

	for (i = LAST; i; i--)
		if (g->leaked_epochs[i] > g->leaked_epochs[i - 1])
			break;
	return i;
}

void leak_of(const struct profile *p, const struct profile_group *g, struct leak *leak)
{
	const uint64_t *ticks = p->sites.epoch_ticks;
	uint64_t ns = walk_duration_ns(&p->walk, ticks[SITE_EPOCHS] - ticks[HALF + 1]);
	const int64_t end = walk_ns(&p->walk, ticks[SITE_EPOCHS]);

	*leak = (struct leak){
		.kind = kind_of(g),
		.since_ns = walk_ns(&p->walk, g->leaked_first_ticks),
		.grew_ns = walk_ns(&p->walk, ticks[last_growth(g) + 1]),
	};
	leak->age_ns = end > leak->since_ns ? (uint64_t)end - (uint64_t)leak->since_ns : 0;
	if (leak->kind == LEAK_GROWING && ns)
		leak->bytes_per_s =
		    (uint64_t)((double)(g->leaked_epochs[LAST] - g->leaked_epochs[HALF]) * 1e9 /
			       (double)ns);
}

bool leak_matters_most(const struct profile *p, const struct profile_group *g)
{
	return g->v.leaked_bytes >= p->total.leaked_bytes / LEAK_LITTLE &&
	       kind_of(g) == LEAK_GROWING;
}

static int compare(const void *a, const void *b, void *profile)
{
	const struct profile_group *x = a, *y = b;
	const bool mx = leak_matters_most(profile, x), my = leak_matters_most(profile, y);

	if (!x->v.leaked_bytes != !y->v.leaked_bytes)
		return x->v.leaked_bytes ? -1 : 1;
	if (mx != my)
		return mx ? -1 : 1;
	if (x->v.leaked_bytes != y->v.leaked_bytes)
		return x->v.leaked_bytes > y->v.leaked_bytes ? -1 : 1;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return (x->part > y->part) - (x->part < y->part);
}

void leaks_rank(struct profile *p)
{
	if (p->groups)
		qsort_r(p->group, p->groups, sizeof(*p->group), compare, p);
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
