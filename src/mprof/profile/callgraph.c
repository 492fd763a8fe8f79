// SPDX-License-Identifier: LGPL-3.0-or-later
/* callgraph.c - stacks merged into a graph. */
#include "callgraph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* ---- nodes and edges ---- */

static bool more_nodes(struct callgraph *g)
{
	size_t room = g->node_room ? 2 * g->node_room : 64;
	struct callgraph_node *grown;

	if (g->nodes < g->node_room)
		return true;
	grown = reallocarray(g->node, room, sizeof(*grown));
	if (!grown)
		return false;
	g->node = grown;
	g->node_room = room;
	return true;
}

/* Ids are given in order, so a new one is the next node. */
static uint32_t node_of(struct callgraph *g, const struct sym_line *line, uint32_t function,
			uint32_t level, uint32_t frame)
{
	uint32_t place[2] = { line_interner_id(&g->lines, line), level }, id;

	id = place[0] ? interner_id(&g->places, place, sizeof(place)) : 0;
	if (!id || id <= g->nodes)
		return id ? id - 1 : NONE;
	if (!more_nodes(g))
		return NONE;
	g->node[g->nodes++] = (struct callgraph_node){
		.line = line,
		.function = function,
		.level = level,
		.frame = frame,
	};
	return id - 1;
}

static struct callgraph_edge *edge_of(struct callgraph *g, uint32_t from, uint32_t to)
{
	uint32_t pair[2] = { from, to }, id = interner_id(&g->pairs, pair, sizeof(pair));
	size_t room = g->edge_room ? 2 * g->edge_room : 64;
	struct callgraph_edge *grown;

	if (!id || id <= g->edges)
		return id ? &g->edge[id - 1] : NULL;
	if (g->edges == g->edge_room) {
		grown = reallocarray(g->edge, room, sizeof(*grown));
		if (!grown)
			return NULL;
		g->edge = grown;
		g->edge_room = room;
	}
	g->edge[g->edges] = (struct callgraph_edge){ .from = from, .to = to };
	return &g->edge[g->edges++];
}

/* ---- one stack ---- */

static bool more_trail(struct callgraph *g, size_t n)
{
	struct callgraph_step *grown;

	if (n <= g->trail_room)
		return true;
	grown = reallocarray(g->trail, 2 * n, sizeof(*grown));
	if (!grown)
		return false;
	g->trail = grown;
	g->trail_room = 2 * n;
	return true;
}

static bool more_at(struct callgraph *g)
{
	size_t n = g->functions.keys.count;
	uint32_t *grown;

	if (n <= g->at_room)
		return true;
	grown = reallocarray(g->at, 2 * n, sizeof(*grown));
	if (!grown)
		return false;
	memset(grown + g->at_room, 0, (2 * n - g->at_room) * sizeof(*grown));
	g->at = grown;
	g->at_room = 2 * n;
	return true;
}

static void step_back(struct callgraph *g, size_t to)
{
	const struct callgraph_step *last;

	while (g->on_trail > to) {
		last = &g->trail[--g->on_trail];
		g->at[last->function - 1] = last->before;
	}
}

/* The level at which the function is to stand on the trail now; cuts out a loop. */
static uint32_t level_of(struct callgraph *g, uint32_t function)
{
	uint32_t at = g->options.simple ? g->at[function - 1] : 0, level;

	if (!at)
		return 1;
	level = g->trail[at - 1].level;
	if (level == 1 || g->trail[g->on_trail - 1].firsts > g->trail[at - 1].firsts)
		return level + 1;
	step_back(g, at - 1);
	return level;
}

static bool step(struct callgraph *g, const struct sym_line *line, uint32_t frame)
{
	uint32_t function = line_interner_id(&g->functions, line), level, node, firsts;

	if (!function || !more_at(g))
		return false;
	level = level_of(g, function);
	node = node_of(g, line, function, level, frame);
	if (node == NONE)
		return false;
	firsts = g->on_trail ? g->trail[g->on_trail - 1].firsts : 0;
	g->trail[g->on_trail++] = (struct callgraph_step){
		.node = node,
		.function = function,
		.level = level,
		.before = g->at[function - 1],
		.firsts = firsts + (level == 1),
	};
	g->at[function - 1] = (uint32_t)g->on_trail;
	return true;
}

static bool follow(struct callgraph *g, const struct sym_line *const *line, size_t n,
		   const uint32_t *frame, size_t frames)
{
	size_t k;

	if (!more_trail(g, n))
		return false;
	step_back(g, 0);
	for (k = 0; k < n; k++)
		if (!step(g, line[k], k + frames < n ? 0 : frame[k + frames - n]))
			return false;
	return true;
}

static void add(uint64_t *to, const uint64_t *v, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		to[i] += v[i];
}

static bool count(struct callgraph *g, const uint64_t *v)
{
	size_t n = g->options.figures, k;
	struct callgraph_node *node = NULL;
	struct callgraph_edge *edge;

	for (k = 0; k < g->on_trail; k++) {
		node = &g->node[g->trail[k].node];
		if (node->seen != g->stacks)
			add(node->all, v, n);
		node->seen = g->stacks;
		if (!k)
			continue;
		edge = edge_of(g, g->trail[k - 1].node, g->trail[k].node);
		if (!edge)
			return false;
		if (edge->seen != g->stacks)
			add(edge->v, v, n);
		edge->seen = g->stacks;
	}
	if (node)
		add(node->own, v, n);
	add(g->total, v, n);
	return true;
}

void callgraph_init(struct callgraph *g, const struct callgraph_options *o)
{
	*g = (struct callgraph){
		.options = *o,
		.lines.same = o->same,
		.functions.same = LINE_FUNCTION,
	};
}

int callgraph_add(struct callgraph *g, const struct sym_line *const *line, size_t n,
		  const uint32_t *frame, size_t frames, const uint64_t *v)
{
	g->stacks++;
	return follow(g, line, n, frame, frames) && count(g, v) ? 0 : -ENOMEM;
}

void callgraph_release(struct callgraph *g)
{
	line_interner_release(&g->lines);
	line_interner_release(&g->functions);
	interner_release(&g->places);
	interner_release(&g->pairs);
	free(g->node);
	free(g->edge);
	free(g->trail);
	free(g->at);
	*g = (struct callgraph){ .node = NULL };
}

/* ---- from a profile ---- */

static int add_site(struct callgraph *g, struct profile *p, size_t i, struct calltree_path *path,
		    const uint64_t *v)
{
	const struct profile_path *known = profile_path(p, p->site[i].key);

	if (!known || !calltree_path_of(path, p, i))
		return -ENOMEM;
	return callgraph_add(g, path->line, path->count, known->frame, known->count, v);
}

int callgraph_make(struct callgraph *g, struct profile *p, const struct callgraph_options *o,
		   callgraph_figure *figure, const void *context, struct error *err)
{
	struct calltree_path path = { .line = NULL };
	uint64_t v[CALLGRAPH_FIGURES];
	int ret = 0;
	size_t i;

	callgraph_init(g, o);
	for (i = 0; i < p->count && !ret; i++) {
		figure(context, p, i, v);
		ret = add_site(g, p, i, &path, v);
	}
	free(path.line);
	return ret ? fail(err, ret, "no memory for the call graph of '%s'", p->path) : 0;
}
