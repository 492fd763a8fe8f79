// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * export_txt.c - the call graph as text: one section for each line that called,
 * greatest first, with its callers and its callees.
 */
#include <inttypes.h>

#include "export_graph.h"

#define STARS "********************************************************************************"

static void put_head(const struct graph *graph, FILE *out)
{
	size_t i;

	fprintf(out, "Call graph of %s\n\n", text_base(graph->x->profile->path));
	for (i = 0; i < graph->legends; i++) {
		fputs("  ", out);
		export_name(out, graph->legend[i].s, "", ' ');
		fputc('\n', out);
	}
	fputc('\n', out);
}

static void put_amount(const struct graph *graph, uint64_t part, uint64_t of, FILE *out)
{
	fprintf(out, "%s - %s", graph_exact(graph->x, part).s, graph_percent(part, of).s);
}

static void put_place(const struct graph *graph, const struct callgraph_node *n, FILE *out)
{
	struct long_text address = graph_address(graph, n);

	if (*n->line->file) {
		fputs("  at ", out);
		export_name(out, graph_place(graph, n).s, "", ' ');
		fputs(n->line->inlined ? " (inlined)\n" : "\n", out);
	}
	if (*address.s) {
		fputs("  in ", out);
		export_name(out, address.s, "", ' ');
		fputc('\n', out);
	}
	if (graph->x->options->symbols && *n->line->raw) {
		fputs("  symbol ", out);
		export_name(out, n->line->raw, "", ' ');
		fprintf(out, "+0x%" PRIx64 "\n", n->line->offset);
	}
}

static void put_neighbour(const struct graph *graph, uint32_t other, uint64_t part, uint64_t of,
			  FILE *out)
{
	const struct callgraph_node *n = &graph->g.node[other];

	fputs("    ", out);
	put_amount(graph, part, of, out);
	fputs("  ", out);
	export_name(out, n->line->function, "", ' ');
	fputs("  ", out);
	export_name(out, graph_place(graph, n).s, "", ' ');
	fputc('\n', out);
}

/* Puts shares of the node's own amount. */
static void put_neighbours(const struct graph *graph, uint32_t i, bool callers, FILE *out)
{
	const struct callgraph_edge *e;
	bool any = false;
	size_t k;

	for (k = 0; k < graph->edges; k++) {
		e = &graph->g.edge[graph->edge[k]];
		if ((callers ? e->to : e->from) != i)
			continue;
		if (!any)
			fputs(callers ? "  Called by:\n" : "  Allocated by its callees:\n", out);
		any = true;
		put_neighbour(graph, callers ? e->from : e->to, *e->v, *graph->g.node[i].all, out);
	}
}

static void put_node(const struct graph *graph, uint32_t i, FILE *out)
{
	const struct callgraph_node *n = &graph->g.node[i];

	fputs(STARS "\n", out);
	put_amount(graph, *n->all, graph->total, out);
	fputs("\n  ", out);
	export_name(out, n->line->function, "", ' ');
	fputc('\n', out);
	put_place(graph, n, out);
	if (*n->own) {
		fputs("  Allocated by itself: ", out);
		put_amount(graph, *n->own, *n->all, out);
		fputc('\n', out);
	}
	put_neighbours(graph, i, true, out);
	put_neighbours(graph, i, false, out);
	fputc('\n', out);
}

int export_txt(struct export *x, struct error *err)
{
	struct graph graph;
	size_t i;

	graph_make(&graph, x);
	put_head(&graph, x->out);
	for (i = 0; i < graph.nodes; i++)
		put_node(&graph, graph.node[i], x->out);
	graph_release(&graph);
	return 0;
}
