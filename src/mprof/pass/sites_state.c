// SPDX-License-Identifier: LGPL-3.0-or-later
/* sites_state.c - see sites_state.h. */
#include "sites_state.h"

#include "../heap/heap_state.h"
#include "../util/alloc.h"
#include "sites_count.h"

#define NUMBERS_OF(type) (sizeof(type) / sizeof(uint64_t))
#define NUMBERS		 NUMBERS_OF(struct accumulator)
#define RARE_NUMBERS	 NUMBERS_OF(struct accumulator_rare)
_Static_assert(sizeof(struct accumulator) % sizeof(uint64_t) == 0 &&
		   sizeof(struct accumulator_rare) % sizeof(uint64_t) == 0,
	       "rows of numbers");

size_t sites_state_rows(const struct sites *s)
{
	return ((const struct work *)s->work)->accumulators.count;
}

static void put_start(const struct sites *s, struct byte_column *to)
{
	/* Pointers are ignored when it is read. */
	state_put(to, s->work, sizeof(struct work));
	state_put(to, &s->peak, sizeof(s->peak));
	state_put(to, &s->rss, sizeof(s->rss));
}

void sites_state_put(struct sites *s, struct byte_column *to)
{
	const struct work *k = s->work;
	const struct site_accumulators *a = &k->accumulators;

	put_start(s, to);
	column_varint(to, k->recent.count);
	for (uint32_t i = 0; i < k->recent.count; i++)
		column_varint(to, sites_recent(s, i)->addr[0]);
	column_varint(to, a->rares);
	state_put_rows(to, (const uint64_t *)a->rare, a->rares, RARE_NUMBERS);
	column_varint(to, a->count);
	state_put_rows(to, (const uint64_t *)a->accumulator, a->count, NUMBERS);
}

/* Forgets figures of moments or times that another walk divides differently. */
static void forget_moments(struct accumulator *a)
{
	a->peak_number = a->peak_calls = a->peak_bytes = a->peak_slack = 0;
}

static void forget_rare_moments(struct accumulator_rare *rare)
{
	rare->rss_number = rare->rss_calls = rare->rss_bytes = 0;
	memset(rare->epoch_bytes, 0, sizeof(rare->epoch_bytes));
}

static void add_accumulator(struct site_accumulators *to, struct accumulator *saved)
{
	struct accumulator *a = site_accumulator_new(to, saved->stack, 0);
	struct accumulator_count *shared;

	saved->group = a->group;
	if (saved->rare > to->rares)
		saved->rare = 0;
	forget_moments(saved);
	*a = *saved;
	if (a->group & GROUP_SHARED) {
		shared = site_accumulator_shared(to, a);
		shared->calls += a->local.calls;
		shared->bytes += a->local.bytes;
	}
}

static void get_rares(struct site_accumulators *to, struct cursor *from)
{
	struct accumulator_rare some[STATE_ROWS];

	for (size_t n = cursor_varint(from), now; n; n -= now) {
		now = n < STATE_ROWS ? n : STATE_ROWS;
		state_get_rows(from, (uint64_t *)some, now, RARE_NUMBERS);
		for (size_t i = 0; i < now; i++) {
			forget_rare_moments(&some[i]);
			*site_accumulator_rare(to, &(struct accumulator){ .rare = 0 }) = some[i];
		}
	}
}

static void get_accumulators(struct site_accumulators *to, struct cursor *from)
{
	struct accumulator some[STATE_ROWS];

	get_rares(to, from);
	for (size_t n = cursor_varint(from), now; n; n -= now) {
		now = n < STATE_ROWS ? n : STATE_ROWS;
		state_get_rows(from, (uint64_t *)some, now, NUMBERS);
		for (size_t i = 0; i < now; i++)
			add_accumulator(to, &some[i]);
	}
}

static void get_moments(struct sites *s, const struct work *saved, struct cursor *from)
{
	struct site_snapshot peak, rss;
	struct work *k = s->work;

	state_get(from, &peak, sizeof(peak));
	state_get(from, &rss, sizeof(rss));
	if (s->options.until.set)
		return;
	s->peak = peak;
	s->rss = rss;
	k->peak_number = saved->peak_number;
	k->peak_event = saved->peak_event;
	k->rss_number = saved->rss_number;
	k->rss_event = saved->rss_event;
	k->rss_live = saved->rss_live;
	k->rss_most = saved->rss_most;
	k->rss_later = saved->rss_later;
	k->rss_near = saved->rss_near;
	k->rss_mapped = saved->rss_mapped;
	k->rss_break = saved->rss_break;
}

void sites_state_get(struct sites *s, struct cursor *from)
{
	struct work *k = s->work;
	struct work saved;
	uint64_t n;

	state_get(from, &saved, sizeof(saved));
	get_moments(s, &saved, from);
	n = cursor_varint(from);
	for (uint32_t i = 0; i < n && from->p < from->end; i++)
		sites_recent(s, i)->addr[0] = cursor_varint(from);
	if (s->options.until.set)
		get_accumulators(&k->accumulators, from);
}

/* ---- the end ---- */

/* Sites in the order of their first events, in which groups are made. */
static void put_order(const struct site_accumulators *a, struct byte_column *to)
{
	uint32_t before = 0;

	column_varint(to, a->count);
	for (size_t i = 0; i < a->count; before = a->accumulator[i++].stack)
		column_varint(to, zigzag((uint64_t)a->accumulator[i].stack - before));
}

const struct byte_column *sites_end_put(struct sites *s, struct byte_column *to)
{
	struct work *k = s->work;

	if (!k->has_rows)
		sites_make_rows(s);
	put_order(&k->accumulators, to);
	sites_make_local(s);
	site_accumulators_release(&k->accumulators);
	put_start(s, to);
	state_put(to, &s->total, sizeof(s->total));
	column_varint(to, s->count);
	return &k->rows.added;
}

/* Makes the groups of this walk. */
static void get_groups(struct sites *s, struct work *k, struct cursor order)
{
	uint32_t stack = 0, *group;

	for (uint64_t n = s->options.group ? cursor_varint(&order) : 0; n; n--) {
		stack += (uint32_t)unzigzag(cursor_varint(&order));
		group = array_at(&k->groups, stack, sizeof(*group));
		*group = site_accumulators_group(&k->accumulators, stack, 0);
	}
}

static void skip_order(struct cursor *from)
{
	for (uint64_t n = cursor_varint(from); n; n--)
		cursor_varint(from);
}

void sites_end_get(struct sites *s, struct cursor *from, uint8_t *bytes)
{
	struct work *k = s->work;
	const struct cursor order = *from;
	struct work saved;

	k->saved = bytes;
	skip_order(from);
	state_get(from, &saved, sizeof(saved));
	get_moments(s, &saved, from);
	state_get(from, &s->total, sizeof(s->total));
	s->count = cursor_varint(from);
	if (s->options.brief)
		s->brief = must_malloc((s->count + 1) * sizeof(*s->brief));
	site_rows_take(&k->rows, s->count, from, s->brief);
	k->has_rows = true;
	if (!s->options.brief)
		get_groups(s, k, order);
}

/* ---- groups ---- */

void sites_groups_put(struct sites *s, struct byte_column *to)
{
	const struct site_accumulators *a = &((const struct work *)s->work)->accumulators;

	sites_make_local(s);

	column_varint(to, a->count);
	for (size_t i = 0; i < a->count; i++) {
		column_varint(to, a->accumulator[i].stack);
		column_varint(to, a->accumulator[i].group & ~GROUP_SHARED);
	}
	column_varint(to, s->groups);
	for (size_t i = 0; i < s->groups && s->local; i++) {
		column_varint(to, s->local[i].calls);
		column_varint(to, s->local[i].bytes);
	}
}

bool sites_groups_match(const struct sites *s, struct cursor from)
{
	const struct sites_options *o = &s->options;
	bool same = true;

	for (uint64_t n = cursor_varint(&from); n; n--) {
		const uint32_t stack = (uint32_t)cursor_varint(&from);

		same &= o->group(o->group_context, stack, 0) == cursor_varint(&from);
	}
	return same;
}

void sites_groups_get(struct sites *s, struct cursor from)
{
	const size_t groups = ((const struct work *)s->work)->accumulators.groups;

	for (uint64_t n = 2 * cursor_varint(&from); n; n--)
		cursor_varint(&from);
	if (cursor_varint(&from) != groups)
		return;
	s->groups = groups;
	s->local = must_calloc(groups + 1, sizeof(*s->local));
	for (size_t i = 0; i < groups; i++) {
		s->local[i].calls = cursor_varint(&from);
		s->local[i].bytes = cursor_varint(&from);
	}
}
