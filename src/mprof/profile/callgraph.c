// SPDX-License-Identifier: LGPL-3.0-or-later
/* callgraph.c - stacks merged into a graph. */
#include "callgraph.h"

#include <stdlib.h>

#include "../util/alloc.h"

/* ---- nodes and edges ---- */

/* Ids are assigned in order, so a new one is the next node. */
static uint32_t node_of(struct callgraph *g, const struct sym_line *line, uint32_t function,
			uint32_t level, uint32_t frame)
{
	uint32_t place[2] = { line_interner_id(&g->lines, line), level }, id;

	id = interner_id(&g->places, place, sizeof(place));
	if (id <= g->nodes)
		return id - 1;
	GROW(g->node, g->nodes + 1, g->node_room);
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

	if (id <= g->edges)
		return &g->edge[id - 1];
	GROW(g->edge, g->edges + 1, g->edge_room);
	g->edge[g->edges] = (struct callgraph_edge){ .from = from, .to = to };
	return &g->edge[g->edges++];
}

/* ---- one stack ---- */

static void step_back(struct callgraph *g, size_t to)
{
	const struct callgraph_step *last;

	while (g->on_trail > to) {
		last = &g->trail[--g->on_trail];
		g->at[last->function - 1] = last->before;
	}
}

/* Returns the level of the function on the trail; cuts out a loop. */
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

static void step(struct callgraph *g, const struct sym_line *line, uint32_t frame)
{
	uint32_t function = line_interner_id(&g->functions, line), level, node, firsts;

	GROW_ZEROED(g->at, g->functions.keys.count, g->at_room);
	level = level_of(g, function);
	node = node_of(g, line, function, level, frame);
	firsts = g->on_trail ? g->trail[g->on_trail - 1].firsts : 0;
	g->trail[g->on_trail++] = (struct callgraph_step){
		.node = node,
		.function = function,
		.level = level,
		.before = g->at[function - 1],
		.firsts = firsts + (level == 1),
	};
	g->at[function - 1] = (uint32_t)g->on_trail;
}

static void follow(struct callgraph *g, const struct sym_line *const *line, size_t n,
		   const uint32_t *frame, size_t frames)
{
	size_t k;

	GROW(g->trail, n, g->trail_room);
	step_back(g, 0);
	for (k = 0; k < n; k++)
		step(g, line[k], k + frames < n ? 0 : frame[k + frames - n]);
}

static void add(uint64_t *to, const uint64_t *v, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		to[i] += v[i];
}

static void count(struct callgraph *g, const uint64_t *v)
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
		if (edge->seen != g->stacks)
			add(edge->v, v, n);
		edge->seen = g->stacks;
	}
	if (node)
		add(node->own, v, n);
	add(g->total, v, n);
}

void callgraph_init(struct callgraph *g, const struct callgraph_options *o)
{
	*g = (struct callgraph){
		.options = *o,
		.lines.same = o->same,
		.functions.same = LINE_FUNCTION,
	};
}

void callgraph_add(struct callgraph *g, const struct sym_line *const *line, size_t n,
		   const uint32_t *frame, size_t frames, const uint64_t *v)
{
	g->stacks++;
	follow(g, line, n, frame, frames);
	count(g, v);
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

static void add_site(struct callgraph *g, struct profile *p, size_t i, struct calltree_path *path,
		     const uint64_t *v)
{
	const struct profile_path *known = profile_path(p, p->site[i].key);

	calltree_path_of(path, p, i);
	callgraph_add(g, path->line, path->count, known->frame, known->count, v);
}

void callgraph_make(struct callgraph *g, struct profile *p, const struct callgraph_options *o,
		    callgraph_figure *figure, const void *context)
{
	struct calltree_path path = { .line = NULL };
	uint64_t v[CALLGRAPH_FIGURES];
	size_t i;

	callgraph_init(g, o);
	for (i = 0; i < p->count; i++) {
		figure(context, p, i, v);
		add_site(g, p, i, &path, v);
	}
	free(path.line);
}
