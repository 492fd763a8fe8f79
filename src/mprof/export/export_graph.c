// SPDX-License-Identifier: LGPL-3.0-or-later
/* export_graph.c - builds the call graph of one value and its legend. */
#include "export_graph.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "../util/order.h"

/* ---- words ---- */

static bool is_unit(const struct export *x, const char *unit)
{
	return !strcmp(profile_value_unit(x->value), unit);
}

struct text graph_amount(const struct export *x, uint64_t value)
{
	return is_unit(x, "bytes") ? format_bytes(value)
	       : is_unit(x, "ns")  ? format_ns(value)
				   : format_count(value);
}

struct long_text graph_exact(const struct export *x, uint64_t value)
{
	struct long_text t;

	if (is_unit(x, "bytes"))
		return format_exact(value);
	snprintf(t.s, sizeof(t.s), "%s %s", format_count(value).s, profile_value_unit(x->value));
	return t;
}

struct text graph_percent(uint64_t part, uint64_t of)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%.1f %%", of ? 100.0 * (double)part / (double)of : 0.0);
	return t;
}

struct long_text graph_address(const struct graph *graph, const struct callgraph_node *node)
{
	const struct stacks *s = graph->x->profile->stacks;
	const struct stack_frame *f;
	struct long_text t = { "" };

	if (!s || !node->frame || node->frame >= s->frames)
		return t;
	f = &s->frame[node->frame];
	snprintf(t.s, sizeof(t.s), "%s+0x%" PRIx64, node->line->module, f->address);
	return t;
}

struct long_text graph_place(const struct graph *graph, const struct callgraph_node *node)
{
	struct long_text t;

	if (!*node->line->file)
		return graph_address(graph, node);
	snprintf(t.s, sizeof(t.s), "%s:%" PRIu32, node->line->file, node->line->line);
	return t;
}

static void say(struct graph *graph, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct graph *graph, const char *format, ...)
{
	va_list args;

	if (graph->legends == GRAPH_LEGEND)
		return;
	va_start(args, format);
	vsnprintf(graph->legend[graph->legends].s, sizeof(graph->legend[0].s), format, args);
	va_end(args);
	graph->legends++;
}

static void say_moment(struct graph *graph, const struct site_snapshot *m)
{
	struct text when = format_since(m->ns);
	const struct sites *s = &graph->x->profile->sites;
	const uint32_t process = s->options.filter.process;

	if (!m->rss && (process || s->totals.process)) {
		say(graph, "%s after the start; process %" PRIu32 "%s had %s", when.s,
		    process ? process : s->totals.process, process ? "" : ", the largest,",
		    format_many(m->calls, "block", "blocks").s);
		return;
	}
	if (!m->rss) {
		say(graph, "%s after the start; the whole run had %s", when.s,
		    format_many(m->calls, "block", "blocks").s);
		return;
	}
	say(graph, "%s after the start; process %" PRIu32 " had %s and %s resident", when.s,
	    m->process, format_many(m->calls, "block", "blocks").s, format_exact(m->rss).s);
	if (!m->sampled && m->to_ns != INT64_MAX)
		say(graph, "it was largest between %s and %s", format_since(m->from_ns).s,
		    format_since(m->to_ns).s);
	if (m->cpu_ns)
		say(graph, "CPU time until then: %s", format_ns(m->cpu_ns).s);
	if (m->arena || m->mapped)
		say(graph, "arena (grown by brk): %s; mapped: %s", format_bytes(m->arena).s,
		    format_bytes(m->mapped).s);
}

static void make_legend(struct graph *graph)
{
	const struct profile *p = graph->x->profile;
	const struct trace_fact *image = tree_first_image(&p->tree);

	say(graph, "%s", text_command(image, 200).s);
	say(graph, "%s: %s", profile_value_name(graph->x->value),
	    profile_value_help(graph->x->value));
	if (strcmp(export_calls(p).s, "every call") != 0)
		say(graph, "Calls: %s", export_calls(p).s);
	say(graph, "Total: %s", graph_exact(graph->x, graph->total).s);
	if (graph->x->value == VALUE_PEAK)
		say_moment(graph, &p->sites.peak);
	if (graph->x->value == VALUE_RSS)
		say_moment(graph, &p->sites.rss);
	if (graph->left_out)
		say(graph, "%s below %g %% left out; they requested %s themselves",
		    format_many(graph->left_out, "line", "lines").s, graph->x->options->min_percent,
		    graph_exact(graph->x, graph->left_out_own).s);
}

/* ---- the graph ---- */

static void figure(const void *context, const struct profile *p, size_t i, uint64_t *to)
{
	const struct export *x = context;

	*to = profile_value(p, i, x->value);
}

ORDER_IN(by_size, uint32_t, struct callgraph,
	 COMPARE(*in->node[*y].all, *in->node[*x].all) ?: COMPARE(*x, *y))

ORDER_IN(by_caller, uint32_t, struct callgraph,
	 by_size(&in->edge[*x].from, &in->edge[*y].from, whole)
	     ?: COMPARE(*in->edge[*y].v, *in->edge[*x].v)
	     ?: COMPARE(in->edge[*x].to, in->edge[*y].to))

static bool is_large(const struct graph *graph, uint64_t value)
{
	return value &&
	       (double)value * 100 >= graph->x->options->min_percent * (double)graph->total;
}

static void choose(struct graph *graph)
{
	const struct callgraph *g = &graph->g;
	size_t i;

	graph->node = must_calloc(g->nodes + 1, sizeof(*graph->node));
	graph->shown = must_calloc(g->nodes + 1, sizeof(*graph->shown));
	graph->edge = must_calloc(g->edges + 1, sizeof(*graph->edge));
	for (i = 0; i < g->nodes; i++) {
		graph->shown[i] = is_large(graph, *g->node[i].all);
		if (graph->shown[i]) {
			graph->node[graph->nodes++] = (uint32_t)i;
		} else if (*g->node[i].all) {
			graph->left_out++;
			graph->left_out_own += *g->node[i].own;
		}
	}
	for (i = 0; i < g->edges; i++)
		if (*g->edge[i].v && graph->shown[g->edge[i].from] && graph->shown[g->edge[i].to])
			graph->edge[graph->edges++] = (uint32_t)i;
	SORT_IN(graph->node, graph->nodes, by_size, g);
	SORT_IN(graph->edge, graph->edges, by_caller, g);
}

void graph_make(struct graph *graph, struct export *x)
{
	const struct callgraph_options o = {
		.same = LINE_LINE,
		.figures = 1,
	};

	*graph = (struct graph){ .x = x };
	callgraph_make(&graph->g, x->profile, &o, figure, x);
	graph->total = *graph->g.total;
	choose(graph);
	make_legend(graph);
}

void graph_release(struct graph *graph)
{
	callgraph_release(&graph->g);
	free(graph->node);
	free(graph->shown);
	free(graph->edge);
}
