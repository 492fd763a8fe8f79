// SPDX-License-Identifier: LGPL-3.0-or-later
/* limits.c - compares a profile with limits. */
#include "limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calltree.h"
#include "filters.h"
#include "../util/alloc.h"

static struct check *add_check(struct checks *c, enum check_kind kind, enum profile_value value)
{
	struct check *k = &c->check[c->count++];

	*k = (struct check){ .kind = kind, .value = value };
	return k;
}

/* ---- limits ---- */

/* Reports that no stack has the function. */
static int missing(struct profile *p, struct profile *baseline, const char *function,
		   struct error *err)
{
	struct error other;
	int ret = profile_knows_function(p, function, err);

	if (ret == -EINVAL && baseline && !profile_knows_function(baseline, function, &other))
		return fail(err, -EINVAL,
			    "no stack in '%.120s' goes through '%.120s', as some in '%.120s' do:"
			    " if it was renamed, change the limit; if it is gone, drop the limit"
			    " or add --allow-missing",
			    p->path, function, baseline->path);
	if (ret == -EINVAL)
		return fail(&other, ret, "%s", err->text),
		       fail(err, ret, "%.400s (--allow-missing counts it as 0)", other.text);
	return ret;
}

/* Finds the figure of a limit, and the function with most of it. */
static int look_at_limit(struct check *k, struct profile *p, struct profile *baseline,
			 bool allow_missing, struct error *err)
{
	struct calltree_options o = { .same = LINE_FUNCTION, .value = { k->value }, .values = 1 };
	struct calltree t;
	uint32_t first;
	int ret = 0;

	/* Name the allocating function, below the function if there is one. */
	if (k->function) {
		calltree_make(&t, p, &o, CALLTREE_CALLEES, k->function);
		k->found = calltree_inclusive(&t, 0, 0);
		if (!t.node[0].sites && !allow_missing)
			ret = missing(p, baseline, k->function, err);
		calltree_release(&t);
		return ret;
	}
	calltree_make(&t, p, &o, CALLTREE_BOTTOM_UP, NULL);
	first = t.node[0].child;
	k->blame = first ? t.node[first].line : NULL;
	k->blamed = first ? calltree_inclusive(&t, first, 0) : 0;
	calltree_release(&t);
	return 0;
}

static int check_limit(struct checks *c, struct profile *p, struct profile *baseline,
		       const struct check_options *o, const struct check_limit *l,
		       struct error *err)
{
	struct check *k = add_check(c, CHECK_LIMIT, l->value);
	int ret = 0;

	k->function = l->function;
	k->most = l->most;
	k->found = profile_value_total(p, l->value);
	if (k->function || k->found > k->most)
		ret = look_at_limit(k, p, baseline, o->allow_missing, err);
	k->failed = k->found > k->most;
	k->estimated = !k->function && p->sites.totals.estimated &&
		       estimate_range(&p->total, l->value, k->found, &k->range);
	return ret;
}

/* ---- the baseline ---- */

/* Finds who grew most, and whether samples may have found growth where there is none. */
static void look_at_growth(struct check *k, struct profile *p, struct profile *baseline)
{
	const struct diff_options o = { .by = DIFF_BY_FUNCTION, .value = k->value };
	struct diff d;
	size_t i;

	diff_make(&d, baseline, p, &o);
	k->unclear = diff_may_be_same(&d, k->value);
	k->failed = !k->unclear;
	for (i = 0; i < d.groups; i++)
		if (diff_delta(&d.group[i], k->value) > 0) {
			k->blame = d.group[i].line[d.group[i].lines - 1];
			k->blamed = (uint64_t)diff_delta(&d.group[i], k->value);
			break;
		}
	diff_release(&d);
}

static void check_growth(struct checks *c, struct profile *p, struct profile *baseline,
			 enum profile_value value, const struct check_options *o)
{
	struct check *k = add_check(c, CHECK_BASELINE, value);

	k->found = profile_value_total(p, value);
	k->before = profile_value_total(baseline, value);
	k->most = k->before + (uint64_t)((double)k->before * o->tolerance / 100);
	k->peaks_differ = value == VALUE_PEAK && diff_peaks_differ(baseline, p);
	if (k->found > k->most)
		look_at_growth(k, p, baseline);
}

static bool is_more(uint64_t before, uint64_t after, double tolerance)
{
	return after > before && (double)(after - before) * 100 > (double)before * tolerance;
}

/*
 * Moves groups that leak more, and whose innermost function leaks more in total, to the front, in
 * order. If memory is allocated in large pieces and divided into small ones, chance decides which
 * caller allocates a piece.
 */
static void gather_leaks(struct diff *d, double tolerance, uint64_t *found)
{
	uint64_t(*leaked)[DIFF_SIDES] = must_calloc(d->names.count + 1, sizeof(*leaked));
	struct diff_group g;
	size_t i;

	for (i = 0; i < d->groups; i++) {
		uint64_t *of = leaked[diff_leaf(d, &d->group[i])];

		of[DIFF_BEFORE] += d->group[i].v[DIFF_BEFORE][VALUE_LEAKED];
		of[DIFF_AFTER] += d->group[i].v[DIFF_AFTER][VALUE_LEAKED];
	}
	for (i = 0; i < d->groups; i++) {
		const uint64_t *of = leaked[diff_leaf(d, &d->group[i])];

		g = d->group[i];
		if (!is_more(of[DIFF_BEFORE], of[DIFF_AFTER], tolerance) ||
		    !is_more(g.v[DIFF_BEFORE][VALUE_LEAKED], g.v[DIFF_AFTER][VALUE_LEAKED],
			     tolerance) ||
		    diff_group_may_be_same(d, &g, VALUE_LEAKED))
			continue;
		memmove(&d->group[*found + 1], &d->group[*found], (i - *found) * sizeof(g));
		d->group[(*found)++] = g;
	}
	free(leaked);
}

static void check_leaks(struct checks *c, struct profile *p, struct profile *baseline,
			double tolerance)
{
	const struct diff_options o = { .by = DIFF_BY_STACK, .value = VALUE_LEAKED };
	struct check *k = add_check(c, CHECK_NEW_LEAKS, VALUE_LEAKED);

	diff_make(&c->leaks, baseline, p, &o);
	c->compared = true;
	gather_leaks(&c->leaks, tolerance, &k->found);
	k->failed = k->found;
	if (k->failed) {
		k->blame = c->leaks.group[0].line[c->leaks.group[0].lines - 1];
		k->blamed = (uint64_t)diff_delta(&c->leaks.group[0], VALUE_LEAKED);
	}
}

/* ---- all ---- */

static void check_complete(struct checks *c, const struct profile *p)
{
	struct check *k = add_check(c, CHECK_COMPLETE, VALUE_CALLS);
	size_t i;

	k->found = p->tree.lost_all;
	k->lacks = (trace_lacks_events(trace_damage(p->trace)) ? LACKS_PARTS : 0) |
		   (p->tree.owns || p->tree.deepbinds ? LACKS_OBJECTS : 0) |
		   (profile_is_part(p->trace) ? LACKS_CALLS : 0);
	for (i = 0; i < p->tree.missing_count; i++)
		if (p->tree.missing[i].became && p->tree.missing[i].parent == 1)
			k->lacks |= LACKS_PROGRAM;
	k->failed = k->found || k->lacks;
}

static int make(struct checks *c, struct profile *p, struct profile *baseline,
		const struct check_options *o, struct error *err)
{
	int ret = 0;
	size_t i;

	for (i = 0; i < o->limits && !ret; i++)
		ret = check_limit(c, p, baseline, o, &o->limit[i], err);
	for (i = 0; i < VALUE_COUNT && baseline && !ret; i++)
		if (profile_values_of(ROLE_GROWTH) >> i & 1)
			check_growth(c, p, baseline, (enum profile_value)i, o);
	if (!ret && baseline && o->no_new_leaks)
		check_leaks(c, p, baseline, o->tolerance);
	if (!ret && !o->allow_lost)
		check_complete(c, p);
	return ret;
}

static bool is_left_open(const struct profile *p)
{
	return p && tree_left_open(&p->tree, &p->walk.heap, p->sites.options.filter.process);
}

static void note_left_open(struct check *k, const struct profile *p, const struct profile *baseline)
{
	if (k->value != VALUE_LEAKED && k->value != VALUE_LIVE)
		return;
	k->left_open[DIFF_AFTER] = k->found && is_left_open(p);
	k->left_open[DIFF_BEFORE] = k->kind != CHECK_LIMIT && is_left_open(baseline);
}

int checks_make(struct checks *c, struct profile *p, struct profile *baseline,
		const struct check_options *o, struct error *err)
{
	size_t i;
	int ret;

	*c =
	    (struct checks){ .check = must_calloc(o->limits + VALUE_COUNT + 2, sizeof(*c->check)) };
	ret = make(c, p, baseline, o, err);
	for (i = 0; i < c->count; i++) {
		c->failed += c->check[i].failed;
		note_left_open(&c->check[i], p, baseline);
	}
	return ret;
}

void checks_release(struct checks *c)
{
	if (c->compared)
		diff_release(&c->leaks);
	free(c->check);
	*c = (struct checks){ .check = NULL };
}
