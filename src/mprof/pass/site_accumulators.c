// SPDX-License-Identifier: LGPL-3.0-or-later
/* site_accumulators.c - the sites while they are counted, and sums of their figures. */
#include "../util/alloc.h"
#include "site_accumulators.h"

#include <stdlib.h>

#define SLOTS_FIRST 1024u

void site_accumulators_init(struct site_accumulators *t, const struct sites_options *o,
			    size_t stacks)
{
	*t = (struct site_accumulators){ .options = o, .stacks = stacks };
}

void site_accumulators_release(struct site_accumulators *t)
{
	large_free(t->accumulator, t->room * sizeof(*t->accumulator));
	large_free(t->rare, t->rare_room * sizeof(*t->rare));
	free(t->slot);
	free(t->group);
	free(t->shared);
	array_release(&t->by_stack);
	*t = (struct site_accumulators){ .options = t->options, .stacks = t->stacks };
}

static struct accumulator_slot *slot_of(const struct site_accumulators *t, uint32_t stack,
					uint64_t part)
{
	uint64_t hash = (part * 0x9e3779b97f4a7c15ull ^ stack) * 0xff51afd7ed558ccdull;
	size_t i = (size_t)(hash ^ hash >> 32) & (t->slots - 1);

	while (t->slot[i].accumulator && (t->slot[i].stack != stack || t->slot[i].part != part))
		i = (i + 1) & (t->slots - 1);
	return &t->slot[i];
}

static void grow_slots(struct site_accumulators *t)
{
	const size_t n = t->slots ? 2 * t->slots : SLOTS_FIRST, old_slots = t->slots;
	struct accumulator_slot *old = t->slot, *slot = must_calloc(n, sizeof(*slot));
	size_t i;

	t->slot = slot;
	t->slots = n;
	for (i = 0; i < old_slots; i++)
		if (old[i].accumulator)
			*slot_of(t, old[i].stack, old[i].part) = old[i];
	free(old);
}

/* Grows for one more accumulator and its index entry. */
static void grow(struct site_accumulators *t)
{
	const size_t room = t->room ? 2 * t->room : 64, each = sizeof(*t->accumulator);

	if (t->count < t->room)
		return;
	t->accumulator = large_realloc(t->accumulator, t->room * each, room * each);
	t->room = room;
}

uint32_t site_accumulators_group(struct site_accumulators *t, uint32_t stack, uint64_t part)
{
	uint32_t group;

	if (!t->options->group)
		return 0;
	group = t->options->group(t->options->group_context, stack, part);
	if (group >= t->groups) {
		t->groups = (size_t)group + 1;
		GROW_ZEROED(t->group, t->groups, t->group_room);
	}
	return group;
}

struct accumulator_count site_accumulators_count(const struct site_accumulators *t, uint32_t group)
{
	const struct accumulator_group *g = &t->group[group];

	if (g->count)
		return t->shared[g->count - 1];
	return g->first ? t->accumulator[g->first - 1].local
			: (struct accumulator_count){ .calls = 0 };
}

/* Adds the newest accumulator to its group. */
static void join_group(struct site_accumulators *t, struct accumulator *accumulator)
{
	struct accumulator_group *g;
	struct accumulator *first;

	if (!t->group)
		return;
	g = &t->group[accumulator->group];
	if (!g->first) {
		g->first = (uint32_t)t->count;
		return;
	}
	first = &t->accumulator[g->first - 1];
	if (!g->count) {
		*GROW_ONE(t->shared, t->shares, t->share_room) = first->local;
		g->count = (uint32_t)t->shares;
		first->group |= GROUP_SHARED;
	}
	accumulator->group |= GROUP_SHARED;
}

struct accumulator *site_accumulator_new(struct site_accumulators *t, uint32_t stack, uint64_t part)
{
	uint32_t *index = NULL;
	struct accumulator *accumulator;

	grow(t);
	if (t->options->part == SITE_WHOLE) {
		array_room(&t->by_stack, t->stacks, sizeof(*index));
		index = array_at(&t->by_stack, stack, sizeof(*index));
	}
	accumulator = &t->accumulator[t->count];
	*accumulator = (struct accumulator){
		.stack = stack,
		.part = part,
		.size_min = UINT64_MAX,
		.first_ticks = UINT64_MAX,
		.lifetime_min_ns = UINT64_MAX,
	};
	t->count++;
	accumulator->group = site_accumulators_group(t, stack, part);
	join_group(t, accumulator);
	if (index)
		*index = (uint32_t)((t->count - 1) * ACCUMULATOR_LINES + 1);
	return accumulator;
}

struct accumulator *site_accumulator_by_part(struct site_accumulators *t, uint32_t stack,
					     uint64_t part)
{
	struct accumulator_slot *slot;
	struct accumulator *accumulator;

	if (t->count >= t->slots / 2)
		grow_slots(t);
	slot = slot_of(t, stack, part);
	if (slot->accumulator)
		return &t->accumulator[slot->accumulator - 1];
	accumulator = site_accumulator_new(t, stack, part);
	*slot = (struct accumulator_slot){ part, stack, (uint32_t)t->count };
	return accumulator;
}

struct accumulator_rare *site_accumulator_new_rare(struct site_accumulators *t,
						   struct accumulator *accumulator)
{
	const size_t room = t->rare_room ? 2 * t->rare_room : 64, each = sizeof(*t->rare);

	if (t->rares == t->rare_room) {
		t->rare = large_realloc(t->rare, t->rare_room * each, room * each);
		t->rare_room = room;
	}
	t->rare[t->rares] = (struct accumulator_rare){ .live_calls = 0 };
	accumulator->rare = (uint32_t)++t->rares;
	return &t->rare[t->rares - 1];
}

/* ---- figures ---- */

static void set_boundaries(const struct accumulator *accumulator,
			   const struct accumulator_rare *rare, uint64_t peak_number,
			   uint64_t rss_number, struct site_values *v)
{
	if (accumulator->peak_number == peak_number) {
		v->peak_calls = accumulator->peak_calls;
		v->peak_bytes = accumulator->peak_bytes;
		v->peak_slack = accumulator->peak_slack;
	}
	if (rare->rss_number == rss_number) {
		v->rss_calls = rare->rss_calls;
		v->rss_bytes = rare->rss_bytes;
	}
	v->local_calls = accumulator->local.most_calls;
	v->local_bytes = accumulator->local.most_bytes;
}

void site_accumulator_values(const struct site_accumulators *t,
			     const struct accumulator *accumulator, uint64_t peak_number,
			     uint64_t rss_number, struct site_values *v)
{
	static const struct accumulator_rare none;
	const struct accumulator_rare *rare =
	    accumulator->rare ? &t->rare[accumulator->rare - 1] : &none;
	const uint64_t freed = accumulator->calls - rare->live_calls - rare->exec_calls;
	uint64_t live = 0;
	unsigned i;

	*v = (struct site_values){
#define COPY_OFTEN(member) .member = accumulator->member,
#define COPY_RARE(member)  .member = rare->member,
#define COPY_MADE(member)
#define FIGURE(member, unit, add, from, json, help) COPY_##from(member)
#include "figures.def"
		.size_min = accumulator->calls ? accumulator->size_min : 0,
		.freed_calls = freed,
		.freed_bytes = accumulator->bytes - rare->live_bytes - rare->exec_bytes,
		.lifetime_min_ns = freed ? accumulator->lifetime_min_ns : 0,
		.first_ticks = accumulator->last_ticks ? accumulator->first_ticks : 0,
		.last_ticks = accumulator->last_ticks,
		.left_ticks = rare->left_ticks,
	};
	set_boundaries(accumulator, rare, peak_number, rss_number, v);
	for (i = 0; i < SITE_EPOCHS; i++)
		v->epoch_bytes[i] = live += rare->epoch_bytes[i];
}

/* ---- sums ---- */

static void least(uint64_t *to, bool have, uint64_t from)
{
	if (!have || from < *to)
		*to = from;
}

static void most(uint64_t *to, uint64_t from)
{
	if (from > *to)
		*to = from;
}

static void add_error(struct site_error *to, const struct site_error *from)
{
	to->samples += from->samples;
	to->by_calls |= from->by_calls;
	to->calls += from->calls;
	to->bytes += from->bytes;
	to->live_calls += from->live_calls;
	to->live_bytes += from->live_bytes;
	if (from->heaviest_calls > to->heaviest_calls)
		to->heaviest_calls = from->heaviest_calls;
	if (from->heaviest_bytes > to->heaviest_bytes)
		to->heaviest_bytes = from->heaviest_bytes;
}

void site_values_add(struct site_values *to, const struct site_values *from)
{
	const bool called = to->calls, freed = to->freed_calls;
	unsigned i;

	if (from->calls)
		least(&to->first_ticks, called, from->first_ticks);
	most(&to->last_ticks, from->last_ticks);
	if (from->left_ticks)
		least(&to->left_ticks, to->left_ticks, from->left_ticks);
#define ADD_SUM(member)	 to->member += from->member;
#define ADD_MOST(member) most(&to->member, from->member);
#define ADD_LEAST_KNOWN(member) \
	if (from->member)       \
		least(&to->member, to->member, from->member);
#define ADD_LEAST_CALLED(member) \
	if (from->calls)         \
		least(&to->member, called, from->member);
#define ADD_LEAST_FREED(member) \
	if (from->freed_calls)  \
		least(&to->member, freed, from->member);
#define FIGURE(member, unit, add, from, json, help) ADD_##add(member)
#include "figures.def"
	for (i = 0; i < SITE_EPOCHS; i++)
		to->epoch_bytes[i] += from->epoch_bytes[i];
	for (i = 0; i < SITE_PASTS; i++)
		to->past_bytes[i] += from->past_bytes[i];
	to->left_most += from->left_most;
	if (from->held_bytes > to->held_bytes) {
		to->held_bytes = from->held_bytes;
		to->held_stack = from->held_stack;
	}
	if (from->error.samples)
		add_error(&to->error, &from->error);
}
