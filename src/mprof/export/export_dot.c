// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * export_dot.c - the call graph as a drawing: a box for each line that called, larger the more was
 * requested through it, redder the more it requested itself; arrows with amounts. graphviz's `dot`
 * makes svg, ps and pdf of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../util/memory.h"
#include "export_graph.h"
#include "../print/json.h"

#define NAME_WIDTH    72   /* characters of a name in a box */
#define TOOLTIP_WIDTH 2000 /* graphviz accepts no string above 16384 */

/* ---- dot ---- */

/* For a quoted string: at most about `most` bytes, whole characters. */
static void put_text(FILE *out, const char *text, size_t most)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + most;
	int n;

	for (; *s && s < end; s += n) {
		n = utf8_at(s);
		if (!n)
			fputs(UTF8_REPLACEMENT, out);
		else if (*s < ' ' || *s == 0x7f || utf8_is_control(s))
			fputc(' ', out);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if (*s == '&')
			fputs("&amp;", out);
		else
			fwrite(s, 1, (size_t)n, out);
		n += !n;
	}
	if (*s)
		fputs("...", out);
}

static void put_legend(const struct graph *graph, FILE *out)
{
	size_t i;

	fputs("\tsubgraph cluster_legend {\n\t\tlabel=\"Legend\"; style=rounded;\n"
	      "\t\tlegend [shape=plaintext, style=\"\", fontsize=18, label=\"",
	      out);
	for (i = 0; i < graph->legends; i++) {
		put_text(out, graph->legend[i].s, TOOLTIP_WIDTH);
		fputs("\\l", out);
	}
	fputs("\"];\n\t}\n", out);
}

static void put_tooltip(const struct graph *graph, const struct callgraph_node *n, FILE *out)
{
	fputs("\", tooltip=\"", out);
	put_text(out, n->line->function, TOOLTIP_WIDTH);
	fputs("\\n", out);
	put_text(out, graph_place(graph, n).s, TOOLTIP_WIDTH);
}

static void put_symbol(const struct graph *graph, const struct callgraph_node *n, FILE *out)
{
	if (!graph->x->options->symbols)
		return;
	fputs("\\n", out);
	if (*n->line->raw) {
		put_text(out, n->line->raw, NAME_WIDTH);
		fprintf(out, "+0x%" PRIx64 "\\n", n->line->offset);
	}
	put_text(out, graph_address(graph, n).s, TOOLTIP_WIDTH);
}

static void put_node(const struct graph *graph, uint32_t i, FILE *out)
{
	const struct callgraph_node *n = &graph->g.node[i];
	const struct export *x = graph->x;
	struct long_text place = graph_place(graph, n);
	double part = (double)*n->all / (double)graph->total;
	double own = (double)*n->own / (double)graph->total;

	fprintf(out, "\tn%" PRIu32 " [fontsize=%.1f, fillcolor=\"0.040 %.3f 1.000\", label=\"", i,
		10 + 20 * sqrt(part), own > 0 ? 0.06 + 0.64 * sqrt(own) : 0);
	put_text(out, n->line->function, NAME_WIDTH);
	put_symbol(graph, n, out);
	if (*place.s && strcmp(place.s, n->line->function)) {
		fputs("\\n", out);
		/* Only the last part of a long path. */
		put_text(out, strlen(place.s) > NAME_WIDTH ? text_base(place.s) : place.s,
			 NAME_WIDTH);
	}
	if (*n->line->file) {
		fputs("\\n", out);
		put_text(out, n->line->module, NAME_WIDTH);
	}
	fprintf(out, "\\n%s, %s", graph_amount(x, *n->all).s,
		graph_percent(*n->all, graph->total).s);
	if (*n->own && *n->own != *n->all)
		fprintf(out, "\\nitself %s, %s", graph_amount(x, *n->own).s,
			graph_percent(*n->own, graph->total).s);
	put_tooltip(graph, n, out);
	fputs("\"];\n", out);
}

static void put_edge(const struct graph *graph, const struct callgraph_edge *e, FILE *out)
{
	const struct callgraph_node *from = &graph->g.node[e->from];
	double part = (double)*e->v / (double)*from->all;

	fprintf(out,
		"\tn%" PRIu32 " -> n%" PRIu32 " [label=\"  %s\", penwidth=%.2f, weight=%.0f];\n",
		e->from, e->to, graph_amount(graph->x, *e->v).s, 0.5 + 5 * sqrt(part),
		1 + 99 * sqrt((double)*e->v / (double)graph->total));
}

static void put_graph(const struct graph *graph, FILE *out)
{
	size_t i;

	fputs("digraph mprof {\n"
	      "\tnode [shape=box, style=filled, fillcolor=white, fontname=\"Helvetica\"];\n"
	      "\tedge [fontname=\"Helvetica\", fontsize=12];\n",
	      out);
	put_legend(graph, out);
	for (i = 0; i < graph->nodes; i++)
		put_node(graph, graph->node[i], out);
	for (i = 0; i < graph->edges; i++)
		put_edge(graph, &graph->g.edge[graph->edge[i]], out);
	fputs("}\n", out);
}

int export_dot(struct export *x, struct error *err)
{
	struct graph graph;

	graph_make(&graph, x);
	put_graph(&graph, x->out);
	graph_release(&graph);
	return 0;
}

/* ---- images, drawn by graphviz ---- */

/* Starts `dot` with a pipe to it and x->out behind it. */
static int start_dot(struct export *x, const char *language, pid_t *pid, FILE **to,
		     struct error *err)
{
	char option[16], name[] = "dot";
	char *argv[] = { name, option, NULL };
	posix_spawn_file_actions_t actions;
	int end[2], ret;

	snprintf(option, sizeof(option), "-T%s", language);
	fflush(x->out);
	if (pipe2(end, O_CLOEXEC) < 0)
		return fail(err, -errno, "cannot start 'dot': %m");
	posix_spawn_file_actions_init(&actions);
	ret = posix_spawn_file_actions_adddup2(&actions, end[0], STDIN_FILENO)
		  ?: posix_spawn_file_actions_adddup2(&actions, fileno(x->out), STDOUT_FILENO);
	memory_uncap();
	ret = ret ?: posix_spawnp(pid, name, &actions, NULL, argv, environ);
	memory_recap();
	posix_spawn_file_actions_destroy(&actions);
	close(end[0]);
	*to = ret ? NULL : fdopen(end[1], "w");
	if (!*to)
		close(end[1]);
	if (ret == ENOENT)
		return fail(err, -ret,
			    "cannot find the program 'dot', which draws %s: install graphviz, or "
			    "use --to dot or --to txt",
			    language);
	return ret ? fail(err, -ret, "cannot start 'dot': %s", strerror(ret)) : 0;
}

static int draw(struct export *x, const char *language, struct error *err)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	struct graph graph;
	pid_t pid;
	FILE *to;
	int status = -1, ret;

	graph_make(&graph, x);
	ret = start_dot(x, language, &pid, &to, err);
	if (!ret) {
		/* If it ends early, its exit status says so. */
		sigaction(SIGPIPE, &ignore, &before);
		if (to) {
			put_graph(&graph, to);
			fclose(to);
		}
		sigaction(SIGPIPE, &before, NULL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (status)
			ret = fail(err, -EIO, "'dot' could not draw the graph of '%s'",
				   x->profile->path);
	}
	graph_release(&graph);
	return ret;
}

int export_svg(struct export *x, struct error *err)
{
	return draw(x, "svg", err);
}

int export_ps(struct export *x, struct error *err)
{
	return draw(x, "ps", err);
}

int export_pdf(struct export *x, struct error *err)
{
	return draw(x, "pdf", err);
}
