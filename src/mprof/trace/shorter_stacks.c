// SPDX-License-Identifier: LGPL-3.0-or-later
/* shorter_stacks.c - see shorter_stacks.h. */
#include "shorter_stacks.h"

#include <stdbool.h>
#include <stdlib.h>

#include "../util/alloc.h"
#include "../util/hash.h"

static const unsigned depths[] = { 8, 12, 16, 24, 32, 48, 64 };
#define DEPTHS (sizeof(depths) / sizeof(*depths))
#define SAMPLE (1u << 12)

/* Different hashes of one depth: all that are below a limit, of which there are at most SAMPLE. */
struct distinct {
	struct hash seen;
	uint64_t limit;	 /* 0: there are too many */
	unsigned halved; /* how often the limit was */
};

static uint64_t estimate(const struct distinct *d)
{
	return d->limit ? (uint64_t)d->seen.used << d->halved : UINT64_MAX;
}

static void halve(struct distinct *d)
{
	struct hash all = d->seen;

	d->seen = (struct hash){ .slot = NULL };
	d->limit /= 2;
	d->halved++;
	for (size_t i = 0; i < all.slots; i++)
		if (all.slot[i].value && all.slot[i].key < d->limit)
			*hash_at(&d->seen, all.slot[i].key) = 1;
	hash_release(&all);
}

static void add(struct distinct *d, uint64_t hash, uint64_t most)
{
	if (hash >= d->limit)
		return;
	*hash_at(&d->seen, hash) = 1;
	if (estimate(d) > most)
		d->limit = 0;
	else if (d->seen.used > SAMPLE)
		halve(d);
}

static uint64_t mixed(uint64_t hash, uint32_t frame)
{
	hash = (hash ^ frame) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

struct search {
	const struct stacks *stacks;
	struct distinct of[DEPTHS];
	size_t possible; /* depths below which there may be few enough; a deeper one has more */
	uint64_t most;	 /* few */
};

/* From the innermost frame outward; what is not that deep stays whole. */
static void add_stack(struct search *s, uint32_t node)
{
	const struct stack_node *at = s->stacks->node;
	uint64_t hash = 0;
	size_t i = 0;

	for (unsigned n = 0; node && i < s->possible; node = at[node].parent) {
		hash = mixed(hash, at[node].frame);
		if (++n == depths[i])
			add(&s->of[i++], mixed(hash, 0), s->most);
	}
	while (i < s->possible)
		add(&s->of[i++], mixed(hash, 0), s->most);
	while (s->possible && !s->of[s->possible - 1].limit)
		s->possible--;
}

/* Marks nodes that call others, and returns the number of those that do not. */
static uint64_t find_callers(const struct stacks *s, bool *calls)
{
	uint64_t ends = s->nodes ? s->nodes - 1 : 0;

	for (size_t i = 1; i < s->nodes; i++) {
		const uint32_t caller = s->node[i].parent;

		ends -= caller && !calls[caller];
		calls[caller] = true;
	}
	return ends;
}

struct shorter_stacks shorter_stacks_find(const struct stacks *s)
{
	struct shorter_stacks found = { .all = 0 };
	struct search search = { .stacks = s, .possible = DEPTHS };
	bool *calls;

	if (s->definitions < SHORTER_LEAST)
		return found;
	for (size_t i = 0; i < DEPTHS; i++)
		search.of[i] = (struct distinct){ .limit = UINT64_MAX };
	calls = must_calloc(s->nodes + 1, sizeof(*calls));
	found.all = find_callers(s, calls);
	search.most = found.all / SHORTER_LEFT;
	for (size_t i = 1; i < s->nodes && search.possible; i++)
		if (!calls[i])
			add_stack(&search, (uint32_t)i);
	free(calls);
	if (search.possible) {
		found.depth = depths[search.possible - 1];
		found.left = estimate(&search.of[search.possible - 1]);
	}
	for (size_t i = 0; i < DEPTHS; i++)
		hash_release(&search.of[i].seen);
	return found;
}
