// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * export_massif.c - massif's file: what lived at points in time, some of them,
 * and the peak, with the tree of who had asked for it.
 *
 * Points lie at equal distances between the first and the last event, in ms, in
 * bytes handed out and given back, or in events ("i", of which massif counts
 * instructions: a trace has none).  What lives is known by site while blocks
 * pass, so a point is written when time comes to it and nothing is kept.
 *
 * Bytes of a node are those of its children to the last one: what falls below
 * --min-percent stands in one line, as massif has it, and so does what has no
 * caller among nodes that have some.  A tree is cut at DEPTH lines.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../profile/flow.h"
#include "exports.h"
#include "path_frames.h"

#define POINTS 100u /* massif's own */
#define DEPTH  256u

/* One line of some stacks, innermost first from the root; children by sibling. */
struct node {
	const struct sym_line *line;
	uint32_t frame;
	uint32_t parent, child, sibling; /* 0: none */
	uint64_t bytes;			 /* at the point at hand, with those above it */
};

struct massif {
	FILE *out;
	struct profile *profile;
	const struct export_options *options;
	struct interner keys; /* of nodes: parent and line; ids are nodes */
	struct node *node;
	size_t nodes, room;
	uint32_t *leaf;	 /* by site: the node of its outermost line */
	uint64_t *bytes; /* by site: alive */
	uint64_t moved;	 /* bytes handed out and given back */
	uint64_t end;	 /* of the run, in the unit of time */
	uint64_t time;	 /* of the point before; ms are counted as ns */
	unsigned points, next, written;
	bool last; /* was written */
};

/* ---- the tree, once for all points ---- */

static uint32_t node_of(struct massif *m, uint32_t parent, const struct sym_line *line,
			uint32_t frame)
{
	struct {
		const struct sym_line *line;
		uint64_t parent;
	} key = { line, parent };
	size_t known = m->keys.count, room;
	uint32_t id = interner_id(&m->keys, &key, sizeof(key));
	struct node *grown;

	if (!id || m->keys.count == known)
		return id;
	if (id >= m->room) {
		room = 2 * (size_t)id + 64;
		grown = reallocarray(m->node, room, sizeof(*grown));
		if (!grown)
			return 0;
		m->node = grown;
		m->room = room;
	}
	m->node[id] = (struct node){ .line = line, .frame = frame, .parent = parent };
	if (parent) {
		m->node[id].sibling = m->node[parent].child;
		m->node[parent].child = id;
	}
	m->nodes = id + 1;
	return id;
}

/* Node 1 is the root: all that lives. */
static int add_site(struct massif *m, size_t i)
{
	const struct profile_path *path = profile_path(m->profile, m->profile->site[i].key);
	uint32_t at = 1;
	size_t k, end;

	if (!path)
		return -ENOMEM;
	end = path->count > DEPTH ? path->count - DEPTH : 0;
	for (k = path->count; at && k > end; k--)
		at = node_of(m, at, path->line[k - 1], path->frame[k - 1]);
	if (at && !path->count)
		at = node_of(m, at, &calltree_no_stack, 0);
	if (at && (path->truncated || end))
		at = node_of(m, at, &calltree_cut, 0);
	m->leaf[i] = at;
	return at ? 0 : -ENOMEM;
}

static int make_tree(struct massif *m)
{
	size_t n = m->profile->count, i;
	int ret;

	m->leaf = calloc(n + 1, sizeof(*m->leaf));
	m->bytes = calloc(n + 1, sizeof(*m->bytes));
	if (!m->leaf || !m->bytes || !node_of(m, 0, NULL, 0))
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		ret = add_site(m, i);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* ---- one tree ---- */

static void sum_up(struct massif *m)
{
	size_t i;

	for (i = 1; i < m->nodes; i++)
		m->node[i].bytes = 0;
	for (i = 0; i < m->profile->count; i++)
		m->node[m->leaf[i]].bytes += m->bytes[i];
	/* A child has a higher number than its parent. */
	for (i = m->nodes - 1; i > 1; i--)
		m->node[m->node[i].parent].bytes += m->node[i].bytes;
}

static bool is_small(const struct massif *m, uint64_t bytes)
{
	return (double)bytes * 100 < (double)m->node[1].bytes * m->options->min_percent;
}

/* What of a node is in its children, and how many of these are worth a line. */
struct below {
	uint64_t bytes, small_bytes;
	size_t shown, small;
};

static struct below look_below(const struct massif *m, uint32_t node)
{
	struct below b = { .bytes = 0 };
	const struct node *n;
	uint32_t i;

	for (i = m->node[node].child; i; i = n->sibling) {
		n = &m->node[i];
		b.bytes += n->bytes;
		if (!n->bytes)
			continue;
		if (is_small(m, n->bytes)) {
			b.small++;
			b.small_bytes += n->bytes;
		} else {
			b.shown++;
		}
	}
	return b;
}

static void put_line(struct massif *m, const struct node *n)
{
	const struct stack_frame *f = n->frame ? &m->profile->stacks->frame[n->frame] : NULL;
	const struct stack_object *o = f ? &m->profile->stacks->object[f->object] : NULL;
	const char *base = strrchr(n->line->file, '/');

	fprintf(m->out, "0x%" PRIX64 ": ", f ? place_address(f) + (f->object ? o->bias : 0) : 0);
	export_name(m->out, n->line->function, "#", '.'); /* ms_print takes # for a comment */
	if (*n->line->file) {
		fputs(" (", m->out);
		export_name(m->out, base ? base + 1 : n->line->file, "#", '.');
		fprintf(m->out, ":%u)\n", n->line->line);
	} else {
		fputs(" (in ", m->out);
		export_name(m->out, o ? o->path : "?", "#", '.');
		fputs(")\n", m->out);
	}
}

/* The greatest child that is shown and comes behind `last`, which was shown before it. */
static uint32_t next_child(const struct massif *m, uint32_t node, uint32_t last)
{
	const struct node *n, *l = &m->node[last];
	uint32_t i, best = 0;

	for (i = m->node[node].child; i; i = n->sibling) {
		n = &m->node[i];
		if (!n->bytes || is_small(m, n->bytes))
			continue;
		if (last && (n->bytes > l->bytes || (n->bytes == l->bytes && i <= last)))
			continue;
		if (!best || n->bytes > m->node[best].bytes ||
		    (n->bytes == m->node[best].bytes && i < best))
			best = i;
	}
	return best;
}

static void put_node(struct massif *m, uint32_t node, unsigned depth)
{
	const struct below b = look_below(m, node);
	const uint64_t own = b.bytes ? m->node[node].bytes - b.bytes : 0;
	uint32_t i = 0;

	fprintf(m->out, "%*sn%zu: %" PRIu64 " ", (int)depth, "", b.shown + !!b.small + !!own,
		m->node[node].bytes);
	if (node == 1)
		fputs("(heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n", m->out);
	else
		put_line(m, &m->node[node]);
	while ((i = next_child(m, node, i)))
		put_node(m, i, depth + 1);
	if (own)
		fprintf(m->out, "%*sn0: %" PRIu64 " 0x0: (no caller)\n", (int)depth + 1, "", own);
	if (b.small)
		fprintf(m->out,
			"%*sn0: %" PRIu64 " in %zu place%s below massif's threshold (%.2f%%)\n",
			(int)depth + 1, "", b.small_bytes, b.small, b.small > 1 ? "s, all" : ",",
			m->options->min_percent);
}

/* ---- points ---- */

static void put_point(struct massif *m, const struct flow *f, uint64_t time, bool peak)
{
	const unsigned n = m->written++, every = m->options->detailed;
	const bool detailed = peak || (every && n % every == every - 1);

	m->time = time > m->time ? time : m->time;
	fprintf(m->out,
		"#-----------\nsnapshot=%u\n#-----------\ntime=%" PRIu64 "\nmem_heap_B=%" PRIu64
		"\nmem_heap_extra_B=%" PRIu64 "\nmem_stacks_B=0\nheap_tree=%s\n",
		n, m->options->time == EXPORT_TIME_MS ? m->time / 1000000 : m->time, f->live.bytes,
		f->live.slack,
		peak	   ? "peak"
		: detailed ? "detailed"
			   : "empty");
	if (!detailed)
		return;
	sum_up(m);
	put_node(m, 1, 0);
}

static uint64_t time_at(const struct massif *m, const struct flow *f, uint64_t ticks,
			uint64_t number)
{
	switch (m->options->time) {
	case EXPORT_TIME_BYTES:
		return m->moved;
	case EXPORT_TIME_CALLS:
		return number ? number : f->walk.events;
	default:
		return flow_ns(f, ticks);
	}
}

/* Points that lie before what is about to happen. */
static void before(void *self, struct flow *f, uint64_t ticks, uint64_t number)
{
	struct massif *m = self;
	uint64_t now = time_at(m, f, ticks, number), due;

	for (; m->next + 1 < m->points; m->next++) { /* the last one is below */
		due = (uint64_t)((unsigned __int128)m->end * m->next / (m->points - 1));
		if (due >= now && m->next) /* the first one shows that there was nothing */
			break;
		put_point(m, f, due, false);
	}
	/* The first process that goes when all events have been. */
	if (!number && !m->last && ticks >= m->profile->walk.last_ticks) {
		m->last = true;
		m->next = m->points;
		put_point(m, f, m->end, false);
	}
}

static void began(void *self, struct flow *f, const struct flow_block *b)
{
	struct massif *m = self;

	(void)f;
	m->bytes[b->site] += b->block->size;
	m->moved += b->block->size;
}

static void ended(void *self, struct flow *f, const struct flow_block *b)
{
	struct massif *m = self;

	(void)f;
	m->bytes[b->site] -= b->block->size;
	m->moved += b->block->size;
}

static void left(void *self, struct flow *f, const struct flow_block *b, enum process_gone why)
{
	struct massif *m = self;

	(void)f;
	(void)why;
	m->bytes[b->site] -= b->block->size;
}

static void peak(void *self, struct flow *f, uint64_t ticks, uint64_t number)
{
	put_point(self, f, time_at(self, f, ticks, number), true);
}

static const struct flow_ops ops = {
	.time = before,
	.began = began,
	.ended = ended,
	.left = left,
	.peak = peak,
};

static uint64_t end_of(const struct massif *m)
{
	const struct profile *p = m->profile;
	int64_t ns;

	switch (m->options->time) {
	case EXPORT_TIME_BYTES:
		return p->total.bytes + p->total.freed_bytes;
	case EXPORT_TIME_CALLS:
		return p->walk.events;
	default:
		ns = walk_ns(&p->walk, p->walk.last_ticks);
		return ns > 0 ? (uint64_t)ns : 0;
	}
}

static void put_head(struct massif *m)
{
	static const char *const units[] = { "ms", "B", "i" };

	fprintf(m->out, "desc: mprof %s\ncmd: ", MPROF_VERSION);
	place_command(m->out, m->profile);
	fprintf(m->out, "\ntime_unit: %s\n", units[m->options->time]);
}

int export_massif(struct export *x, struct error *err)
{
	struct massif m = {
		.out = x->out,
		.profile = x->profile,
		.options = x->options,
		.points = x->options->points ? x->options->points : POINTS,
	};
	struct flow f;
	int ret = make_tree(&m);

	if (ret < 0) {
		fail(err, ret, "no memory for the stacks of '%s'", x->profile->path);
	} else {
		m.end = end_of(&m);
		put_head(&m);
		ret = flow_run(&f, x->trace, x->profile, x->options->profile, &ops, &m, err);
		if (!ret && !m.last)
			put_point(&m, &f, m.end, false);
	}
	interner_release(&m.keys);
	free(m.node);
	free(m.leaf);
	free(m.bytes);
	return ret;
}
