// SPDX-License-Identifier: LGPL-3.0-or-later
/* html_tree.c - see html_tree.h. */
#include "html_tree.h"

#include <stdlib.h>
#include <string.h>

#include "../profile/paths.h"
#include "../util/alloc.h"
#include "../util/bits.h"
#include "../util/order.h"
#include "../util/rank.h"

void html_map_release(struct html_map *map)
{
	free(map->node_of);
	map->node_of = NULL;
}

/* ---- sites ---- */

static void make_room(struct html_tree *t)
{
	const struct sites *all = &t->profile->sites;

	t->room = all->count;
	t->stack = must_malloc(t->room * sizeof(*t->stack));
	for (size_t k = 0; k < HTML_FIGURES; k++)
		t->figure[k] = must_malloc(t->room * sizeof(*t->figure[k]));
	if (all->totals.estimated)
		t->error = must_malloc(t->room * sizeof(*t->error));
}

void html_tree_take(void *html_tree, const struct site *site)
{
	const struct site_values *v = &site->v;
	struct html_tree *t = html_tree;
	uint64_t **extreme = t->figure + VALUE_COUNT;
	size_t i;

	if (!t->room)
		make_room(t);
	i = t->sites++;
	t->stack[i] = site->key;
	for (size_t k = 0; k < VALUE_COUNT; k++)
		t->figure[k][i] = profile_site_value(v, (enum profile_value)k);
	extreme[HTML_FREED][i] = v->freed_calls;
	extreme[HTML_SIZE_MIN][i] = v->calls ? v->size_min + 1 : 0;
	extreme[HTML_SIZE_MAX][i] = v->calls ? v->size_max + 1 : 0;
	extreme[HTML_LIFE_MIN][i] = v->freed_calls ? v->lifetime_min_ns + 1 : 0;
	extreme[HTML_LIFE_MAX][i] = v->freed_calls ? v->lifetime_max_ns + 1 : 0;
	if (t->error)
		t->error[i] = v->error;
}

/* ---- the tree ---- */

/* Returns the node of a stack. */
static uint32_t node_of_stack(struct html_tree *t, uint32_t stack)
{
	static const struct calltree_options o = { .same = LINE_LINE };
	struct calltree_path *path = &t->path;
	size_t skip;

	if (!t->node_at) {
		calltree_init(&t->tree, &o);
		t->node_at = must_calloc(t->profile->stacks->nodes + 1, sizeof(*t->node_at));
	}
	if (t->node_at[stack])
		return t->node_at[stack] - 1;
	calltree_path_of_stack(path, t->profile, stack);
	skip = paths_start_lines(path->line, path->count);
	t->node_at[stack] =
	    1 + calltree_add(&t->tree, path->line + skip, path->count - skip, false, false, NULL);
	return t->node_at[stack] - 1;
}

uint32_t html_same_stack(void *html_tree, uint32_t stack)
{
	struct html_tree *t = html_tree;
	const uint32_t node = node_of_stack(t, stack);

	GROW_ZEROED(t->first, node + 1, t->first_room);
	if (!t->first[node])
		t->first[node] = stack + 1;
	return t->first[node] - 1;
}

void html_tree_make(struct html_tree *t)
{
	struct ranked *r = must_malloc((t->sites + 1) * sizeof(*r));

	free(t->first);
	t->first = NULL;
	/* Stacks that follow each other share most callers. */
	for (size_t i = 0; i < t->sites; i++)
		r[i] = (struct ranked){ t->stack[i], i };
	rank(r, t->sites);
	t->node_of = must_malloc((t->sites + 1) * sizeof(*t->node_of));
	if (!t->sites)
		node_of_stack(t, 0);
	for (size_t i = 0; i < t->sites; i++)
		t->node_of[r[i].item] = node_of_stack(t, t->stack[r[i].item]);
	free(r);
	calltree_full(&t->tree);
}

/* ---- which nodes are shown ---- */

#define LEVELS 26u /* the last one: less than 1 / 2^24 of every total */

/* While nodes are chosen. */
struct choice {
	struct html_tree *of;
	uint8_t *level;	     /* by node: 1 + the least n for which a figure exceeds 1 / 2^n of its
			      * total, at most LEVELS; 0: no site has it */
	uint64_t *inclusive; /* by node: the figure at hand */
	uint32_t *child;     /* all that have siblings, those of a node together */
	struct run *run, *tied;
	size_t children, runs, ties;
};

/* Siblings whose order is unknown. */
struct run {
	uint32_t first, count; /* in `child` */
};

static void mark_used(struct choice *c)
{
	const struct calltree_node *n = c->of->tree.node;
	uint32_t node;

	c->level[0] = 1;
	for (size_t i = 0; i < c->of->sites; i++)
		for (node = c->of->node_of[i]; !c->level[node]; node = n[node].parent)
			c->level[node] = LEVELS;
}

static void add_up(struct choice *c, const uint64_t *figure)
{
	const struct html_tree *t = c->of;

	memset(c->inclusive, 0, t->tree.nodes * sizeof(*c->inclusive));
	for (size_t i = 0; i < t->sites; i++)
		c->inclusive[t->node_of[i]] += figure[i];
	/* Callers have lower numbers. */
	for (size_t i = t->tree.nodes; --i;)
		c->inclusive[t->tree.node[i].parent] += c->inclusive[i];
}

/* Returns the least n for which part > all / 2^n. */
static unsigned exponent(uint64_t part, uint64_t all)
{
	const unsigned n = bits_of(all) > bits_of(part) ? bits_of(all) - bits_of(part) : 0;

	return n + (part <= all >> n);
}

static void find_levels(struct choice *c)
{
	const uint64_t all = c->inclusive[0];

	for (size_t i = 1; i < c->of->tree.nodes; i++) {
		const unsigned level =
		    c->inclusive[i] ? 1 + exponent(c->inclusive[i], all) : LEVELS;

		if (level < c->level[i])
			c->level[i] = (uint8_t)level;
	}
}

/* ---- order ---- */

static void list_children(struct choice *c)
{
	const struct calltree *t = &c->of->tree;

	c->child = must_malloc((t->nodes + 1) * sizeof(*c->child));
	c->run = must_malloc((t->nodes / 2 + 1) * sizeof(*c->run));
	c->tied = must_malloc((t->nodes / 2 + 1) * sizeof(*c->tied));
	for (size_t i = 0; i < t->nodes; i++) {
		const uint32_t first = (uint32_t)c->children;

		for (uint32_t n = t->node[i].child; n; n = t->node[n].sibling)
			if (c->level[n])
				c->child[c->children++] = n;
		if (c->children - first < 2)
			c->children = first;
		else
			c->run[c->runs++] = (struct run){ first, (uint32_t)c->children - first };
	}
}

static int by_figure(const void *first, const void *second, void *inclusive)
{
	const uint64_t *of = inclusive;
	const uint32_t x = *(const uint32_t *)first, y = *(const uint32_t *)second;

	return COMPARE(of[y], of[x]);
}

/* Sorts siblings by the figure at hand; what remains are those that have the same. */
static void sort_runs(struct choice *c)
{
	const uint64_t *of = c->inclusive;
	struct run *swap = c->run;

	c->ties = 0;
	for (size_t i = 0; i < c->runs; i++) {
		uint32_t *child = c->child + c->run[i].first;
		const uint32_t n = c->run[i].count;

		SORT_IN(child, n, by_figure, of);
		for (uint32_t k = 0, end; k < n; k = end) {
			for (end = k + 1; end < n && of[child[end]] == of[child[k]];)
				end++;
			if (end - k > 1)
				c->tied[c->ties++] = (struct run){ c->run[i].first + k, end - k };
		}
	}
	c->run = c->tied;
	c->runs = c->ties;
	c->tied = swap;
}

static int by_line(const void *first, const void *second, void *calltree)
{
	const struct calltree *t = calltree;
	const uint32_t x = *(const uint32_t *)first, y = *(const uint32_t *)second;
	const struct sym_line *a = t->node[x].line, *b = t->node[y].line;
	const int names = strcmp(a->function, b->function);

	return names ? names : COMPARE(a->line, b->line) ?: COMPARE(x, y);
}

static void link_children(struct choice *c)
{
	struct calltree *t = &c->of->tree;
	uint32_t *link;
	size_t at = 0;

	for (size_t i = 0; i < t->nodes; i++) {
		uint32_t used = 0, only = 0;

		for (uint32_t n = t->node[i].child; n; n = t->node[n].sibling)
			if (c->level[n] && !used++)
				only = n;
		link = &t->node[i].child;
		for (uint32_t k = 0; k < used; k++) {
			*link = used > 1 ? c->child[at++] : only;
			link = &t->node[*link].sibling;
		}
		*link = 0;
	}
}

/* Sorts siblings, the heaviest at the peak first, and finds the level of each node. */
static void sort_tree(struct choice *c)
{
	struct html_tree *t = c->of;

	mark_used(c);
	list_children(c);
	c->inclusive = must_malloc(t->tree.nodes * sizeof(*c->inclusive));
	for (size_t k = 0; k < VALUE_COUNT; k++) {
		const size_t value = !k ? VALUE_PEAK : k <= VALUE_PEAK ? k - 1 : k;

		add_up(c, t->figure[value]);
		find_levels(c);
		sort_runs(c);
	}
	for (size_t i = 0; i < c->runs; i++)
		SORT_IN(c->child + c->run[i].first, c->run[i].count, by_line, &t->tree);
	link_children(c);
	free(c->inclusive);
	free(c->child);
	free(c->run);
	free(c->tied);
}

/* Returns the greatest level with which at most `most` nodes are shown, and sets their number. */
static unsigned choose_level(const struct choice *c, size_t most, size_t *nodes)
{
	size_t count[LEVELS + 1] = { 0 }, shown = 0, all;
	unsigned level = 0;

	for (size_t i = 0; i < c->of->tree.nodes; i++)
		count[c->level[i]]++;
	all = c->of->tree.nodes - count[0];
	for (unsigned n = 1; n <= LEVELS && (n == 1 || shown + count[n] <= most); n++)
		shown += count[level = n];
	*nodes = shown;
	c->of->merged = all - shown;
	return level;
}

/* Lists the nodes of the page in preorder, with their numbers. */
static void number_nodes(struct html_tree *t, const struct choice *c, unsigned level,
			 uint32_t *number)
{
	const struct calltree_node *n = t->tree.node;
	uint32_t node = 0;
	size_t count = 0;

	for (;;) {
		if (c->level[node] <= level) {
			number[node] = (uint32_t)count;
			t->order[count++] = node;
			if (n[node].child) {
				node = n[node].child;
				continue;
			}
		}
		while (node && !n[node].sibling)
			node = n[node].parent;
		if (!node)
			break;
		node = n[node].sibling;
	}
	for (size_t i = 1; i < t->tree.nodes; i++)
		if (c->level[i] > level)
			number[i] = number[n[i].parent];
}

void html_tree_order(struct html_tree *t, size_t most, struct html_map *map)
{
	struct choice c = { .of = t, .level = must_calloc(t->tree.nodes, 1) };
	uint32_t *number = must_malloc(t->tree.nodes * sizeof(*number));
	unsigned level;

	sort_tree(&c);
	level = choose_level(&c, most, &t->nodes);
	t->order = must_malloc(t->nodes * sizeof(*t->order));
	number_nodes(t, &c, level, number);
	map->nodes = t->nodes;
	map->stacks = t->profile->stacks->nodes + 1;
	map->node_of = t->node_at;
	t->node_at = NULL;
	memset(map->node_of, 0xff, map->stacks * sizeof(*map->node_of)); /* HTML_NO_NODE */
	for (size_t i = 0; i < t->sites; i++) {
		t->node_of[i] = number[t->node_of[i]];
		map->node_of[t->stack[i]] = t->node_of[i];
	}
	free(number);
	free(c.level);
}

void html_tree_release(struct html_tree *t)
{
	if (t->tree.nodes)
		calltree_release(&t->tree);
	for (size_t k = 0; k < HTML_FIGURES; k++)
		free(t->figure[k]);
	free(t->stack);
	free(t->error);
	free(t->node_at);
	free(t->first);
	free(t->path.line);
	free(t->node_of);
	free(t->order);
	*t = (struct html_tree){ .profile = NULL };
}
