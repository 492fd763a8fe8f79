/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * site_seats.h - the sites in the making: one for each stack, or for each stack
 * and part of it, found by both; with what lives of it now.
 *
 * Nobody but sites.c includes it.  Errors: without memory a seat is NULL.
 * Threads: one at a time.
 */
#ifndef MPROF_PASS_SITE_SEATS_H
#define MPROF_PASS_SITE_SEATS_H

#include "../util/large.h"
#include "maps.h"
#include "sites.h"

/* What lives, and what lived when most bytes did. */
struct seat_count {
	uint64_t calls, bytes;
	uint64_t most_calls, most_bytes;
};

/*
 * Figures as in struct site_values, kept so that a block's beginning touches one
 * cache line and its end two, or three if it lived at the peak.  Minima begin at
 * UINT64_MAX; what was freed is what neither lives nor went with an exec.
 */
struct seat {
	uint32_t stack, group;
	uint64_t part;
	struct seat_count local;
	uint64_t first_ticks, last_ticks;
	/* second line */
	uint64_t calls, bytes, slack, size_min, size_max;
	uint64_t lifetime_ns, lifetime_min_ns, lifetime_max_ns;
	/* third */
	uint64_t peak_number; /* of the peak that the others are of */
	uint64_t peak_calls, peak_bytes, peak_slack;
	uint64_t temporary_calls, temporary_bytes, foreign_frees;
	uint64_t rss_calls;
	/* seldom */
	uint64_t rss_bytes, rss_number; /* of which moment of greatest RSS they are */
	uint64_t live_calls, live_bytes, exec_calls, exec_bytes;
	uint64_t reallocs, realloc_moved, realloc_bytes, map_calls, map_bytes;
	uint64_t epoch_bytes[SITE_EPOCHS]; /* differences */
	uint64_t pad[5];
};
#define SEAT_LINE 64u
_Static_assert(sizeof(struct seat) % SEAT_LINE == 0 && offsetof(struct seat, calls) == SEAT_LINE &&
		   offsetof(struct seat, peak_number) == 2 * SEAT_LINE,
	       "seats share no cache line");

struct seat_slot {
	uint64_t part;
	uint32_t stack;
	uint32_t seat; /* index + 1, 0 empty */
};

struct site_seats {
	const struct sites_options *options;
	struct seat *seat;
	size_t count, room;
	struct array by_stack;	/* uint32_t: index + 1; when there are no parts */
	struct seat_slot *slot; /* when there are: open addressing, a power of two of them */
	size_t slots;
	struct seat_count *group;
	size_t groups, group_room;
};

void site_seats_init(struct site_seats *t, const struct sites_options *o);
void site_seats_release(struct site_seats *t);
/* The figures of a seat; numbers of the last peak and the last moment of greatest RSS. */
void site_seat_values(const struct seat *seat, uint64_t peak_number, uint64_t rss_number,
		      struct site_values *v);

struct seat *site_seat_new(struct site_seats *t, uint32_t stack, uint64_t part);
struct seat *site_seat_by_part(struct site_seats *t, uint32_t stack, uint64_t part);

/* Valid until the next question. */
static inline struct seat *site_seat(struct site_seats *t, uint32_t stack, uint64_t part)
{
	const uint32_t *known = t->by_stack.item;

	if (t->options->part != SITE_WHOLE)
		return site_seat_by_part(t, stack, part);
	if (__builtin_expect(stack < t->by_stack.count && known[stack], 1))
		return &t->seat[known[stack] - 1];
	return site_seat_new(t, stack, part);
}

#define SEATS_NEAR 256u /* so many are in the nearest caches anyhow */

/* For what will be asked soon: begins to load the first lines of its seat. */
PREFETCHES site_seat_prefetch(const struct site_seats *t, uint32_t stack, unsigned lines)
{
	const uint32_t *known = t->by_stack.item;
	const char *at;

	if (t->count < SEATS_NEAR || stack >= t->by_stack.count)
		return;
	at = (const char *)&t->seat[known[stack] - (known[stack] > 0)];
	for (; lines; lines--, at += SEAT_LINE)
		__builtin_prefetch(at, 1);
}

static inline void seat_count_add(struct seat_count *c, int sign, uint64_t bytes)
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

static inline void site_seat_called(struct seat *seat, uint64_t ticks)
{
	if (ticks < seat->first_ticks)
		seat->first_ticks = ticks;
	if (ticks > seat->last_ticks)
		seat->last_ticks = ticks;
}

/* A block of it began (1) or ended (-1). */
static inline void site_seat_live(struct site_seats *t, struct seat *seat, int sign, uint64_t bytes)
{
	seat_count_add(&seat->local, sign, bytes);
	if (t->group)
		seat_count_add(&t->group[seat->group], sign, bytes);
}

#endif
