// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * export_callgrind.c - callgrind's format (its specification is a chapter of
 * valgrind's manual), for callgrind_annotate and KCachegrind, with the seven
 * columns that MALT writes.
 *
 * Costs belong to lines of functions of files of objects. Each name is written once, then only its
 * number. A free counts at the site that allocated the block.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../profile/callgraph.h"
#include "exports.h"
#include "../print/text.h"
#include "../util/order.h"

#define EVENTS 7u

static const char *const event[EVENTS] = {
	"AllocCnt",    /* calls that allocated a block */
	"FreeCnt",     /* blocks of these that were freed */
	"MemOps",      /* sum of both */
	"AllocSum",    /* bytes requested */
	"FreeSum",     /* bytes freed */
	"Leaks",       /* bytes never freed */
	"AliveReqMax", /* most bytes of a call stack live at once */
};

static void figure(const void *context, const struct profile *p, size_t i, uint64_t *to)
{
	const struct site_values *v = &p->site[i].v;

	to[0] = v->calls;
	to[1] = v->freed_calls;
	to[2] = v->calls + v->freed_calls;
	to[3] = v->bytes;
	to[4] = v->freed_bytes;
	to[5] = v->live_bytes;
	to[6] = v->local_bytes;
}

struct names {
	struct interner keys;
	uint32_t told; /* the largest id that was written with its name */
};

/* The file being written. */
struct callgrind {
	const struct profile *profile;
	struct callgraph graph;
	struct names files, objects, functions;
	uint32_t *by_function, *by_caller; /* nodes; edges */
	FILE *out;
};

/* ---- names ---- */

static void put_name(struct callgrind *c, const char *what, uint32_t id, const char *name,
		     uint32_t level)
{
	fprintf(c->out, "%s=(%" PRIu32 ")", what, id);
	if (name) {
		fputc(' ', c->out);
		export_name(c->out, name, "", ' ');
	}
	/* Uses callgrind's own names for separated parts of a recursion. */
	if (name && level > 1)
		fprintf(c->out, "'%" PRIu32, level);
	fputc('\n', c->out);
}

/* Ids are assigned in order, so an id above all written ones is new. */
static void put_key(struct callgrind *c, const char *what, struct names *names, const void *key,
		    size_t bytes, const char *name, uint32_t level)
{
	uint32_t id = interner_id(&names->keys, key, bytes);

	put_name(c, what, id, id > names->told ? name : NULL, level);
	if (id > names->told)
		names->told = id;
}

static void put_file(struct callgrind *c, const char *what, const struct sym_line *line)
{
	const char *name = *line->file ? line->file : "???";

	put_key(c, what, &c->files, name, strlen(name), name, 1);
}

static void put_object(struct callgrind *c, const char *what, const struct sym_line *line)
{
	const char *name = *line->module ? line->module : "?";

	put_key(c, what, &c->objects, name, strlen(name), name, 1);
}

static void put_function(struct callgrind *c, const char *what, const struct callgraph_node *n)
{
	uint32_t key[2] = { n->function, n->level };

	put_key(c, what, &c->functions, key, sizeof(key), n->line->function, n->level);
}

/* ---- costs ---- */

static void put_costs(struct callgrind *c, uint32_t line, const uint64_t *v)
{
	size_t i;

	fprintf(c->out, "%" PRIu32, line);
	for (i = 0; i < EVENTS; i++)
		fprintf(c->out, " %" PRIu64, v[i]);
	fputc('\n', c->out);
}

static void put_call(struct callgrind *c, const struct callgraph_edge *e)
{
	const struct callgraph_node *from = &c->graph.node[e->from], *to = &c->graph.node[e->to];

	put_object(c, "cob", to->line);
	put_file(c, "cfi", to->line);
	put_function(c, "cfn", to);
	/* Only calls that allocated are known, not all calls. */
	fprintf(c->out, "calls=%" PRIu64 " %" PRIu32 "\n", e->v[0], to->line->line);
	put_costs(c, from->line->line, e->v);
}

static size_t skip_calls(const struct callgrind *c, uint32_t i, size_t e)
{
	while (e < c->graph.edges && c->graph.edge[c->by_caller[e]].from == i)
		e++;
	return e;
}

/* Writes the edges from node i, of which e is the first; returns the first edge after those. */
static size_t put_calls(struct callgrind *c, uint32_t i, size_t e)
{
	const struct callgraph *g = &c->graph;

	for (; e < g->edges && g->edge[c->by_caller[e]].from == i; e++)
		put_call(c, &g->edge[c->by_caller[e]]);
	return e;
}

static bool any(const uint64_t *v)
{
	size_t i;

	for (i = 0; i < EVENTS; i++)
		if (v[i])
			return true;
	return false;
}

static void put_graph(struct callgrind *c)
{
	const struct callgraph *g = &c->graph;
	const struct callgraph_node *n, *last = NULL;
	size_t i, e = 0;

	for (i = 0; i < g->nodes; i++) {
		n = &g->node[c->by_function[i]];
		/* A node only in a recursion that was cut out, or only in calls of mmap, which
		 * are not counted here. */
		if (!any(n->all)) {
			e = skip_calls(c, c->by_function[i], e);
			continue;
		}
		if (!last || last->function != n->function || last->level != n->level) {
			fputc('\n', c->out);
			put_object(c, "ob", n->line);
			put_file(c, "fl", n->line);
			put_function(c, "fn", n);
		} else if (strcmp(last->line->file, n->line->file)) {
			put_file(c, "fi", n->line);
		}
		/* callgrind_annotate needs a line with costs for each source file. */
		if (any(n->own))
			put_costs(c, n->line->line, n->own);
		else
			fprintf(c->out, "%" PRIu32 " 0\n", n->line->line);
		e = put_calls(c, c->by_function[i], e);
		last = n;
	}
}

/* ---- the file ---- */

static int compare_nodes(const struct callgraph_node *x, const struct callgraph_node *y)
{
	return RISING(function) ?: RISING(level) ?: BY_NAME(line->file) ?: RISING(line->line);
}

ORDER_IN(by_function, uint32_t, struct callgraph,
	 compare_nodes(&in->node[*x], &in->node[*y]) ?: COMPARE(*x, *y))

ORDER_IN(by_caller, uint32_t, struct callgraph,
	 by_function(&in->edge[*x].from, &in->edge[*y].from, whole)
	     ?: COMPARE(in->edge[*x].to, in->edge[*y].to))

static uint32_t *sorted(size_t n, int (*order)(const void *, const void *, void *),
			struct callgraph *g)
{
	uint32_t *index = must_calloc(n + 1, sizeof(*index));
	size_t i;

	for (i = 0; i < n; i++)
		index[i] = (uint32_t)i;
	SORT_IN(index, n, order, g);
	return index;
}

static void put_head(struct callgrind *c)
{
	const struct profile *p = c->profile;
	const struct trace_fact *image = tree_first_image(&p->tree);
	size_t i;

	fprintf(c->out, "# callgrind format\nversion: 1\ncreator: mprof-" MPROF_VERSION "\n");
	fprintf(c->out, "pid: %" PRId32 "\ncmd: ", p->tree.processes ? p->tree.process[0].pid : 0);
	export_name(c->out, text_command(image, sizeof(((struct long_text *)0)->s)).s, "", ' ');
	fputs("\npart: 1\n\ndesc: Trace: ", c->out);
	export_name(c->out, p->path, "", ' ');
	fprintf(c->out, "\ndesc: Calls: %s", export_calls(p).s);
	fputs("\n\npositions: line\nevents:", c->out);
	for (i = 0; i < EVENTS; i++)
		fprintf(c->out, " %s", event[i]);
	fputc('\n', c->out);
	fputs("summary:", c->out);
	for (i = 0; i < EVENTS; i++)
		fprintf(c->out, " %" PRIu64, c->graph.total[i]);
	fputc('\n', c->out);
}

static void put_all(struct callgrind *c)
{
	struct callgraph *g = &c->graph;
	size_t i;

	c->by_function = sorted(g->nodes, by_function, g);
	c->by_caller = sorted(g->edges, by_caller, g);
	put_head(c);
	put_graph(c);
	fputs("\ntotals:", c->out);
	for (i = 0; i < EVENTS; i++)
		fprintf(c->out, " %" PRIu64, g->total[i]);
	fputc('\n', c->out);
}

int export_callgrind(struct export *x, struct error *err)
{
	const struct callgraph_options o = {
		.same = LINE_LINE,
		.simple = true,
		.figures = EVENTS,
	};
	struct callgrind c = { .profile = x->profile, .out = x->out };

	callgraph_make(&c.graph, x->profile, &o, figure, NULL);
	put_all(&c);
	free(c.by_function);
	free(c.by_caller);
	interner_release(&c.files.keys);
	interner_release(&c.objects.keys);
	interner_release(&c.functions.keys);
	callgraph_release(&c.graph);
	return 0;
}
