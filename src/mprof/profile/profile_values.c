// SPDX-License-Identifier: LGPL-3.0-or-later
/* profile_values.c - figures and groupings by name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"

/* Where a value is in struct site_values; LEAKED is none of it. */
static const size_t field[VALUE_COUNT] = {
	[VALUE_CALLS] = offsetof(struct site_values, calls),
	[VALUE_TOTAL] = offsetof(struct site_values, bytes),
	[VALUE_LIVE] = offsetof(struct site_values, live_bytes),
	[VALUE_PEAK] = offsetof(struct site_values, peak_bytes),
	[VALUE_TEMPORARY] = offsetof(struct site_values, temporary_calls),
	[VALUE_LIFETIME] = offsetof(struct site_values, lifetime_ns),
	[VALUE_WASTE] = offsetof(struct site_values, slack),
	[VALUE_LOCAL] = offsetof(struct site_values, local_bytes),
	[VALUE_RSS] = offsetof(struct site_values, rss_bytes),
};

static const struct {
	const char *name, *unit;
} values[VALUE_COUNT] = {
#define PROFILE_VALUE(id, name, unit, help) { name, unit },
#include "values.def"
#undef PROFILE_VALUE
};

static const char *const by_names[PROFILE_BY_COUNT] = {
#define PROFILE_BY(id, name, help) name,
#include "by.def"
#undef PROFILE_BY
};

static uint64_t value_of(const struct site_values *v, enum profile_value value)
{
	return *(const uint64_t *)((const char *)v + field[value]);
}

uint64_t profile_value(const struct profile *p, size_t i, enum profile_value value)
{
	return value == VALUE_LEAKED ? p->leaked_bytes[i] : value_of(&p->site[i].v, value);
}

uint64_t profile_group_value(const struct profile_group *g, enum profile_value value)
{
	return value == VALUE_LEAKED ? g->leaked_bytes : value_of(&g->v, value);
}

uint64_t profile_value_total(const struct profile *p, enum profile_value value)
{
	return value == VALUE_LEAKED ? p->leaked_total : value_of(&p->total, value);
}

const char *profile_value_name(enum profile_value value)
{
	return values[value].name;
}

const char *profile_value_unit(enum profile_value value)
{
	return values[value].unit;
}

const char *profile_by_name(enum profile_by by)
{
	return by_names[by];
}

/* The names of a table for a message: "a, b, c". */
static void list(char *to, size_t room, const char *(*name)(size_t i), size_t n)
{
	size_t i, at = 0;

	for (i = 0; i < n && at < room; i++)
		at += (size_t)snprintf(to + at, room - at, "%s%s", i ? ", " : "", name(i));
}

static const char *value_name(size_t i)
{
	return values[i].name;
}

static const char *by_name(size_t i)
{
	return by_names[i];
}

int profile_value_find(const char *name, enum profile_value *value, struct error *err)
{
	char names[256];
	size_t i;

	for (i = 0; i < VALUE_COUNT; i++) {
		if (!strcmp(name, values[i].name)) {
			*value = (enum profile_value)i;
			return 0;
		}
	}
	list(names, sizeof(names), value_name, VALUE_COUNT);
	return fail(err, -EINVAL, "there is no value '%.60s'; there are %s", name, names);
}

int profile_by_find(const char *name, enum profile_by *by, struct error *err)
{
	char names[256];
	size_t i;

	for (i = 0; i < PROFILE_BY_COUNT; i++) {
		if (!strcmp(name, by_names[i])) {
			*by = (enum profile_by)i;
			return 0;
		}
	}
	list(names, sizeof(names), by_name, PROFILE_BY_COUNT);
	return fail(err, -EINVAL, "invalid --by '%.60s': expected %s", name, names);
}

/* ---- order ---- */

static int compare(const void *a, const void *b, void *value)
{
	const struct profile_group *x = a, *y = b;
	uint64_t vx = profile_group_value(x, *(enum profile_value *)value);
	uint64_t vy = profile_group_value(y, *(enum profile_value *)value);

	if (vx != vy)
		return vx > vy ? -1 : 1;
	if (x->v.bytes != y->v.bytes)
		return x->v.bytes > y->v.bytes ? -1 : 1;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return (x->part > y->part) - (x->part < y->part);
}

void profile_sort(struct profile *p, enum profile_value value)
{
	if (p->groups)
		qsort_r(p->group, p->groups, sizeof(*p->group), compare, &value);
}

bool profile_value_of_totals(enum profile_value value)
{
	return value != VALUE_WASTE && value != VALUE_RSS;
}

int profile_value_check(const struct trace *t, enum profile_value value, struct error *err)
{
	if (trace_has_events(t) || profile_value_of_totals(value))
		return 0;
	return fail(
	    err, -EINVAL,
	    "'%s' holds totals, not events: '%s' needs a recording, as mprof record makes it",
	    trace_path(t), profile_value_name(value));
}
