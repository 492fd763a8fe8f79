// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * profile_groups.c - see grouping.h.
 *
 * Group 0 has stacks without lines and those that do not pass.
 */
#include "grouping.h"

#include <stdlib.h>
#include <string.h>

#include "../pass/interner.h"
#include "../util/alloc.h"
#include "../util/rank.h"
#include "leaks.h"
#include "path_numbers.h"
#include "paths.h"

/* What tells groups apart. */
struct grouping {
	struct line_interner lines;
	struct interner parts;
	struct path_numbers paths;
	struct hash ranks; /* by process: its rank + 1 */
};

/* ---- the number of a group ---- */

bool groups_passes(struct profile *p, uint32_t stack)
{
	const struct paths_options *o = &p->paths->options;

	return (!o->function && !o->file && !o->module && !o->without) ||
	       paths_match(p->paths, paths_look(p->paths, stack));
}

static void find_ranks(struct grouping *g, const struct trace *t)
{
	const struct trace_fact *fact;
	const size_t n = trace_facts(t, &fact);

	for (size_t i = 0; i < n; i++)
		if (*fact[i].rank)
			*hash_at(&g->ranks, fact[i].process) = strtoul(fact[i].rank, NULL, 10) + 1;
}

static uint64_t rank_of(const struct grouping *g, uint64_t process)
{
	const uint64_t rank = hash_get(&g->ranks, process);

	return rank ? rank - 1 : PROFILE_NO_RANK;
}

bool profile_by_part(enum profile_by by)
{
	return by >= PROFILE_BY_THREAD;
}

static void new_grouping(struct profile *p, enum profile_by by)
{
	static const enum line_same same[PROFILE_BY_COUNT] = {
		[PROFILE_BY_FUNCTION] = LINE_FUNCTION,
		[PROFILE_BY_LINE] = LINE_LINE,
		[PROFILE_BY_FILE] = LINE_FILE,
		[PROFILE_BY_MODULE] = LINE_MODULE,
	};

	p->grouping = must_malloc(sizeof(*p->grouping));
	*p->grouping =
	    (struct grouping){ .lines = { .same = same[by] }, .paths = PATH_NUMBERS_EMPTY };
	p->by = by;
}

uint32_t profile_path_number(struct profile *p, uint32_t stack)
{
	if (!p->grouping)
		new_grouping(p, PROFILE_BY_STACK);
	return path_number(&p->grouping->paths, p->paths, stack, false);
}

static uint32_t group_of(void *profile, uint32_t stack, uint64_t part)
{
	struct profile *p = profile;
	struct grouping *g = p->grouping;
	const struct profile_path *path;

	if (!groups_passes(p, stack))
		return 0;
	if (p->by == PROFILE_BY_STACK)
		return profile_path_number(p, stack);
	if (p->by == PROFILE_BY_RANK)
		part = rank_of(g, part);
	if (profile_by_part(p->by))
		return interner_id(&g->parts, &part, sizeof(part));
	path = paths_look(p->paths, stack);
	return path->count ? line_interner_id(&g->lines, path->line[path->asked - 1]) : 0;
}

enum site_part groups_part(enum profile_by by)
{
	return by == PROFILE_BY_THREAD ? SITE_BY_THREAD
	       : by == PROFILE_BY_SIZE ? SITE_BY_SIZE
	       : profile_by_part(by)   ? SITE_BY_PROCESS
				       : SITE_WHOLE;
}

void groups_begin(struct profile *p, enum profile_by by, struct sites_options *o)
{
	new_grouping(p, by);
	o->part = groups_part(by);
	/* A command may have its own groups. */
	if (by == PROFILE_BY_STACK && o->group)
		return;
	o->group = group_of;
	o->group_context = p;
	if (by == PROFILE_BY_RANK)
		find_ranks(p->grouping, p->trace);
}

uint32_t groups_path(struct profile *p, uint32_t stack)
{
	return path_number(&p->grouping->paths, p->paths, stack, !p->paths->options.library);
}

void groups_end(struct profile *p)
{
	struct grouping *g = p->grouping;

	if (!g)
		return;
	line_interner_release(&g->lines);
	interner_release(&g->parts);
	path_numbers_release(&g->paths);
	hash_release(&g->ranks);
	free(g);
	p->grouping = NULL;
}

void profile_path_numbered(struct profile *p)
{
	groups_end(p);
}

/* ---- figures ---- */

static const uint64_t no_leaks[SITE_EPOCHS];

/* Returns the figures of a group, which no site shares from now on. */
static struct profile_sum *own_sum(struct profile *p, struct profile_group *g)
{
	struct profile_sum *sum;

	if (!g->sum) {
		sum = GROW_ONE(p->sum, p->sums, p->sum_room);
		sum->v = *g->v;
		memcpy(sum->leaked_epochs, g->leaked_epochs, sizeof(sum->leaked_epochs));
		g->sum = p->sums;
	}
	return &p->sum[g->sum - 1];
}

static const uint64_t *leaked_epochs(const struct profile *p, const struct site_values *v)
{
	const uint64_t *ticks = p->sites.epoch_ticks;
	const uint64_t run_ns = walk_duration_ns(&p->walk, ticks[SITE_EPOCHS] - ticks[0]);

	return v->leaked_calls && !leak_is_replaced(v, ticks, run_ns) ? v->epoch_bytes : no_leaks;
}

static void add_leak(const struct profile *p, struct profile_group *g, struct profile_sum *sum,
		     const struct site_values *v)
{
	if (!v->leaked_calls)
		return;
	if (!sum->v.leaked_calls || v->first_ticks < g->leaked_first_ticks)
		g->leaked_first_ticks = v->first_ticks;
	for (size_t k = 0; k < SITE_EPOCHS; k++)
		sum->leaked_epochs[k] += leaked_epochs(p, v)[k];
}

static const struct sym_line *through(struct profile *p, uint32_t stack)
{
	return profile_path_through(p, paths_look(p->paths, stack));
}

const struct sym_line *profile_group_through(struct profile *p, const struct profile_group *g)
{
	return g->throughs ? NULL : through(p, g->stack);
}

static void add_to_group(struct profile *p, struct profile_group *g, size_t i)
{
	const struct site *site = &p->site[i];
	struct profile_sum *sum;

	if (!g->sites++) {
		g->stack = site->key;
		g->part = site->part;
		g->v = &site->v;
		g->leaked_epochs = leaked_epochs(p, &site->v);
		g->leaked_first_ticks = site->v.leaked_calls ? site->v.first_ticks : 0;
		return;
	}
	if (p->by == PROFILE_BY_STACK && !g->throughs)
		g->throughs = sym_order_functions(through(p, g->stack), through(p, site->key));
	sum = own_sum(p, g);
	add_leak(p, g, sum, &site->v);
	site_values_add(&sum->v, &site->v);
}

static void set_own_peak(struct profile *p, struct profile_group *g, struct site_local peak)
{
	struct site_values *v;

	if (!g->sum && g->v->local_bytes == peak.bytes && g->v->local_calls == peak.calls)
		return;
	v = &own_sum(p, g)->v;
	v->local_calls = peak.calls;
	v->local_bytes = peak.bytes;
}

void groups_make(struct profile *p)
{
	struct grouping *by = p->grouping;
	/* A command with its own groups does not use these. */
	const bool ours = p->sites.options.group == group_of;
	const size_t room = p->sites.groups > 1 ? p->sites.groups : 1;
	size_t i, n = 0;

	p->group = must_calloc(room + 1, sizeof(*p->group));
	for (i = 0; i < p->count; i++)
		add_to_group(p, &p->group[ours ? p->site[i].group : 0], i);
	for (i = 0; i < room; i++) {
		struct profile_group *g = &p->group[i];

		if (!g->sites)
			continue;
		if (p->sites.local && i < p->sites.groups)
			set_own_peak(p, g, p->sites.local[i]);
		if (p->by == PROFILE_BY_RANK)
			g->part = rank_of(by, g->part);
		if (i && by->lines.keys.count)
			g->line = line_interner_line(&by->lines, (uint32_t)i);
		p->group[n++] = *g;
	}
	p->groups = n;
	for (i = 0; i < n; i++) /* they do not move any more */
		if (p->group[i].sum) {
			p->group[i].v = &p->sum[p->group[i].sum - 1].v;
			p->group[i].leaked_epochs = p->sum[p->group[i].sum - 1].leaked_epochs;
		}
	profile_sort(p, VALUE_TOTAL);
}

/* ---- order ---- */

static uint64_t order_key(const struct profile_group *g, unsigned key, enum profile_value value)
{
	switch (key) {
	case 0:
		return g->part;
	case 1:
		return g->stack;
	case 2:
		return ~g->v->bytes;
	case 3:
		return !profile_group_has(g, value);
	default:
		return ~profile_group_value(g, value);
	}
}

void profile_sort(struct profile *p, enum profile_value value)
{
	struct ranked *r = must_malloc((p->groups + 1) * sizeof(*r));

	for (size_t i = 0; i < p->groups; i++)
		r[i].item = i;
	for (unsigned key = 0; key < 5; key++) {
		for (size_t i = 0; i < p->groups; i++)
			r[i].key = order_key(&p->group[r[i].item], key, value);
		rank(r, p->groups);
	}
	ranked_move(r, p->groups, p->group, sizeof(*p->group));
	free(r);
}
