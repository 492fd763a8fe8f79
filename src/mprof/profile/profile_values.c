// SPDX-License-Identifier: LGPL-3.0-or-later
/* profile_values.c - figures and groupings by name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"
#include "reachable.h"

#define UNIT_CALLS "calls"
#define UNIT_BYTES "bytes"
#define UNIT_NS	   "ns"
static const struct {
	const char *name, *unit, *help;
	size_t member, blocks; /* in struct site_values */
	unsigned roles;
} values[VALUE_COUNT] = {
#define VALUE(id, name, blocks, roles, member, unit, add, from, json, help) \
	{ name,                                                             \
	  UNIT_##unit,                                                      \
	  help,                                                             \
	  offsetof(struct site_values, member),                             \
	  offsetof(struct site_values, blocks),                             \
	  roles },
#include "../pass/figures.def"
};

const char *const profile_by_names[PROFILE_BY_COUNT + 1] = {
#define PROFILE_BY(id, name, help) name,
#include "by.def"
#undef PROFILE_BY
};

const char *const profile_value_names[VALUE_COUNT + 1] = {
#define VALUE(id, name, blocks, roles, member, unit, add, from, json, help) name,
#include "../pass/figures.def"
};

uint64_t profile_site_value(const struct site_values *v, enum profile_value value)
{
	return *(const uint64_t *)((const char *)v + values[value].member);
}

static uint64_t blocks_of(const struct site_values *v, enum profile_value value)
{
	return *(const uint64_t *)((const char *)v + values[value].blocks);
}

uint64_t profile_value(const struct profile *p, size_t i, enum profile_value value)
{
	return profile_site_value(&p->site[i].v, value);
}

uint64_t profile_group_value(const struct profile_group *g, enum profile_value value)
{
	return profile_site_value(g->v, value);
}

bool profile_group_has(const struct profile_group *g, enum profile_value value)
{
	const bool of_blocks = value == VALUE_TOTAL || values[value].roles & ROLE_MOMENT;

	return profile_site_value(g->v, value) || (of_blocks && blocks_of(g->v, value));
}

bool profile_own_peak_is_bound(const struct profile *p, const struct profile_group *g)
{
	/* A profile knows the own peak of each stack in each process. */
	return p->sites.totals.read && (g->sites > 1 || p->tree.processes > 1) &&
	       g->v->local_bytes > g->v->peak_bytes;
}

uint64_t profile_value_total(const struct profile *p, enum profile_value value)
{
	return profile_site_value(&p->total, value);
}

const char *profile_value_name(enum profile_value value)
{
	return values[value].name;
}

const char *profile_value_unit(enum profile_value value)
{
	return values[value].unit;
}

const char *profile_value_help(enum profile_value value)
{
	return values[value].help;
}

uint64_t profile_value_blocks(const struct profile *p, size_t i, enum profile_value value)
{
	return blocks_of(&p->site[i].v, value);
}

unsigned profile_values_of(unsigned roles)
{
	unsigned bits = 0;

	for (unsigned i = 0; i < VALUE_COUNT; i++)
		bits |= (unsigned)((values[i].roles & roles) == roles) << i;
	return bits;
}

const char *profile_by_name(enum profile_by by)
{
	return profile_by_names[by];
}

bool profile_value_of_totals(enum profile_value value)
{
	return !(values[value].roles & ROLE_EVENTS);
}

bool profile_value_of_samples(enum profile_value value)
{
	return !(values[value].roles & (ROLE_EVENTS | ROLE_COUNTED));
}

static int lacks_unreachable(const struct trace *t, struct error *err)
{
	const char *why = reachable_why_not(t);

	return fail(err, -EINVAL, "'%s' does not say what is unreachable: %s%s", trace_path(t),
		    *why			 ? "a process could not be examined: "
		    : reachable_was_requested(t) ? "no process was examined as it ended"
						 : "record with mprof record --reach",
		    why);
}

int profile_value_check(const struct trace *t, enum profile_value value, struct error *err)
{
	const struct trace_source *source = trace_source(t);

	if (source && (value == VALUE_WASTE || (value == VALUE_LIFETIME && !source->timed)))
		return fail(err, -EINVAL, "'%s' was not recorded by mprof and has no %s: no '%s'",
			    trace_path(t), value == VALUE_WASTE ? "usable sizes" : "times",
			    profile_value_name(value));
	if (trace_is_sampled(t) && values[value].roles & ROLE_COUNTED)
		return fail(
		    err, -EINVAL,
		    "'%s' contains samples: '%s' needs mprof profile without --sample, or a trace",
		    trace_path(t), profile_value_name(value));
	if (value == VALUE_UNREACHABLE && !reachable_is_known(t))
		return lacks_unreachable(t, err);
	if (trace_has_events(t) || profile_value_of_totals(value))
		return 0;
	if (!memcmp(trace_header(t)->magic, MPROF_MAGIC_TRACE, MPROF_MAGIC_SIZE))
		return fail(err, -EINVAL,
			    "the totals of '%s' have no '%s', which needs a trace of all calls: "
			    "mprof record without --last, --budget or --overhead",
			    trace_path(t), profile_value_name(value));
	return fail(
	    err, -EINVAL,
	    "'%s' contains totals, not individual calls: '%s' needs a trace from mprof record",
	    trace_path(t), profile_value_name(value));
}
