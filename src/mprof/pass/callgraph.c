// SPDX-License-Identifier: LGPL-3.0-or-later
/* callgraph.c - stacks merged into a graph. */
#include "callgraph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* What the stack at hand is turned into. */
struct trail {
	struct calltree_path path;
	uint32_t *node; /* indexes, outermost first */
	size_t count, room;
	uint32_t *at; /* by function id - 1: where on the trail it was last put; may be stale */
	size_t at_room;
};

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
static uint32_t node_of(struct callgraph *g, const struct sym_line *line, uint32_t frame)
{
	uint32_t id = line_keys_id(&g->lines, line), function;

	if (!id || id <= g->nodes)
		return id ? id - 1 : NONE;
	function = line_keys_id(&g->functions, line);
	if (!function || !more_nodes(g))
		return NONE;
	g->node[g->nodes++] = (struct callgraph_node){
		.line = line,
		.function = function,
		.frame = frame,
	};
	return id - 1;
}

static struct callgraph_edge *edge_of(struct callgraph *g, uint32_t from, uint32_t to)
{
	uint32_t pair[2] = { from, to }, id = keys_id(&g->pairs, pair, sizeof(pair));
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

static bool more_trail(struct trail *t, size_t functions)
{
	uint32_t *grown;

	if (t->path.count > t->room) {
		grown = reallocarray(t->node, t->path.room, sizeof(*grown));
		if (!grown)
			return false;
		t->node = grown;
		t->room = t->path.room;
	}
	if (functions > t->at_room) {
		grown = reallocarray(t->at, functions * 2, sizeof(*grown));
		if (!grown)
			return false;
		memset(grown + t->at_room, 0, (functions * 2 - t->at_room) * sizeof(*grown));
		t->at = grown;
		t->at_room = functions * 2;
	}
	return true;
}

/* Back to where the function was on the trail already, so that it stands there once. */
static void cut_loop(const struct callgraph *g, struct trail *t, uint32_t node)
{
	uint32_t function = g->node[node].function, at = t->at[function - 1];

	if (at < t->count && g->node[t->node[at]].function == function)
		t->count = at;
	t->at[function - 1] = (uint32_t)t->count;
}

static bool follow(struct callgraph *g, struct trail *t, struct profile *p, size_t i)
{
	const struct profile_path *path;
	uint32_t node;
	size_t extra, k;

	if (!calltree_path_of(&t->path, p, i))
		return false;
	path = profile_path(p, p->site[i].key);
	if (!path)
		return false;
	/* Lines that stand for what is not known have no frame. */
	extra = t->path.count - path->count;
	t->count = 0;
	for (k = 0; k < t->path.count; k++) {
		node = node_of(g, t->path.line[k], k < extra ? 0 : path->frame[k - extra]);
		if (node == NONE || !more_trail(t, g->functions.keys.count))
			return false;
		if (g->options.simple)
			cut_loop(g, t, node);
		t->node[t->count++] = node;
	}
	return true;
}

static void add(uint64_t *to, const uint64_t *v, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		to[i] += v[i];
}

static bool count(struct callgraph *g, const struct trail *t, size_t site, const uint64_t *v)
{
	size_t n = g->options.figures, k;
	struct callgraph_node *node = NULL;
	struct callgraph_edge *edge;

	for (k = 0; k < t->count; k++) {
		node = &g->node[t->node[k]];
		if (node->seen != site + 1)
			add(node->all, v, n);
		node->seen = site + 1;
		if (!k)
			continue;
		edge = edge_of(g, t->node[k - 1], t->node[k]);
		if (!edge)
			return false;
		if (edge->seen != site + 1)
			add(edge->v, v, n);
		edge->seen = site + 1;
	}
	if (node)
		add(node->own, v, n);
	add(g->total, v, n);
	return true;
}

int callgraph_make(struct callgraph *g, struct profile *p, const struct callgraph_options *o,
		   struct error *err)
{
	struct trail t = { .count = 0 };
	uint64_t v[CALLGRAPH_FIGURES];
	bool good = true;
	size_t i;

	*g = (struct callgraph){ .options = *o,
				 .lines.same = o->same,
				 .functions.same = LINE_FUNCTION };
	for (i = 0; i < p->count && good; i++) {
		o->figure(o->context, p, i, v);
		good = follow(g, &t, p, i) && count(g, &t, i, v);
	}
	free(t.path.line);
	free(t.node);
	free(t.at);
	return good ? 0 : fail(err, -ENOMEM, "no memory for the call graph of '%s'", p->path);
}

void callgraph_release(struct callgraph *g)
{
	line_keys_release(&g->lines);
	line_keys_release(&g->functions);
	keys_release(&g->pairs);
	free(g->node);
	free(g->edge);
	*g = (struct callgraph){ .node = NULL };
}
