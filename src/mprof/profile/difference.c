// SPDX-License-Identifier: LGPL-3.0-or-later
/* difference.c - two profiles side by side. */
#include "difference.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calltree.h"
#include "difference_names.h"

/* ---- collecting ---- */

void diff_init(struct diff *d, const struct diff_options *o)
{
	*d = (struct diff){ .options = *o };
}

void diff_stable(struct diff *d, const char *module)
{
	if (!interner_id(&d->stable, module, strlen(module)))
		d->failed = true;
}

static bool more_names(struct diff *d)
{
	size_t room = d->name_room ? 2 * d->name_room : 256;
	const struct sym_line **example;
	uint8_t *on;

	on = realloc(d->on, room);
	if (on)
		d->on = on;
	example = on ? reallocarray(d->example, room, sizeof(*example)) : NULL;
	if (!example)
		return false;
	d->example = example;
	memset(on + d->name_room, 0, room - d->name_room);
	d->name_room = room;
	return true;
}

/* The number of a line's function as it is compared; 0 without memory. */
static uint32_t name_of(struct diff *d, enum diff_side side, const struct sym_line *l)
{
	char small[512], *s = small;
	size_t n = diff_spell(d, side, l, small, sizeof(small));
	uint32_t id;

	if (n >= sizeof(small)) {
		s = malloc(n + 1);
		if (!s)
			return 0;
		diff_spell(d, side, l, s, n + 1);
	}
	id = interner_id(&d->names, s, n);
	if (s != small)
		free(s);
	if (!id || (id > d->name_room && !more_names(d)))
		return 0;
	if (!(d->on[id - 1] & 1u << side))
		d->example[id - 1] = l;
	d->on[id - 1] |= (uint8_t)(1u << side);
	return id;
}

static bool more_ids(struct diff *d, size_t n)
{
	size_t room = d->id_room ? d->id_room : 1024;
	const struct sym_line **line;
	uint32_t *id;

	if (d->ids + n <= d->id_room)
		return true;
	while (room < d->ids + n)
		room *= 2;
	id = reallocarray(d->id, room, sizeof(*id));
	if (id)
		d->id = id;
	line = id ? reallocarray(d->line, room, sizeof(*line)) : NULL;
	if (!line)
		return false;
	d->line = line;
	d->id_room = room;
	return true;
}

static struct diff_site *new_site(struct diff *d)
{
	size_t room = d->site_room ? 2 * d->site_room : 256;
	struct diff_site *grown;

	if (d->sites == d->site_room) {
		grown = reallocarray(d->site, room, sizeof(*grown));
		if (!grown)
			return NULL;
		d->site = grown;
		d->site_room = room;
	}
	return &d->site[d->sites];
}

void diff_add(struct diff *d, enum diff_side side, const struct sym_line *const *line, size_t n,
	      const uint64_t v[VALUE_COUNT])
{
	struct diff_site *s = new_site(d);
	uint32_t id;
	size_t i;

	if (!s || !n || !more_ids(d, n)) {
		d->failed |= n > 0;
		return;
	}
	*s = (struct diff_site){ .first = d->ids, .side = side };
	memcpy(s->v, v, sizeof(s->v));
	for (i = 0; i < n; i++) {
		id = name_of(d, side, line[i]);
		d->failed |= !id;
		/* Of direct recursion the innermost line stays: it is who asked. */
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
}

/* ---- grouping ---- */

/* What makes a group: numbers, so that every kind of group is looked up the same way. */
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
		n = diff_spell_line(d, s->side, leaf, text, sizeof(text));
		break;
	}
	return interner_id(keys, text, n < sizeof(text) ? n : sizeof(text) - 1);
}

static void add_to_group(struct diff *d, struct diff_group *g, const struct diff_site *s)
{
	size_t i;

	/* The later side's lines are those a reader can look up. */
	if (!g->lines || (s->side == DIFF_AFTER && !g->sites[DIFF_AFTER])) {
		g->line = d->line + s->first;
		g->lines = s->count;
	}
	g->sites[s->side]++;
	for (i = 0; i < VALUE_COUNT; i++)
		g->v[s->side][i] += s->v[i];
}

static enum diff_change change_of(const struct diff_options *o, const struct diff_group *g)
{
	const uint64_t before = g->v[DIFF_BEFORE][o->value], after = g->v[DIFF_AFTER][o->value];
	const uint64_t by = diff_distance(g, o->value);

	if (!by || by < o->least)
		return DIFF_SAME;
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

	if ((x->change == DIFF_SAME) != (y->change == DIFF_SAME))
		return x->change == DIFF_SAME ? 1 : -1;
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

static bool make_groups(struct diff *d)
{
	uint32_t *work = calloc(deepest(d), sizeof(*work)), key;
	struct interner keys = { .text = NULL };
	size_t i;

	d->group = calloc(d->sites + 1, sizeof(*d->group));
	for (i = 0; i < d->sites && work && d->group; i++) {
		key = group_key(d, &keys, &d->site[i], work);
		if (!key)
			break;
		add_to_group(d, &d->group[key - 1], &d->site[i]);
	}
	d->groups = keys.count;
	d->failed |= keys.failed || !work || !d->group;
	interner_release(&keys);
	free(work);
	return !d->failed;
}

static bool same_names(struct diff *d)
{
	size_t i;

	d->renamed = calloc(d->names.count + 1, sizeof(*d->renamed));
	for (i = 0; i < d->names.count && d->renamed; i++)
		d->renamed[i] = (uint32_t)i + 1;
	return d->renamed;
}

int diff_finish(struct diff *d, struct error *err)
{
	size_t i;

	if (d->failed || !same_names(d) || (!d->options.no_renames && !diff_find_renames(d)) ||
	    !make_groups(d))
		return fail(err, -ENOMEM, "no memory to compare the two traces");
	for (i = 0; i < d->groups; i++) {
		d->group[i].change = change_of(&d->options, &d->group[i]);
		d->changed[d->group[i].change]++;
	}
	qsort_r(d->group, d->groups, sizeof(*d->group), by_change, d);
	return 0;
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
	*d = (struct diff){ .groups = 0 };
}

/* ---- from profiles ---- */

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What the run started; NULL when no fact says. */
static const char *program_of(const struct profile *p)
{
	const struct tree_process *first = p->tree.processes ? &p->tree.process[0] : NULL;

	return first && first->images ? base_of(first->image[0]->exe) : NULL;
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
				diff_stable(d, base_of(a->object[i].path));
				diff_stable(d, base_of(b->object[k].path));
				break;
			}
}

static void add_profile(struct diff *d, enum diff_side side, struct profile *p)
{
	struct calltree_path path = { .line = NULL };
	uint64_t v[VALUE_COUNT];
	size_t i, k, start;

	for (i = 0; i < p->count; i++) {
		if (!calltree_path_of(&path, p, i)) {
			d->failed = true;
			break;
		}
		for (k = 0; k < VALUE_COUNT; k++)
			v[k] = d->totals && !profile_value_of_totals((enum profile_value)k)
				   ? 0
				   : profile_value(p, i, (enum profile_value)k);
		start = calltree_start_lines(path.line, path.count);
		diff_add(d, side, path.line + start, path.count - start, v);
	}
	free(path.line);
}

int diff_make(struct diff *d, struct profile *before, struct profile *after,
	      const struct diff_options *o, struct error *err)
{
	diff_init(d, o);
	d->options.program[DIFF_BEFORE] = program_of(before);
	d->options.program[DIFF_AFTER] = program_of(after);
	d->totals = before->sites.totals.read || after->sites.totals.read;
	find_stable(d, before->stacks, after->stacks);
	add_profile(d, DIFF_BEFORE, before);
	add_profile(d, DIFF_AFTER, after);
	return diff_finish(d, err);
}
