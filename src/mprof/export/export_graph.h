/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * export_graph.h - the call graph of one value by lines, without small nodes, and its legend: for
 * the drawing and for the text.
 */
#pragma once

#include "../profile/callgraph.h"
#include "exports.h"
#include "../print/text.h"

#define GRAPH_LEGEND 9u

struct graph {
	struct export *x;
	struct callgraph g;
	uint32_t *node; /* indexes of the nodes shown, largest first */
	size_t nodes;
	bool *shown;	/* by index */
	uint32_t *edge; /* between shown nodes, by caller, largest first */
	size_t edges;
	uint64_t total;
	size_t left_out;       /* nodes */
	uint64_t left_out_own; /* bytes that they requested themselves */
	struct long_text legend[GRAPH_LEGEND];
	size_t legends;
};

void graph_make(struct graph *graph, struct export *x);
void graph_release(struct graph *graph);

/* Returns the value of x as text: 45.0 MiB, 1,234 or 1.25 us. */
struct text graph_amount(const struct export *x, uint64_t value);
/* The same with exact bytes, for lists. */
struct long_text graph_exact(const struct export *x, uint64_t value);
/* 12.3 % */
struct text graph_percent(uint64_t part, uint64_t of);
/* Returns the place of a node: file:line, else the module and the address in it, else "". */
struct long_text graph_place(const struct graph *graph, const struct callgraph_node *node);
/* Returns module+0xaddress of the call, "" if it has no frame. */
struct long_text graph_address(const struct graph *graph, const struct callgraph_node *node);
