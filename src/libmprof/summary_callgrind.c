// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * summary_callgrind.c - writes a summary in callgrind's format (its specification is a chapter of
 * valgrind's manual), with the columns of `mprof export --to callgrind`.
 *
 * Readers add up the blocks of a function and the calls between two functions.  So each node is
 * written by itself, and only the sums over its descendants are kept.  As in that export, no path
 * passes a function twice: where a function occurs again, it is a separate one of level 2, and
 * where that would occur again, the part between is cut out, unless a function occurs there for the
 * first time; then the level is increased.  So readers that can only add handle recursion.
 */
#include <errno.h>
#include <mprof/module.h>

#include "config.h"
#include "local.h"
#include "summary.h"
#include "text.h"

#define EVENTS 7u
#define NAMES  "AllocCnt FreeCnt MemOps AllocSum FreeSum Leaks AliveReqMax"

/* What stands for a node in the graph of calls. */
struct place {
	uint32_t same;	 /* the node itself, or the ancestor to which a cut returns; 0 = none */
	uint32_t caller; /* such a node, too */
	uint32_t level;	 /* of its function, from 1 */
	uint32_t firsts; /* nodes of level 1 on the path */
	uint64_t all[EVENTS];
};

struct graph {
	struct summary *s;
	struct place *place; /* by node */
	uint32_t *object,
	    *told;	/* by name: of the first such frame; levels whose name is written */
	uint32_t *seen; /* by object */
	uint64_t now;	/* number of the function that costs are written for */
};

/* ---- figures ---- */

static uint64_t above(int64_t v)
{
	return v > 0 ? (uint64_t)v : 0;
}

/* A free may have been counted first, in a dump. */
static void figures(const struct summary_values *v, uint64_t *to)
{
	const uint64_t calls = above(v->calls), bytes = above(v->bytes);
	const uint64_t live = above(v->live_calls), live_bytes = above(v->live_bytes);

	to[0] = calls;
	to[1] = calls > live ? calls - live : 0;
	to[2] = to[0] + to[1];
	to[3] = bytes;
	to[4] = bytes > live_bytes ? bytes - live_bytes : 0;
	to[5] = live_bytes;
	to[6] = above(v->local_bytes);
}

static void add(uint64_t *to, const uint64_t *v)
{
	for (unsigned i = 0; i < EVENTS; i++)
		to[i] += v[i];
}

static int any(const uint64_t *v)
{
	for (unsigned i = 0; i < EVENTS; i++)
		if (v[i])
			return 1;
	return 0;
}

/* ---- the graph ---- */

static void place_node(struct graph *g, uint32_t i)
{
	const struct summary_node *node = &g->s->node[i];
	const uint32_t caller = g->place[node->parent].same;
	const struct place *up = &g->place[caller];
	uint32_t at = caller, level;

	g->place[i].same = caller;
	if (!g->s->name[node->name].n)
		return; /* ours */
	while (at && g->s->node[at].name != node->name)
		at = g->place[at].caller;
	level = at ? g->place[at].level : 0;
	g->place[i].same = at;
	if (level > 1 && up->firsts <= g->place[at].firsts)
		return;
	g->place[i].same = i;
	g->place[i].caller = caller;
	g->place[i].level = level + 1;
	g->place[i].firsts = up->firsts + !level;
}

/* Adds the figures of all nodes to their callers; those of [0] are the totals. */
static void sum_up(struct graph *g)
{
	for (uint32_t i = 1; i <= g->s->nodes; i++) {
		uint64_t own[EVENTS];

		figures(&g->s->node[i].v, own);
		add(g->place[g->place[i].same].all, own);
	}
	/* Callers have lower numbers. */
	for (uint32_t i = g->s->nodes; i; i--)
		if (g->place[i].same == i)
			add(g->place[g->place[i].caller].all, g->place[i].all);
}

static int make_graph(struct graph *g)
{
	struct summary *s = g->s;

	g->place = summary_memory(s, (s->nodes + 1ul) * sizeof(*g->place));
	g->object = summary_memory(s, (s->names + 1ul) * sizeof(*g->object));
	g->told = summary_memory(s, (s->names + 1ul) * sizeof(*g->told));
	g->seen = summary_memory(s, (s->objects + 1ul) * sizeof(*g->seen));
	if (!g->place || !g->object || !g->told || !g->seen)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->frames; i++)
		if (!g->object[s->frame[i].name])
			g->object[s->frame[i].name] = s->frame[i].object;
	for (uint32_t i = 1; i <= s->nodes; i++)
		place_node(g, i);
	sum_up(g);
	return 0;
}

/* ---- lines ---- */

static void say_clean(struct summary *s, const char *text, size_t n)
{
	for (size_t i = 0; i < n && text[i]; i++)
		summary_put(s, (unsigned char)text[i] < ' ' ? "_" : text + i, 1);
}

static void say_figures(struct summary *s, const char *title, const uint64_t *v)
{
	summary_say(s, title);
	for (unsigned i = 0; i < EVENTS; i++) {
		summary_say(s, " ");
		summary_number(s, v[i]);
	}
	summary_say(s, "\n");
}

static void say_id(struct summary *s, const char *what, uint64_t id)
{
	summary_say(s, what);
	summary_say(s, "=(");
	summary_number(s, id);
	summary_say(s, ")");
}

/* Each name is written once, then only its number. */
static void say_object(struct graph *g, const char *what, uint32_t object)
{
	const struct summary_object *o = object ? &g->s->object[object - 1] : NULL;

	say_id(g->s, what, object);
	if (!g->seen[object]) {
		g->seen[object] = 1;
		summary_say(g->s, " ");
		say_clean(g->s, o && *o->path ? o->path : "?", o && *o->path ? o->path_bytes : 1);
	}
	summary_say(g->s, "\n");
}

static uint64_t number_of(const struct graph *g, uint32_t i)
{
	return g->s->node[i].name + (g->place[i].level - 1ull) * g->s->names;
}

/* Levels of a function appear in their order, because the lower one is among the callers. */
static void say_function(struct graph *g, const char *object, const char *function, uint32_t i)
{
	const uint32_t name = g->s->node[i].name, level = g->place[i].level;

	say_object(g, object, g->object[name]);
	say_id(g->s, function, number_of(g, i));
	if (g->told[name] < level) {
		g->told[name] = level;
		summary_say(g->s, " ");
		summary_put(g->s, g->s->name[name].s, g->s->name[name].n);
		/* callgrind's own names for separated parts of a recursion. */
		if (level > 1) {
			summary_say(g->s, "'");
			summary_number(g->s, level);
		}
	}
	summary_say(g->s, "\n");
}

/* i: 0 for blocks whose stack has only frames of ours. */
static void go_to(struct graph *g, uint32_t i)
{
	const uint64_t number = i ? number_of(g, i) : 0;

	if (number && number == g->now)
		return;
	g->now = number;
	if (i)
		say_function(g, "ob", "fn", i);
	else
		summary_say(g->s, "fn=???\n");
}

static void say_node(struct graph *g, uint32_t i)
{
	const struct place *p = &g->place[i];
	uint64_t own[EVENTS];

	if (p->same == i && p->caller && any(p->all)) {
		go_to(g, p->caller);
		say_function(g, "cob", "cfn", i);
		/* Only calls that allocated are known, not all calls. */
		summary_say(g->s, "calls=");
		summary_number(g->s, p->all[0]);
		summary_say(g->s, " 0\n");
		say_figures(g->s, "0", p->all);
	}
	figures(&g->s->node[i].v, own);
	if (any(own)) {
		go_to(g, p->same);
		say_figures(g->s, "0", own);
	}
}

static void say_head(struct summary *s, int number, const char *why)
{
	const char *exe = mp_config.anonymous ? text_base(mp_known.exe) : mp_known.exe;

	summary_say(s, SUMMARY_CALLGRIND MPROF_VERSION "\npid: ");
	summary_number(s, (uint64_t)mp_local->pid);
	summary_say(s, "\ncmd: ");
	say_clean(s, exe, text_length(exe));
	summary_say(s, "\npart: 1\n\ndesc: Trigger: ");
	if (number) {
		summary_say(s, "dump ");
		summary_number(s, (uint64_t)number);
	} else {
		summary_say(s, "end");
	}
	if (why) {
		summary_say(s, ", ");
		summary_say(s, why);
	}
	summary_say(s, s->estimated ? ", estimated from samples\n" : "\n");
	summary_say(s, "\npositions: line\nevents: " NAMES "\n");
}

void summary_callgrind(struct summary *s, int number, const char *why)
{
	struct graph g = { .s = s };

	s->error = make_graph(&g);
	if (s->error)
		return;
	say_head(s, number, why);
	say_figures(s, "summary:", g.place[0].all);
	summary_say(s, "\nfl=(1) ???\n");
	for (uint32_t i = 1; i <= s->nodes; i++)
		say_node(&g, i);
	say_figures(s, "\ntotals:", g.place[0].all);
}
