// SPDX-License-Identifier: LGPL-3.0-or-later
/* site_rows.c - see site_rows.h. */
#include "site_rows.h"

#include <stdlib.h>

#include "../util/alloc.h"

#define NUMBERS	  (offsetof(struct site, v.error) / sizeof(uint64_t))
#define PLACE(of) (offsetof(struct site, of) / sizeof(uint64_t))
_Static_assert(NUMBERS <= 64, "a bit for each");
_Static_assert(offsetof(struct site, v.error) + sizeof(struct site_error) == sizeof(struct site) &&
		   offsetof(struct site, v.error) % sizeof(uint64_t) == 0,
	       "all but the error is rows of numbers");

#define MOST_BYTES (sizeof(uint64_t) + 10 * (NUMBERS + 1)) /* of a row */

/* The numbers of struct site_brief are among these. */
enum { BRIEF = PLACE(v.foreign_frees) + 1 };
#define BRIEF_FIRST(member) \
	_Static_assert(PLACE(v.member) < BRIEF, #member " is in the first part of a row");
SITE_BRIEF(BRIEF_FIRST)

/* Replaces each figure that often equals another one by their difference; make_whole() undoes
 * it. */
static void make_small(struct site_values *v)
{
	v->size_min = v->size_max - v->size_min;
	v->freed_calls = v->calls - v->live_calls - v->freed_calls;
	v->freed_bytes = v->bytes - v->live_bytes - v->freed_bytes;
	v->lifetime_min_ns = v->lifetime_max_ns - v->lifetime_min_ns;
	v->last_ticks -= v->first_ticks;
	v->left_ticks = v->left_ticks ? v->left_ticks - v->first_ticks + 1 : 0;
	for (unsigned i = SITE_EPOCHS - 1; i; i--)
		v->epoch_bytes[i] = zigzag(v->epoch_bytes[i] - v->epoch_bytes[i - 1]);
}

static void make_whole(struct site_values *v)
{
	v->size_min = v->size_max - v->size_min;
	v->freed_calls = v->calls - v->live_calls - v->freed_calls;
	v->freed_bytes = v->bytes - v->live_bytes - v->freed_bytes;
	v->lifetime_min_ns = v->lifetime_max_ns - v->lifetime_min_ns;
	v->last_ticks += v->first_ticks;
	v->left_ticks = v->left_ticks ? v->left_ticks + v->first_ticks - 1 : 0;
	for (unsigned i = 1; i < SITE_EPOCHS; i++)
		v->epoch_bytes[i] = v->epoch_bytes[i - 1] + unzigzag(v->epoch_bytes[i]);
}

/* ---- writing ---- */

static void put_numbers(struct byte_column *to, const uint64_t *number, uint64_t which)
{
	for (; which; which &= which - 1)
		column_add_varint(to, number[__builtin_ctzll(which)]);
}

void site_rows_room(struct site_rows *r, size_t n)
{
	GROW(r->at, n, r->room);
}

void site_rows_add(struct site_rows *r, size_t n, const struct site *site)
{
	const uint64_t brief = (1ull << BRIEF) - 1;
	struct byte_column *to = &r->added;
	struct site small = *site;
	uint64_t number[NUMBERS], which = 0;
	struct byte_column rest = { .n = 0 };
	uint8_t room[MOST_BYTES];

	make_small(&small.v);
	memcpy(number, &small, sizeof(number));
	for (unsigned i = 0; i < NUMBERS; i++)
		which |= (uint64_t)(number[i] != 0) << i;
	rest.byte = room;
	put_numbers(&rest, number, which & ~brief);
	site_rows_room(r, n + 1);
	r->at[n] = to->n;
	column_room(to, 2 * MOST_BYTES);
	memcpy(to->byte + to->n, &which, sizeof(which));
	to->n += sizeof(which);
	put_numbers(to, number, which & brief);
	column_add_varint(to, rest.n);
	memcpy(to->byte + to->n, room, rest.n);
	to->n += rest.n;
}

/* ---- reading ---- */

static inline uint64_t get_which(struct cursor *from)
{
	uint64_t which = 0;

	if (from->end - from->p < (ptrdiff_t)sizeof(which))
		return 0;
	memcpy(&which, from->p, sizeof(which));
	from->p += sizeof(which);
	return which & ((1ull << (NUMBERS - 1) << 1) - 1);
}

static inline void get_numbers(struct cursor *from, uint64_t *number, uint64_t which)
{
	for (; which; which &= which - 1)
		number[__builtin_ctzll(which)] = cursor_varint(from);
}

void site_rows_take(struct site_rows *r, size_t n, struct cursor *from, struct site_brief *brief)
{
	const uint8_t *first = from->p;
	uint64_t rest;

	site_rows_room(r, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t number[BRIEF] = { 0 };

		r->at[i] = (size_t)(from->p - first);
		get_numbers(from, number, get_which(from) & ((1ull << BRIEF) - 1));
		rest = cursor_varint(from);
		from->p +=
		    rest < (uint64_t)(from->end - from->p) ? rest : (uint64_t)(from->end - from->p);
#define TAKE(member) .member = number[PLACE(v.member)],
		if (brief)
			brief[i] =
			    (struct site_brief){ .key = (uint32_t)number[0], SITE_BRIEF(TAKE) };
	}
	r->byte = first;
	r->bytes = (size_t)(from->p - first);
}

static inline struct cursor row(const struct site_rows *r, size_t i)
{
	const uint8_t *first = r->byte ? r->byte : r->added.byte;

	return (struct cursor){ first + r->at[i], first + (r->byte ? r->bytes : r->added.n) };
}

_Static_assert(offsetof(struct site, key) == 0 && offsetof(struct site, group) == sizeof(uint32_t),
	       "the first number of a row");

bool site_rows_has(const struct site_rows *r, size_t i, size_t figure, struct site *site)
{
	struct cursor from = row(r, i);
	const uint64_t which = get_which(&from), first = which & 1 ? cursor_varint(&from) : 0;

	site->key = (uint32_t)first;
	site->group = (uint32_t)(first >> 32);
	return which >> (PLACE(v) + figure / sizeof(uint64_t)) & 1;
}

/* The same of numbers that are zero so far. */
static inline void get_into(struct cursor *from, struct site *site, uint64_t which)
{
	for (; which; which &= which - 1) {
		const uint64_t number = cursor_varint(from);

		memcpy((char *)site + sizeof(number) * (unsigned)__builtin_ctzll(which), &number,
		       sizeof(number));
	}
}

void site_rows_get(const struct site_rows *r, size_t i, struct site *site)
{
	struct cursor from = row(r, i);
	const uint64_t which = get_which(&from), brief = (1ull << BRIEF) - 1;

	*site = (struct site){ .key = 0 };
	get_into(&from, site, which & brief);
	cursor_varint(&from);
	get_into(&from, site, which & ~brief);
	make_whole(&site->v);
}

void site_rows_release(struct site_rows *r)
{
	columns_free(&r->added, 1);
	free(r->at);
	*r = (struct site_rows){ .at = NULL };
}

void site_brief_fill(struct site_brief *brief, const struct site *site)
{
#define FILL(member) .member = site->v.member,
	*brief = (struct site_brief){ .key = site->key, SITE_BRIEF(FILL) };
}
