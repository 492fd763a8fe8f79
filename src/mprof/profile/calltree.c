// SPDX-License-Identifier: LGPL-3.0-or-later
/* calltree.c - stacks merged into a tree. */
#include "calltree.h"

#include <stdlib.h>
#include <string.h>

#include "paths.h"
#include "../util/alloc.h"
#include "../util/memory.h"
#include "../util/order.h"

#define SLOTS_FIRST 64u

const struct sym_line calltree_no_stack = {
	.function = "(stack not known)",
	.raw = "",
	.file = "",
	.module = "?",
};
const struct sym_line calltree_cut = {
	.function = "(outer callers unknown)",
	.raw = "",
	.file = "",
	.module = "?",
};

/* ---- nodes ---- */

static uint32_t new_node(struct calltree *t, uint32_t parent, uint32_t key)
{
	const size_t each = 2 * t->options.values;
	uint32_t i = (uint32_t)t->nodes;

	if (t->nodes == UINT32_MAX)
		memory_out();
	if (t->nodes == t->room) {
		t->room = grow_room(t->nodes + 1, t->room);
		t->node = must_reallocarray(t->node, t->room, sizeof(*t->node));
		if (each)
			t->figure =
			    must_reallocarray(t->figure, t->room, each * sizeof(*t->figure));
	}
	t->node[i] = (struct calltree_node){
		.line = key ? line_interner_line(&t->lines, key) : NULL,
		.parent = parent,
		.key = key,
	};
	if (each)
		memset(t->figure + i * each, 0, each * sizeof(*t->figure));
	t->nodes++;
	if (i) {
		t->node[i].sibling = t->node[parent].child;
		t->node[parent].child = i;
	}
	return i;
}

/* Returns the slot of a node, or the empty one where it belongs: a quarter of struct hash, because
 * the nodes have the keys. */
static uint32_t *slot_of(const struct calltree *t, uint32_t parent, uint32_t key)
{
	const uint64_t hash = ((uint64_t)parent << 32 | key) * 0x9e3779b97f4a7c15ull;
	size_t i = (hash ^ hash >> 32) & (t->slots - 1);
	const struct calltree_node *n = t->node;

	while (t->slot[i] && (n[t->slot[i]].parent != parent || n[t->slot[i]].key != key))
		i = (i + 1) & (t->slots - 1);
	return &t->slot[i];
}

static void more_slots(struct calltree *t)
{
	free(t->slot);
	t->slots = t->slots ? 2 * t->slots : SLOTS_FIRST;
	t->slot = must_calloc(t->slots, sizeof(*t->slot));
	for (uint32_t i = 1; i < t->nodes; i++)
		*slot_of(t, t->node[i].parent, t->node[i].key) = i;
}

static uint32_t child_of(struct calltree *t, uint32_t parent, uint32_t key)
{
	uint32_t *child;

	if (t->nodes * 2 >= t->slots)
		more_slots(t);
	child = slot_of(t, parent, key);
	if (!*child)
		*child = new_node(t, parent, key);
	return *child;
}

void calltree_init(struct calltree *t, const struct calltree_options *o)
{
	*t = (struct calltree){ .options = *o, .lines.same = o->same };
	new_node(t, 0, 0);
}

static void add_values(struct calltree *t, uint32_t node, bool exclusive, const uint64_t *value)
{
	const size_t at = ((size_t)node * 2 + exclusive) * t->options.values;
	size_t i;

	for (i = 0; i < t->options.values; i++)
		t->figure[at + i] += value[i];
}

/* Puts the node of line i of a path whose earlier lines are those of the latest path. */
static uint32_t put_line(struct calltree *t, size_t i, const struct sym_line *line)
{
	const uint32_t parent = i ? t->latest_node[i - 1] : 0;
	const uint32_t key = line_interner_id(&t->lines, line);

	GROW(t->latest, i + 1, t->latest_room);
	GROW(t->latest_node, i + 1, t->latest_node_room);
	t->latest[i] = line;
	t->latest_node[i] =
	    parent && t->node[parent].key == key ? parent : child_of(t, parent, key);
	return t->latest_node[i];
}

uint32_t calltree_add(struct calltree *t, const struct sym_line *const *line, size_t n,
		      bool backward, bool own, const uint64_t *value)
{
	uint32_t node = 0;
	size_t i;

	for (i = 0; i < n && i < t->latest_lines; i++)
		if (t->latest[i] != line[backward ? n - 1 - i : i])
			break;
	node = i ? t->latest_node[i - 1] : 0;
	for (; i < n; i++)
		node = put_line(t, i, line[backward ? n - 1 - i : i]);
	t->latest_lines = n;
	add_values(t, node, false, value);
	t->node[node].sites++;
	/* Read backward, the innermost line comes first. */
	if (backward && n)
		node = t->latest_node[0];
	if (own)
		add_values(t, node, true, value);
	return node;
}

/* ---- order ---- */

static int by_value(const void *a, const void *b, void *tree)
{
	const struct calltree *t = tree;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	size_t i;
	int names;

	for (i = 0; i < t->options.values; i++)
		if (calltree_inclusive(t, x, i) != calltree_inclusive(t, y, i))
			return calltree_inclusive(t, x, i) > calltree_inclusive(t, y, i) ? -1 : 1;
	names = strcmp(t->node[x].line->function, t->node[y].line->function);
	return names ? names : (x > y) - (x < y);
}

static void sort_children(struct calltree *t, uint32_t parent, uint32_t *work)
{
	uint32_t c, *link = &t->node[parent].child;
	size_t n = 0, i;

	for (c = *link; c; c = t->node[c].sibling)
		work[n++] = c;
	if (n < 2)
		return;
	SORT_IN(work, n, by_value, t);
	for (i = 0; i < n; i++) {
		*link = work[i];
		link = &t->node[work[i]].sibling;
	}
	*link = 0;
}

void calltree_full(struct calltree *t)
{
	free(t->slot);
	t->slot = NULL;
	t->slots = 0;
}

void calltree_finish(struct calltree *t)
{
	uint32_t *work = must_calloc(t->nodes, sizeof(*work)), i;

	calltree_full(t);
	/* Callers have lower numbers. */
	for (i = t->nodes; --i;) {
		add_values(t, t->node[i].parent, false,
			   t->figure + (size_t)i * 2 * t->options.values);
		t->node[t->node[i].parent].sites += t->node[i].sites;
	}
	for (i = 0; i < t->nodes; i++)
		sort_children(t, i, work);
	free(work);
}

void calltree_release(struct calltree *t)
{
	line_interner_release(&t->lines);
	free(t->node);
	free(t->figure);
	free(t->slot);
	free(t->latest);
	free(t->latest_node);
	*t = (struct calltree){ .node = NULL };
}

/* ---- from a profile ---- */

void calltree_path_of_stack(struct calltree_path *to, struct profile *p, uint32_t stack)
{
	const struct profile_path *path = profile_path_once(p, stack);
	size_t k = 0;

	GROW(to->line, path->all + 2, to->room);
	if (path->truncated)
		to->line[k++] = &calltree_cut;
	if (path->all)
		memcpy(to->line + k, path->line, path->all * sizeof(*path->line));
	else
		to->line[k++] = &calltree_no_stack;
	to->count = k + path->count;
	to->asked = k + path->asked;
	to->inner = k + path->inner;
	to->all = k + path->all;
}

void calltree_path_of(struct calltree_path *to, struct profile *p, size_t i)
{
	calltree_path_of_stack(to, p, p->site[i].key);
}

/* Returns the first line of the function on the path, including folded ones; path->all if there
 * is none. */
static size_t find_function(const struct calltree_path *path, const char *function)
{
	size_t i;

	for (i = 0; i < path->all; i++)
		if (paths_is_function(function, path->line[i]))
			break;
	return i;
}

static void add_site(struct calltree *t, const struct calltree_path *path,
		     enum calltree_direction direction, const char *function, const uint64_t *value)
{
	size_t at = function ? find_function(path, function) : 0;
	size_t start = paths_start_lines(path->line, path->count);
	/* Folded lines are shown if one of them is requested. */
	const size_t end = at < path->count   ? path->count
			   : at < path->inner ? path->inner
					      : path->all;
	bool own;

	if (function && at == path->all)
		return;
	start = function && at < start ? at : start;
	switch (direction) {
	case CALLTREE_TOP_DOWN:
	case CALLTREE_BOTTOM_UP:
		calltree_add(t, path->line + start, path->count - start,
			     direction == CALLTREE_BOTTOM_UP, true, value);
		break;
	case CALLTREE_CALLERS:
		own = paths_is_function(function, path->line[end - 1]);
		calltree_add(t, path->line + start, at + 1 - start, true, own, value);
		break;
	case CALLTREE_CALLEES:
		calltree_add(t, path->line + at, end - at, false, true, value);
		break;
	}
}

void calltree_make(struct calltree *t, struct profile *p, const struct calltree_options *o,
		   enum calltree_direction direction, const char *function)
{
	struct calltree_path path = { .line = NULL };
	uint64_t value[VALUE_COUNT];
	size_t i, k;

	calltree_init(t, o);
	if (direction == CALLTREE_TOP_DOWN || direction == CALLTREE_BOTTOM_UP)
		function = NULL;
	for (i = 0; i < p->count; i++) {
		for (k = 0; k < o->values; k++)
			value[k] = profile_value(p, i, o->value[k]);
		calltree_path_of(&path, p, i);
		add_site(t, &path, direction, function, value);
	}
	free(path.line);
	calltree_finish(t);
}
