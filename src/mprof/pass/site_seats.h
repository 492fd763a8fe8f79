/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * site_seats.h - the sites in the making: one for each stack, or for each stack
 * and part of it, found by both; with what lives of it now.
 *
 * Nobody but sites.c includes it.  Errors: without memory a seat is NULL.
 * Threads: one at a time.
 */
#ifndef MPROF_SITE_SEATS_H
#define MPROF_SITE_SEATS_H

#include "maps.h"
#include "sites.h"

/* What lives, and what lived when most bytes did. */
struct seat_count {
	uint64_t calls, bytes;
	uint64_t most_calls, most_bytes;
};

struct seat {
	uint32_t stack, group;
	uint64_t part;
	struct seat_count local;
	uint64_t peak_number; /* of the peak that v.peak_* is of */
	struct site_values v; /* minima begin at UINT64_MAX */
};

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

/* A block of it began (1) or ended (-1). */
static inline void site_seat_live(struct site_seats *t, struct seat *seat, int sign, uint64_t bytes)
{
	seat_count_add(&seat->local, sign, bytes);
	if (t->group)
		seat_count_add(&t->group[seat->group], sign, bytes);
}

#endif
