// SPDX-License-Identifier: LGPL-3.0-or-later
/* difference.c - two profiles side by side. */
#include "difference.h"

#include <stdlib.h>
#include <string.h>

#include "calltree.h"
#include "difference_names.h"
#include "../util/alloc.h"
#include "paths.h"

/* ---- collecting ---- */

void diff_init(struct diff *d, const struct diff_options *o)
{
	*d = (struct diff){ .options = *o };
}

void diff_stable(struct diff *d, const char *module)
{
	interner_id(&d->stable, module, strlen(module));
}

static void more_names(struct diff *d)
{
	const size_t n = d->names.count;

	if (n <= d->name_room)
		return;
	GROW_ZEROED(d->on, n, d->name_room);
	d->example = must_reallocarray(d->example, d->name_room, sizeof(*d->example));
}

/* Returns the number under which a line's function is compared. */
static uint32_t name_of(struct diff *d, enum diff_side side, const struct sym_line *l)
{
	char small[512], *s = small;
	size_t n = diff_spell(d, side, l, small, sizeof(small));
	uint32_t id;

	if (n >= sizeof(small)) {
		s = must_malloc(n + 1);
		diff_spell(d, side, l, s, n + 1);
	}
	id = interner_id(&d->names, s, n);
	if (s != small)
		free(s);
	more_names(d);
	if (!(d->on[id - 1] & 1u << side))
		d->example[id - 1] = l;
	d->on[id - 1] |= (uint8_t)(1u << side);
	return id;
}

static void more_ids(struct diff *d, size_t n)
{
	n += d->ids;
	if (n <= d->id_room)
		return;
	d->id_room = grow_room(n, d->id_room);
	d->id = must_reallocarray(d->id, d->id_room, sizeof(*d->id));
	d->line = must_reallocarray(d->line, d->id_room, sizeof(*d->line));
}

void diff_add(struct diff *d, enum diff_side side, const struct sym_line *const *line, size_t n,
	      const uint64_t v[VALUE_COUNT], const struct site_values *estimate)
{
	struct diff_site *s;
	uint32_t id;
	size_t i;

	if (!n)
		return;
	GROW(d->site, d->sites + 1, d->site_room);
	s = &d->site[d->sites];
	more_ids(d, n);
	*s = (struct diff_site){ .first = d->ids, .side = side, .estimate = estimate };
	memcpy(s->v, v, sizeof(s->v));
	for (i = 0; i < n; i++) {
		id = name_of(d, side, line[i]);
		/* In direct recursion the innermost line remains, because it allocates. */
		if (s->count && d->id[d->ids - 1] == id) {
			d->line[d->ids - 1] = line[i];
			continue;
		}
		d->id[d->ids] = id;
		d->line[d->ids++] = line[i];
		s->count++;
	}
	d->sites++;
	for (i = 0; i < VALUE_COUNT; i++)
		d->total[side][i] += v[i];
	if (estimate) {
		d->sampled[side] = true;
		site_values_add(&d->estimates[side], estimate);
	}
}

/* ---- grouping ---- */

/* The key of a group: numbers, so that every kind of group is looked up the same way. */
static uint32_t group_key(struct diff *d, struct interner *keys, const struct diff_site *s,
			  uint32_t *work)
{
	const struct sym_line *leaf = d->line[s->first + s->count - 1];
	char text[1024];
	size_t i, n;

	switch (d->options.by) {
	case DIFF_BY_STACK:
		for (i = 0; i < s->count; i++)
			work[i] = d->renamed[d->id[s->first + i] - 1];
		return interner_id(keys, work, s->count * sizeof(*work));
	case DIFF_BY_FUNCTION:
		work[0] = d->renamed[d->id[s->first + s->count - 1] - 1];
		return interner_id(keys, work, sizeof(*work));
	case DIFF_BY_MODULE:
		n = diff_spell_module(d, s->side, leaf, text, sizeof(text));
		break;
	case DIFF_BY_FILE:
		n = diff_spell_file(d, s->side, leaf, text, sizeof(text));
		break;
	default:
		n = diff_spell_line(d, s, text, sizeof(text));
		break;
	}
	return interner_id(keys, text, n < sizeof(text) ? n : sizeof(text) - 1);
}

static void add_to_group(struct diff *d, struct diff_group *g, const struct diff_site *s)
{
	size_t i;

	/* Take lines of the later side, because a reader can look them up. */
	if (!g->lines || (s->side == DIFF_AFTER && !g->sites[DIFF_AFTER])) {
		g->line = d->line + s->first;
		g->lines = s->count;
	}
	g->sites[s->side]++;
	for (i = 0; i < VALUE_COUNT; i++)
		g->v[s->side][i] += s->v[i];
	if (s->estimate)
		site_values_add(&g->estimates[s->side], s->estimate);
}

/*
 * The 95 % range of a figure n, with the estimates of its group or of all; false: unknown.  A side
 * without a sample may have had blocks, of up to z^2 times the weight of one: that is the range of
 * estimate.h for a variance of 0.
 */
static bool range_of(const struct diff *d, const struct site_values of[DIFF_SIDES],
		     enum diff_side side, enum profile_value value, uint64_t n,
		     struct estimate_range *range)
{
	struct site_values none;

	*range = (struct estimate_range){ n, n };
	if (!d->sampled[side])
		return true;
	if (of[side].error.samples)
		return estimate_range(&of[side], value, n, range);
	none = of[!side].error.samples ? of[!side] : d->estimates[side];
	none.error.calls = none.error.bytes = none.error.live_bytes = 0;
	return estimate_range(&none, value, n, range);
}

bool diff_group_range(const struct diff *d, const struct diff_group *g, enum diff_side side,
		      struct estimate_range *range)
{
	const enum profile_value value = d->options.value;

	return range_of(d, g->estimates, side, value, g->v[side][value], range) && d->sampled[side];
}

static bool may_be_same(const struct diff *d, const struct site_values of[DIFF_SIDES],
			enum profile_value value, const uint64_t v[DIFF_SIDES][VALUE_COUNT])
{
	struct estimate_range a, b;

	if (!diff_of_samples(d))
		return false;
	return !range_of(d, of, DIFF_BEFORE, value, v[DIFF_BEFORE][value], &a) ||
	       !range_of(d, of, DIFF_AFTER, value, v[DIFF_AFTER][value], &b) ||
	       (a.low <= b.high && b.low <= a.high);
}

bool diff_may_be_same(const struct diff *d, enum profile_value value)
{
	return may_be_same(d, d->estimates, value, d->total);
}

bool diff_group_may_be_same(const struct diff *d, const struct diff_group *g,
			    enum profile_value value)
{
	return may_be_same(d, g->estimates, value, g->v);
}

static enum diff_change change_of(const struct diff *d, const struct diff_group *g)
{
	const struct diff_options *o = &d->options;
	const uint64_t before = g->v[DIFF_BEFORE][o->value], after = g->v[DIFF_AFTER][o->value];
	const uint64_t by = diff_distance(g, o->value);

	if (!by || by < o->least)
		return DIFF_SAME;
	if (diff_group_may_be_same(d, g, o->value))
		return DIFF_UNCLEAR;
	if (!before)
		return DIFF_ADDED;
	if (!after)
		return DIFF_REMOVED;
	if ((double)by * 100 < o->least_percent * (double)before)
		return DIFF_SAME;
	return after > before ? DIFF_GROWN : DIFF_SHRUNK;
}

static int by_change(const void *a, const void *b, void *diff)
{
	const struct diff_group *x = a, *y = b;
	const enum profile_value value = ((const struct diff *)diff)->options.value;
	uint64_t dx = diff_distance(x, value), dy = diff_distance(y, value);

	if (x->change != y->change && (x->change > DIFF_REMOVED || y->change > DIFF_REMOVED))
		return x->change > y->change ? 1 : -1;
	if (dx != dy)
		return dx > dy ? -1 : 1;
	dx = x->v[DIFF_AFTER][value] + x->v[DIFF_BEFORE][value];
	dy = y->v[DIFF_AFTER][value] + y->v[DIFF_BEFORE][value];
	if (dx != dy)
		return dx > dy ? -1 : 1;
	return strcmp(x->line[x->lines - 1]->function, y->line[y->lines - 1]->function);
}

static size_t deepest(const struct diff *d)
{
	size_t i, most = 1;

	for (i = 0; i < d->sites; i++)
		most = d->site[i].count > most ? d->site[i].count : most;
	return most;
}

static void make_groups(struct diff *d)
{
	uint32_t *work = must_calloc(deepest(d), sizeof(*work)), key;
	struct interner keys = { .text = NULL };
	size_t i;

	d->group = must_calloc(d->sites + 1, sizeof(*d->group));
	for (i = 0; i < d->sites; i++) {
		key = group_key(d, &keys, &d->site[i], work);
		add_to_group(d, &d->group[key - 1], &d->site[i]);
	}
	d->groups = keys.count;
	interner_release(&keys);
	free(work);
}

static void same_names(struct diff *d)
{
	size_t i;

	d->renamed = must_calloc(d->names.count + 1, sizeof(*d->renamed));
	for (i = 0; i < d->names.count; i++)
		d->renamed[i] = (uint32_t)i + 1;
}

void diff_finish(struct diff *d)
{
	size_t i;

	same_names(d);
	if (!d->options.no_renames)
		diff_find_renames(d);
	if (d->options.by == DIFF_BY_LINE)
		diff_find_lines(d);
	make_groups(d);
	for (i = 0; i < d->groups; i++) {
		d->group[i].change = change_of(d, &d->group[i]);
		d->changed[d->group[i].change]++;
	}
	qsort_r(d->group, d->groups, sizeof(*d->group), by_change, d);
}

void diff_release(struct diff *d)
{
	interner_release(&d->names);
	interner_release(&d->stable);
	free(d->on);
	free(d->example);
	free(d->renamed);
	free(d->site);
	free(d->id);
	free(d->line);
	free(d->group);
	free(d->rename);
	free(d->place);
	*d = (struct diff){ .groups = 0 };
}

/* ---- from profiles ---- */

/* Returns the program that the run started; NULL if no fact names it. */
static const char *program_of(const struct profile *p)
{
	const struct tree_process *first = p->tree.processes ? &p->tree.process[0] : NULL;

	return first && first->images ? basename(first->image[0]->exe) : NULL;
}

static bool same_build(const struct stack_object *a, const struct stack_object *b)
{
	return a->build_id && b->build_id && a->build_id_bytes == b->build_id_bytes &&
	       !memcmp(a->build_id, b->build_id, a->build_id_bytes);
}

static void find_stable(struct diff *d, const struct stacks *a, const struct stacks *b)
{
	size_t i, k;

	for (i = 1; a && b && i < a->objects; i++)
		for (k = 1; k < b->objects; k++)
			if (same_build(&a->object[i], &b->object[k])) {
				diff_stable(d, basename(a->object[i].path));
				diff_stable(d, basename(b->object[k].path));
				break;
			}
}

static void add_profile(struct diff *d, enum diff_side side, struct profile *p)
{
	struct calltree_path path = { .line = NULL };
	const bool estimated = p->sites.totals.estimated;
	uint64_t v[VALUE_COUNT];
	size_t i, k, start;

	for (i = 0; i < p->count; i++) {
		calltree_path_of(&path, p, i);
		for (k = 0; k < VALUE_COUNT; k++)
			v[k] = diff_has(d, (enum profile_value)k)
				   ? profile_value(p, i, (enum profile_value)k)
				   : 0;
		start = paths_start_lines(path.line, path.count);
		diff_add(d, side, path.line + start, path.count - start, v,
			 estimated ? &p->site[i].v : NULL);
	}
	free(path.line);
}

void diff_make(struct diff *d, struct profile *before, struct profile *after,
	       const struct diff_options *o)
{
	diff_init(d, o);
	d->options.program[DIFF_BEFORE] = program_of(before);
	d->options.program[DIFF_AFTER] = program_of(after);
	d->totals = before->sites.totals.read || after->sites.totals.read;
	d->sampled[DIFF_BEFORE] = before->sites.totals.estimated;
	d->sampled[DIFF_AFTER] = after->sites.totals.estimated;
	find_stable(d, before->stacks, after->stacks);
	add_profile(d, DIFF_BEFORE, before);
	add_profile(d, DIFF_AFTER, after);
	diff_finish(d);
}
