/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * callgraph.h - stacks merged into a graph: callers, callees, and the bytes
 * requested along the way.
 *
 * A node is a line (or a function), regardless of its callers.  Its own figures are for stacks that
 * end in it, its inclusive figures also for stacks that pass through it; an edge has the figures of
 * stacks with that call.  A stack counts once in each node and edge, however often it passes.
 *
 * With `simple`, no stack passes a node twice: where a function occurs on a stack again, it is a
 * separate node of level 2, and where that would occur again, the part between is cut out, unless a
 * function occurs there for the first time; then the level is increased.  So the inclusive figures
 * of a node are the sum of its own and its outgoing edges' figures, nodes of level 1 have every
 * stack of the function, and readers that can only add handle recursive programs correctly.
 *
 * Memory is proportional to nodes and edges.  Threads: one at a time.
 */
#pragma once

#include "calltree.h"

#define CALLGRAPH_FIGURES 8u

struct callgraph_options {
	enum line_same same; /* what one node stands for */
	bool simple;
	size_t figures; /* 1 to CALLGRAPH_FIGURES */
};

struct callgraph_node {
	const struct sym_line *line;
	uint32_t function; /* id of `functions` */
	uint32_t level;	   /* from 1 */
	uint32_t frame;	   /* of stacks->frame: the first one seen; 0 if none */
	uint64_t own[CALLGRAPH_FIGURES], all[CALLGRAPH_FIGURES];
	size_t seen; /* the stack that was counted last, from 1 */
};

struct callgraph_edge {
	uint32_t from, to; /* indexes of nodes */
	uint64_t v[CALLGRAPH_FIGURES];
	size_t seen;
};

/* A call on the path from the outermost function to the allocating one. */
struct callgraph_step {
	uint32_t node, function, level;
	uint32_t before; /* value in `at` of the function before this step */
	uint32_t firsts; /* number of steps of level 1 up to this one */
};

struct callgraph {
	struct callgraph_options options;
	struct line_interner lines, functions;
	struct interner places; /* line and level, of the nodes */
	struct interner pairs;	/* of the edges */
	struct callgraph_node *node;
	struct callgraph_edge *edge;
	size_t nodes, node_room, edges, edge_room;
	uint64_t total[CALLGRAPH_FIGURES];
	size_t stacks;
	struct callgraph_step *trail; /* the current stack, outermost first */
	uint32_t *at; /* by function id - 1: its last step on the trail + 1, 0 if none */
	size_t on_trail, trail_room, at_room;
};

void callgraph_init(struct callgraph *g, const struct callgraph_options *o);
/*
 * Adds lines from the outermost inward, which must outlive g, and the frames of the last `frames`
 * lines; lines of unknown frames have no frame.
 */
void callgraph_add(struct callgraph *g, const struct sym_line *const *line, size_t n,
		   const uint32_t *frame, size_t frames, const uint64_t *v);
void callgraph_release(struct callgraph *g);

/* ---- from a profile ---- */

/* Sets to[figures] from site i. */
typedef void callgraph_figure(const void *context, const struct profile *p, size_t i, uint64_t *to);

/* Initialises g and adds all sites.  0, or -ENOMEM with err filled; release in both cases. */
void callgraph_make(struct callgraph *g, struct profile *p, const struct callgraph_options *o,
		    callgraph_figure *figure, const void *context);
