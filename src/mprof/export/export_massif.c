// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * export_massif.c - massif's file: live bytes at points in time; the peak and some of the points
 * have the tree of the call stacks that allocated them.
 *
 * Points are equally spaced between the first and the last event, in ms, in bytes allocated and
 * freed, or in events ("i": instructions in massif, which a trace does not have).
 *
 * The end time of the run is known before its events, so points in ms are taken while the trace is
 * read. The number of bytes or events is not, so the trace is read twice for these
 * (flow_ops.later). The peak, and with it the numbers of the points, is known only at the end. So
 * points are kept, with the live bytes of each stack if they may get a tree, and written at the
 * end; the tree of the peak comes from the profile.
 *
 * The bytes of a node are the sum of its children: those below --min-percent share one line, as in
 * massif, and so do stacks that end at a node that has callers in others. A tree is cut at DEPTH
 * lines.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "exports.h"
#include "path_frames.h"

#define POINTS 100u /* massif's default */
#define DEPTH  256u

/* One line of some stacks, innermost first from the root; children by sibling. */
struct node {
	const struct sym_line *line;
	uint32_t frame;
	uint32_t parent, child, sibling; /* 0: none */
	uint64_t bytes;			 /* at the current point, including its children */
};

/* Live bytes of a stack. */
struct part {
	uint64_t bytes;
	uint32_t group;
};

struct point {
	uint64_t time; /* ms are counted as ns */
	uint64_t bytes, slack;
	size_t first, parts; /* of massif.part */
};

struct massif {
	FILE *out;
	struct profile *profile;
	const struct export_options *options;
	/* The course of the run: */
	struct array live; /* uint64_t by group: bytes */
	struct point *point, peak;
	size_t count, room, before_peak; /* points; points before the peak, + 1 */
	struct part *part;
	size_t parts, part_room;
	uint64_t moved; /* bytes allocated and freed */
	uint64_t end;	/* of the run, in the unit of time */
	uint64_t quiet; /* no point is due up to these ticks */
	unsigned wanted, next;
	bool last; /* was taken */
	/* The output: */
	struct interner keys; /* of nodes: parent and line; ids are nodes */
	struct node *node;
	size_t nodes, node_room;
	uint32_t *leaf; /* by site: the node of its outermost line */
	uint32_t *site; /* by group */
	uint64_t time;	/* of the previous point */
	unsigned written;
	bool part_only; /* a point has more than the peak of the run has of the selected blocks */
};

/* ---- points ---- */

/* Does the nth point of the file have a tree? */
static bool is_detailed(const struct massif *m, size_t n)
{
	const unsigned every = m->options->detailed;

	return every && n % every == every - 1;
}

static void add_parts(struct massif *m, struct point *p)
{
	const uint64_t *bytes = m->live.item;
	size_t i;

	p->first = m->parts;
	for (i = 0; i < m->live.count; i++) {
		if (!bytes[i])
			continue;
		GROW(m->part, m->parts + 1, m->part_room);
		m->part[m->parts++] = (struct part){ bytes[i], (uint32_t)i };
	}
	p->parts = m->parts - p->first;
}

static void add_point(struct massif *m, const struct flow *f, uint64_t time)
{
	struct point p = { time, f->live.bytes, f->live.slack, 0, 0 };

	/* After the peak, numbers are one higher. */
	if (is_detailed(m, m->count) || is_detailed(m, m->count + 1))
		add_parts(m, &p);
	GROW(m->point, m->count + 1, m->room);
	m->point[m->count++] = p;
}

static uint64_t end_of(const struct massif *m, const struct flow *f)
{
	const struct profile *p = m->profile;

	switch (m->options->time) {
	case EXPORT_TIME_BYTES:
		return p->total.bytes + p->total.freed_bytes;
	case EXPORT_TIME_CALLS:
		return p->walk.events;
	default:
		return walk_since_ns(f->walk, walk_end_ticks(&f->walk->input, &f->walk->until));
	}
}

static uint64_t time_at(const struct massif *m, const struct flow *f, uint64_t ticks,
			uint64_t number)
{
	switch (m->options->time) {
	case EXPORT_TIME_BYTES:
		return m->moved;
	case EXPORT_TIME_CALLS:
		return number ? number : f->events;
	default:
		return walk_since_ns(f->walk, ticks);
	}
}

/* Adds the points before the next event. */
static void before(void *self, struct flow *f, uint64_t ticks, uint64_t number)
{
	struct massif *m = self;
	uint64_t now, due;

	if (number && ticks <= m->quiet)
		return;
	if (!m->end)
		m->end = end_of(m, f);
	now = time_at(m, f, ticks, number);
	for (; m->next + 1 < m->wanted; m->next++) { /* the last one is added below */
		due = (uint64_t)((unsigned __int128)m->end * m->next / (m->wanted - 1));
		if (due >= now && m->next) { /* the first one is empty */
			if (m->options->time == EXPORT_TIME_MS)
				m->quiet = trace_ticks(m->profile->trace, due);
			break;
		}
		add_point(m, f, due);
	}
	/* The first process that ends after all events. */
	if (f->over && !m->last) {
		m->last = true;
		add_point(m, f, m->end);
	}
}

static void began(void *self, struct flow *f, const struct flow_block *b)
{
	struct massif *m = self;
	uint64_t *bytes = array_at(&m->live, b->group, sizeof(*bytes));

	*bytes += b->block->size;
	m->moved += b->block->size;
}

static void ended(void *self, struct flow *f, const struct flow_block *b)
{
	struct massif *m = self;
	uint64_t *bytes = array_at(&m->live, b->group, sizeof(*bytes));

	*bytes -= b->block->size;
	m->moved += b->block->size;
}

static void left(void *self, struct flow *f, const struct flow_block *b, enum process_gone why)
{
	struct massif *m = self;
	uint64_t *bytes = array_at(&m->live, b->group, sizeof(*bytes));

	*bytes -= b->block->size;
}

static void most(void *self, struct flow *f, uint64_t ticks, uint64_t number)
{
	struct massif *m = self;

	m->peak =
	    (struct point){ time_at(m, f, ticks, number), f->live.bytes, f->live.slack, 0, 0 };
	m->before_peak = m->count + 1;
}

static const struct flow_ops ops = {
	.time = before,
	.began = began,
	.ended = ended,
	.left = left,
	.most = most,
};

/* ---- the tree, once for all points ---- */

static uint32_t node_of(struct massif *m, uint32_t parent, const struct sym_line *line,
			uint32_t frame)
{
	struct {
		const struct sym_line *line;
		uint64_t parent;
	} key = { line, parent };
	size_t known = m->keys.count;
	uint32_t id = interner_id(&m->keys, &key, sizeof(key));

	if (m->keys.count == known)
		return id;
	GROW(m->node, (size_t)id + 1, m->node_room);
	m->node[id] = (struct node){ .line = line, .frame = frame, .parent = parent };
	if (parent) {
		m->node[id].sibling = m->node[parent].child;
		m->node[parent].child = id;
	}
	m->nodes = id + 1;
	return id;
}

/* Node 1 is the root: all live bytes. */
static void add_site(struct massif *m, size_t i)
{
	const struct profile_path *path = profile_path_once(m->profile, m->profile->site[i].key);
	const size_t end = path->count > DEPTH ? path->count - DEPTH : 0;
	uint32_t at = 1;
	size_t k;

	for (k = path->count; k > end; k--)
		at = node_of(m, at, path->line[k - 1], path->frame[k - 1]);
	if (!path->count)
		at = node_of(m, at, &calltree_no_stack, 0);
	if (path->truncated || end)
		at = node_of(m, at, &calltree_cut, 0);
	m->leaf[i] = at;
}

static void make_tree(struct massif *m)
{
	size_t i;

	m->leaf = must_calloc(m->profile->count + 1, sizeof(*m->leaf));
	m->site = flow_sites(m->profile);
	node_of(m, 0, NULL, 0);
	for (i = 0; i < m->profile->count; i++)
		add_site(m, i);
}

/* ---- one tree ---- */

static void sum_up(struct massif *m, const struct point *p)
{
	size_t i;

	for (i = 1; i < m->nodes; i++)
		m->node[i].bytes = 0;
	for (i = p->first; i < p->first + p->parts; i++)
		m->node[m->leaf[m->site[m->part[i].group]]].bytes += m->part[i].bytes;
	for (i = 0; p == &m->peak && i < m->profile->count; i++)
		m->node[m->leaf[i]].bytes += m->profile->site[i].v.peak_bytes;
	/* A child has a higher number than its parent. */
	for (i = m->nodes - 1; i > 1; i--)
		m->node[m->node[i].parent].bytes += m->node[i].bytes;
}

static bool is_small(const struct massif *m, uint64_t bytes)
{
	return (double)bytes * 100 < (double)m->node[1].bytes * m->options->min_percent;
}

/* The bytes of a node that are in its children, and the number of children with a line of their
 * own. */
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

	fprintf(m->out, "0x%" PRIX64 ": ", f ? place_address(f) + (f->object ? o->bias : 0) : 0);
	export_name(m->out, n->line->function, "#", '.'); /* ms_print takes # for a comment */
	if (*n->line->file) {
		fputs(" (", m->out);
		export_name(m->out, basename(n->line->file), "#", '.');
		fprintf(m->out, ":%u)\n", n->line->line);
	} else {
		fputs(" (in ", m->out);
		export_name(m->out, o ? o->path : "?", "#", '.');
		fputs(")\n", m->out);
	}
}

/* The next child to show, in falling order, after `last`. */
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

/* ---- the file ---- */

/* Its readers take fractions of ms, without which the points of a short run would be one. */
static void put_time(struct massif *m, const struct point *p)
{
	m->time = p->time > m->time ? p->time : m->time;
	if (m->options->time == EXPORT_TIME_MS)
		fprintf(m->out, "time=%" PRIu64 ".%03u\n", m->time / 1000000,
			(unsigned)(m->time / 1000 % 1000));
	else
		fprintf(m->out, "time=%" PRIu64 "\n", m->time);
}

static void put_point(struct massif *m, const struct point *p)
{
	const unsigned n = m->written++;
	const bool peak = p == &m->peak, detailed = peak || is_detailed(m, n);

	fprintf(m->out, "#-----------\nsnapshot=%u\n#-----------\n", n);
	put_time(m, p);
	fprintf(m->out,
		"mem_heap_B=%" PRIu64 "\nmem_heap_extra_B=%" PRIu64
		"\nmem_stacks_B=0\nheap_tree=%s\n",
		p->bytes, p->slack,
		peak && !m->part_only ? "peak"
		: detailed	      ? "detailed"
				      : "empty");
	if (!detailed)
		return;
	sum_up(m, p);
	put_node(m, 1, 0);
}

static void put_head(struct massif *m)
{
	static const char *const units[] = { "ms", "B", "i" };
	char *command = place_command_text(m->profile);

	fprintf(m->out, "desc: mprof %s\ncmd: ", MPROF_VERSION);
	export_name(m->out, command, "#", '.');
	free(command);
	fprintf(m->out, "\ntime_unit: %s\n", units[m->options->time]);
}

static void put_points(struct massif *m)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		m->part_only |= m->point[i].bytes > m->peak.bytes;
	for (i = 0; i <= m->count; i++) {
		if (m->before_peak == i + 1)
			put_point(m, &m->peak);
		if (i < m->count)
			put_point(m, &m->point[i]);
	}
}

static void release(struct massif *m)
{
	array_release(&m->live);
	interner_release(&m->keys);
	free(m->point);
	free(m->part);
	free(m->node);
	free(m->leaf);
	free(m->site);
}

int export_massif(struct export *x, struct error *err)
{
	struct flow_ops how = ops;
	struct massif m = {
		.out = x->out,
		.profile = x->profile,
		.options = x->options,
		.wanted = x->options->points ? x->options->points : POINTS,
	};
	struct flow f;
	int ret;

	how.later = x->options->time != EXPORT_TIME_MS;
	ret = flow_run(&f, x, &how, &m, err);
	if (!ret) {
		if (!m.last)
			add_point(&m, &f, end_of(&m, &f));
		make_tree(&m);
		put_head(&m);
		put_points(&m);
	}
	flow_release(&f);
	release(&m);
	return ret;
}
