/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * site_accumulators.h - the sites while they are counted: one for each stack,
 * or for each part of a stack, with its live blocks.
 *
 * Only sites.c, sites_state.c and sites_count.h include it.  Threads: one at a time.
 */
#pragma once

#include "../util/large.h"
#include "array.h"
#include "site.h"

#define ACCUMULATOR_LINE 64u

/* Live figures, now and at the peak of bytes. */
struct accumulator_count {
	uint64_t calls, bytes;
	uint64_t most_calls, most_bytes;
};

/*
 * Figures as in struct site_values, laid out so that the beginning of a block
 * touches one cache line and its end two, or three if it was live at the peak.
 * Minima begin at UINT64_MAX; freed blocks are those that are neither live nor
 * ended by exec.  Most sites have none of the figures in struct accumulator_rare.
 */
struct accumulator {
	uint32_t stack;
	uint32_t group; /* and GROUP_SHARED */
	uint64_t part;
	struct accumulator_count local;
	uint64_t first_ticks, last_ticks;
	/* second line */
	uint64_t calls, bytes, slack, size_min, size_max;
	uint64_t lifetime_ns, lifetime_min_ns, lifetime_max_ns;
	/* third */
	uint64_t peak_number; /* number of the peak that the others belong to */
	uint64_t peak_calls, peak_bytes, peak_slack;
	uint64_t temporary_calls, temporary_bytes, foreign_frees;
	uint32_t rare; /* index + 1, 0 if it has none */
	uint32_t unused;
} __attribute__((aligned(ACCUMULATOR_LINE)));
#define ACCUMULATOR_LINES (sizeof(struct accumulator) / ACCUMULATOR_LINE)
_Static_assert(offsetof(struct accumulator, calls) == ACCUMULATOR_LINE &&
		   offsetof(struct accumulator, peak_number) == 2 * ACCUMULATOR_LINE,
	       "accumulators share no cache line");

struct accumulator_rare {
	uint64_t rss_number; /* number of the time of greatest RSS that the others belong to */
	uint64_t rss_calls, rss_bytes;
	uint64_t exec_calls, exec_bytes;
	uint64_t left_ticks;
	uint64_t epoch_bytes[SITE_EPOCHS]; /* differences */
#define RARE_OFTEN(member)
#define RARE_MADE(member)
#define RARE_RARE(member)			    uint64_t member;
#define FIGURE(member, unit, add, from, json, help) RARE_##from(member)
#include "figures.def"
};

/*
 * Most groups have one site, whose figures are the group's.  Only when another one joins, it gets
 * figures of its own, and GROUP_SHARED is set in all its accumulators.
 */
#define GROUP_SHARED 0x80000000u
struct accumulator_group {
	uint32_t first; /* index + 1 of its first accumulator */
	uint32_t count; /* index + 1 of its figures; 0: those of the first one */
};

struct accumulator_slot {
	uint64_t part;
	uint32_t stack;
	uint32_t accumulator; /* index + 1, 0 if empty */
};

struct site_accumulators {
	const struct sites_options *options;
	struct accumulator *accumulator;
	size_t count, room;
	struct accumulator_rare *rare;
	size_t rares, rare_room;
	struct array by_stack; /* uint32_t: its first line + 1, see site_accumulator_at(); used
				  without parts */
	size_t stacks;	       /* that there are, as far as known */
	struct accumulator_slot *slot; /* with parts: open addressing, a power of two of them */
	size_t slots;
	struct accumulator_group *group;
	size_t groups, group_room;
	struct accumulator_count *shared;
	size_t shares, share_room;
};

/* stacks: nodes of the run's stacks, 0 if unknown. */
void site_accumulators_init(struct site_accumulators *t, const struct sites_options *o,
			    size_t stacks);
void site_accumulators_release(struct site_accumulators *t);
/* Computes the figures of an accumulator, given numbers of the last peak and the last time of
 * greatest RSS. */
void site_accumulator_values(const struct site_accumulators *t,
			     const struct accumulator *accumulator, uint64_t peak_number,
			     uint64_t rss_number, struct site_values *v);

/* Returns the group of a site; 0 without groups. */
uint32_t site_accumulators_group(struct site_accumulators *t, uint32_t stack, uint64_t part);
/* Returns the figures of a group; all 0 if it has no site. */
struct accumulator_count site_accumulators_count(const struct site_accumulators *t, uint32_t group);
struct accumulator *site_accumulator_new(struct site_accumulators *t, uint32_t stack,
					 uint64_t part);
struct accumulator *site_accumulator_by_part(struct site_accumulators *t, uint32_t stack,
					     uint64_t part);
struct accumulator_rare *site_accumulator_new_rare(struct site_accumulators *t,
						   struct accumulator *accumulator);

/* Returns the rare figures of an accumulator.  Valid until the next call. */
static inline struct accumulator_rare *site_accumulator_rare(struct site_accumulators *t,
							     struct accumulator *accumulator)
{
	if (__builtin_expect(accumulator->rare, 1))
		return &t->rare[accumulator->rare - 1];
	return site_accumulator_new_rare(t, accumulator);
}

/* Multiplying by the length of a line is quicker than by that of an accumulator. */
static inline struct accumulator *site_accumulator_at(const struct site_accumulators *t,
						      uint32_t line)
{
	return (struct accumulator *)((char *)t->accumulator + (size_t)line * ACCUMULATOR_LINE);
}

/* Returns the accumulator of a stack, without parts.  Valid until the next call. */
static inline struct accumulator *site_accumulator_whole(struct site_accumulators *t,
							 uint32_t stack)
{
	const uint32_t *known = t->by_stack.item;

	if (__builtin_expect(stack < t->by_stack.count && known[stack], 1))
		return site_accumulator_at(t, known[stack] - 1);
	return site_accumulator_new(t, stack, 0);
}

#define ACCUMULATOR_NEAR 256u /* fewer than this stay in the first caches */

/* Prefetches the first lines of the accumulator. */
PREFETCHES site_accumulator_prefetch(const struct site_accumulators *t, uint32_t stack,
				     unsigned lines)
{
	const uint32_t *known = t->by_stack.item;
	const char *at;

	if (t->count < ACCUMULATOR_NEAR || stack >= t->by_stack.count)
		return;
	at = (const char *)site_accumulator_at(t, known[stack] - (known[stack] > 0));
	for (; lines; lines--, at += ACCUMULATOR_LINE)
		__builtin_prefetch(at, 1);
}

static inline __attribute__((always_inline)) void accumulator_count_add(struct accumulator_count *c,
									int sign, uint64_t bytes)
{
	if (sign < 0) {
		c->calls--;
		c->bytes -= bytes;
		return;
	}
	c->calls++;
	c->bytes += bytes;
	if (c->bytes > c->most_bytes || !c->most_calls) {
		c->most_calls = c->calls;
		c->most_bytes = c->bytes;
	}
}

static inline void site_accumulator_called(struct accumulator *accumulator, uint64_t ticks)
{
	if (ticks < accumulator->first_ticks)
		accumulator->first_ticks = ticks;
	if (ticks > accumulator->last_ticks)
		accumulator->last_ticks = ticks;
}

static inline struct accumulator_count *
site_accumulator_shared(const struct site_accumulators *t, const struct accumulator *accumulator)
{
	return &t->shared[t->group[accumulator->group & ~GROUP_SHARED].count - 1];
}

/* Notes that a block of this stack began (1) or ended (-1). */
static inline __attribute__((always_inline)) void
site_accumulator_live(struct site_accumulators *t, struct accumulator *accumulator, int sign,
		      uint64_t bytes)
{
	accumulator_count_add(&accumulator->local, sign, bytes);
	if (__builtin_expect(accumulator->group & GROUP_SHARED, 0))
		accumulator_count_add(site_accumulator_shared(t, accumulator), sign, bytes);
}
