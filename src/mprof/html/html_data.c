// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * html_data.c - see html_data.h.
 *
 * Nodes of the tree are lines (function, source file and line); the page sums lines to functions
 * where it shows functions.  Nodes are written in preorder with the heaviest child first, so that
 * the first picture needs no sorting.
 */
#include "html_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../pass/course.h"
#include "../pass/resident_shares.h"
#include "../pass/tree.h"
#include "../profile/stack_frames.h"
#include "../profile/paths.h"
#include "../profile/variables.h"
#include "../util/alloc.h"
#include "../util/utf8.h"
#include "../util/order.h"
#include "../util/rank.h"

#define ERROR_SCALE 1024 /* factor of error.*, which may be fractions */

struct writer {
	const struct html_source_data *from;
	struct html_data *to;
	struct html_tree *tree;
	struct html_map map;
	struct cells *cells; /* whose stacks are nodes of the page */
	struct interner text;
	uint32_t *line; /* by key of the tree's lines: line of the page, from 1 */
	size_t lines;
	bool own;		 /* lines of the program's own source are among them */
	uint32_t *deepest;	 /* keys of lines: call stacks of threads, concatenated */
	uint64_t *deepest_bytes; /* of the frame of each */
	size_t deepest_lines, deepest_room, bytes_room, threads;
	struct blob
	    intervals[3]; /* columns: their number of each thread; begin and depth of each */
	size_t interval_rows;
	struct blob deepest_length[2]; /* columns: number of lines of each, and up to the
					* allocating line */
	struct interner files;	       /* paths, in the order of the sources */
	struct blob source[4];	       /* columns: path, text, reason without text, change */
	size_t source_bytes;	       /* of all texts */
};

static void note_intervals(struct writer *w, const struct stack_of *s)
{
	blob_number(&w->intervals[0], s->intervals);
	for (uint32_t i = 0; i < s->intervals; i++) {
		struct stack_interval x = stack_interval(s, i);

		blob_number(&w->intervals[1], (uint64_t)trace_ns(w->from->profile->trace, x.ticks));
		blob_number(&w->intervals[2], x.deepest);
	}
	w->interval_rows += s->intervals;
}

/* Notes where threads used most of their stacks: lines that may be in no node. */
static void note_deepest(struct writer *w)
{
	const struct stack_uses *s = w->from->stacks;
	const struct profile_path *path;
	struct stack_frames f;
	size_t i, k;

	for (; w->threads < s->count && w->threads < HTML_THREADS; w->threads++) {
		i = w->threads;
		note_intervals(w, &s->of[i]);
		stack_frames_find(&f, &s->of[i], w->from->profile);
		path = s->of[i].stack ? profile_path_once(w->from->profile, s->of[i].stack) : NULL;
		blob_number(&w->deepest_length[0], path ? path->count : 0);
		blob_number(&w->deepest_length[1], path ? path->asked : 0);
		for (k = 0; path && k < path->count; k++) {
			GROW(w->deepest, w->deepest_lines + 1, w->deepest_room);
			GROW(w->deepest_bytes, w->deepest_lines + 1, w->bytes_room);
			w->deepest_bytes[w->deepest_lines] = f.line ? f.line[k] : 0;
			w->deepest[w->deepest_lines++] =
			    line_interner_id(&w->tree->tree.lines, path->line[k]);
		}
		stack_frames_release(&f);
	}
}

/* ---- cells ---- */

static void make_cells(struct writer *w)
{
	struct cells *s = w->from->cells;
	size_t i, n = 0;

	w->cells = s;
	for (i = 0; i < s->count; i++) {
		struct cell c = s->cell[i];

		c.stack = c.stack < w->map.stacks ? w->map.node_of[c.stack] : HTML_NO_NODE;
		if (c.stack != HTML_NO_NODE) /* else excluded by the filters */
			s->cell[n++] = c;
	}
	s->count = n;
	cells_merge(s);
	while (s->count > CELLS_MOST && s->points > CELLS_POINTS_LEAST) {
		cells_halve(s, true);
		cells_merge(s);
	}
}

/* ---- columns ---- */

static void column(struct writer *w, const char *name, size_t count)
{
	struct html_data *to = w->to;

	GROW(to->column, to->columns + 1, to->column_room);
	snprintf(to->column[to->columns].name, sizeof(to->column->name), "%s", name);
	to->column[to->columns++].count = count;
}

/* Puts a column of `count` numbers: the values of an expression for each `i`. */
#define PUT_COLUMN(name, count, value)                     \
	do {                                               \
		column(w, name, count);                    \
		for (i = 0; i < (count); i++)              \
			blob_number(b, (uint64_t)(value)); \
	} while (0)

static uint32_t text_of(struct writer *w, const char *text)
{
	char *made;
	const char *clean = utf8_clean(text, &made);
	uint32_t id = interner_id(&w->text, clean, strlen(clean));

	free(made);
	return id;
}

/* ---- sources ---- */

/* Returns the text of a path, without the home directory if others may read the page. */
static uint32_t path_of(struct writer *w, const char *path)
{
	char *hidden = w->from->hide_home ? html_hide_home(path) : NULL;
	uint32_t id;

	id = text_of(w, hidden ? hidden : path);
	free(hidden);
	return id;
}

static void embed(struct writer *w, size_t file)
{
	struct html_source s = { .why = "" };

	if (w->from->sources->embed)
		html_source_read(&s, w->from->sources, file);

	if (s.text && (w->source_bytes += strlen(s.text)) > HTML_SOURCES_MOST) {
		free(s.text);
		s = (struct html_source){ .why = "the sources in one page are limited to 8 MiB" };
	}
	blob_number(&w->source[1], s.text ? text_of(w, s.text) : 0);
	blob_number(&w->source[2], !s.text && *s.why ? text_of(w, s.why) : 0);
	blob_number(&w->source[3], s.change);
	free(s.text);
}

/* Adds a file that a line refers to, unless it is known. */
static void add_source(struct writer *w, const struct sym_line *line)
{
	struct html_sources *all = w->from->sources;
	uint32_t id = interner_id(&w->files, line->file, strlen(line->file));

	if (id <= all->files)
		return;
	html_sources_add(all, w->from->profile, line->file, line->module);
	blob_number(&w->source[0], path_of(w, line->file));
	embed(w, id - 1);
}

static void put_columns(struct writer *w, struct blob *b, const char *const *name,
			struct blob *part, size_t parts, size_t count)
{
	size_t i;

	for (i = 0; i < parts; i++) {
		column(w, name[i], count);
		blob_add(b, part[i].data, part[i].used);
		blob_release(&part[i]);
	}
}

static void put_sources(struct writer *w, struct blob *b)
{
	static const char *const name[] = { "source.file", "source.text", "source.why",
					    "source.change" };

	put_columns(w, b, name, w->source, 4, w->from->sources->files);
}

/* ---- lines and nodes ---- */

/* line.library of a line; a text of Python (named tuples, .pth files) never owns. */
static unsigned library_of(const struct writer *w, const struct sym_line *line)
{
	if (w->own && profile_is_loop(line))
		return 4;
	if (profile_is_library(line))
		return profile_is_wrapper(line) ? 3 : 1;
	if (!w->own || !profile_is_package(w->from->profile, line))
		return 0;
	return paths_is_text(line) ? 1 : 2;
}

/* Returns a node of the page. */
static const struct calltree_node *node_at(const struct writer *w, size_t i)
{
	return &w->tree->tree.node[w->tree->order[i]];
}

/* Puts a line, unless it is known. */
static void put_line(struct writer *w, struct blob *part, uint32_t key)
{
	const struct sym_line *line = line_interner_line(&w->tree->tree.lines, key);

	if (w->line[key])
		return;
	w->line[key] = (uint32_t)++w->lines;
	blob_number(&part[0], text_of(w, line->function));
	blob_number(&part[1], *line->file ? path_of(w, line->file) : 0);
	blob_number(&part[2], line->line);
	blob_number(&part[3], text_of(w, line->module));
	blob_number(&part[4], library_of(w, line));
	if (*line->file)
		add_source(w, line);
}

/* Puts the lines of visible nodes, in the order of their first use. */
static void put_lines(struct writer *w, struct blob *b)
{
	static const char *const name[] = { "line.function", "line.file", "line.line",
					    "line.module", "line.library" };
	static const char *const deepest_name[] = { "deepest.lines", "deepest.asked",
						    "deepest.line", "deepest.bytes" };
	static const char *const interval_name[] = { "interval.count", "interval.ns",
						     "interval.deepest" };
	struct blob part[5] = { { .data = NULL } }, deepest[2] = { { .data = NULL } };
	size_t i;

	for (i = 1; i < w->to->nodes && !w->own; i++)
		w->own = profile_is_own(w->from->profile, node_at(w, i)->line);
	for (i = 1; i < w->to->nodes; i++)
		put_line(w, part, node_at(w, i)->key);
	for (i = 0; i < w->deepest_lines; i++) {
		put_line(w, part, w->deepest[i]);
		blob_number(&deepest[0], w->line[w->deepest[i]]);
		blob_number(&deepest[1], w->deepest_bytes[i]);
	}
	put_columns(w, b, name, part, 5, w->lines);
	put_columns(w, b, deepest_name, w->deepest_length, 2, w->threads);
	put_columns(w, b, deepest_name + 2, deepest, 2, w->deepest_lines);
	put_columns(w, b, interval_name, w->intervals, 1, w->threads);
	put_columns(w, b, interval_name + 1, w->intervals + 1, 2, w->interval_rows);
	put_sources(w, b);
}

/* Puts depths, as levels up from the previous node: 0 for its child. */
static void put_nodes(struct writer *w, struct blob *b)
{
	const struct calltree_node *node = w->tree->tree.node;
	uint32_t before = 0, up;
	size_t i;

	column(w, "node.up", w->to->nodes ? w->to->nodes - 1 : 0);
	for (i = 1; i < w->to->nodes; i++) {
		for (up = 0; before != node_at(w, i)->parent; up++)
			before = node[before].parent;
		blob_number(b, up);
		before = w->tree->order[i];
	}
	column(w, "node.line", w->to->nodes ? w->to->nodes - 1 : 0);
	for (i = 1; i < w->to->nodes; i++)
		blob_number(b, w->line[node_at(w, i)->key]);
}

/* Puts each node's own figures; those of omitted nodes count for the node above. */
static void put_figures(struct writer *w, struct blob *b)
{
	const struct html_tree *t = w->tree;
	uint64_t *own = must_malloc((t->nodes + 1) * sizeof(*own));
	char name[64];
	size_t k, i;

	for (k = 0; k < VALUE_COUNT; k++) {
		/* The heaviest at the peak is first. */
		const size_t value = !k ? VALUE_PEAK : k <= VALUE_PEAK ? k - 1 : k;

		memset(own, 0, t->nodes * sizeof(*own));
		for (i = 0; i < t->sites; i++)
			own[t->node_of[i]] += t->figure[value][i];
		snprintf(name, sizeof(name), "own.%s",
			 profile_value_name((enum profile_value)value));
		PUT_COLUMN(name, t->nodes, own[i]);
	}
	free(own);
}

/* Puts sizes and lifetimes of each node's own blocks: minimum and maximum, plus 1; 0 without
 * blocks. */
static void put_extremes(struct writer *w, struct blob *b)
{
	static const char *const name[HTML_EXTREMES] = {
		[HTML_FREED] = "own.freed",
		[HTML_SIZE_MIN] = "extreme.size_least",
		[HTML_SIZE_MAX] = "extreme.size_most",
		[HTML_LIFE_MIN] = "extreme.life_least",
		[HTML_LIFE_MAX] = "extreme.life_most",
	};
	const struct html_tree *t = w->tree;
	uint64_t *own = must_malloc((t->nodes + 1) * sizeof(*own));
	size_t i, k;

	for (k = 0; k < HTML_EXTREMES; k++) {
		const uint64_t *figure = t->figure[VALUE_COUNT + k];

		memset(own, 0, t->nodes * sizeof(*own));
		for (i = 0; i < t->sites; i++) {
			uint64_t *to = &own[t->node_of[i]];
			const bool least = k == HTML_SIZE_MIN || k == HTML_LIFE_MIN;

			if (k == HTML_FREED)
				*to += figure[i];
			else if (figure[i] && (!*to || (least ? figure[i] < *to : figure[i] > *to)))
				*to = figure[i];
		}
		PUT_COLUMN(name[k], t->nodes, own[i]);
	}
	free(own);
}

/* Returns the node of a stack; the root for stacks that the filters exclude. */
static uint32_t node_of_stack(const struct writer *w, uint32_t stack)
{
	const uint32_t node = stack < w->map.stacks ? w->map.node_of[stack] : HTML_NO_NODE;

	return node == HTML_NO_NODE ? 0 : node;
}

/*
 * Puts resident pages by the blocks on them: all nodes for the largest sample, those with many
 * pages for the others.
 */
static void put_shares(struct writer *w, struct blob *b)
{
	static const char *const name[] = { "share.sample", "share.node", "share.bytes" };
	const struct resident_shares *s = w->from->shares;
	const struct resident_share *each = s->share.item, *largest = s->largest.item;
	const size_t step = html_samples_step(s->samples);
	uint64_t *own = must_calloc(w->to->nodes + 1, sizeof(*own));
	struct blob part[3] = { { .data = NULL } };
	size_t i, n = 0;

	for (i = 0; i < s->largest.count; i++)
		own[node_of_stack(w, largest[i].stack)] += largest[i].bytes;
	PUT_COLUMN("own.resident", w->to->nodes, own[i]);
	for (i = 0; i < s->share.count; i++) {
		if (each[i].sample % step)
			continue;
		blob_number(&part[0], each[i].sample / step);
		blob_number(&part[1], node_of_stack(w, each[i].stack));
		blob_number(&part[2], each[i].bytes);
		n++;
	}
	put_columns(w, b, name, part, 3, n);
	free(own);
}

/*
 * Puts the error of estimates (profile/estimate.h): each node's own variances, and its largest
 * samples.
 */
static void put_errors(struct writer *w, struct blob *b)
{
	static const char *const name[] = { "error.samples",	    "error.calls",
					    "error.bytes",	    "error.live_bytes",
					    "error.heaviest_calls", "error.heaviest_bytes" };
	enum { SAMPLES, CALLS, BYTES, LIVE_BYTES, HEAVIEST_CALLS, HEAVIEST_BYTES, ERRORS };
	const struct html_tree *t = w->tree;
	double(*node)[ERRORS] = must_calloc(w->to->nodes + 1, sizeof(*node));
	size_t i, k;

	for (i = 0; i < t->sites; i++) {
		const struct site_error *e = &t->error[i];
		double *to = node[t->node_of[i]];

		to[SAMPLES] += (double)e->samples;
		to[CALLS] += e->calls;
		to[BYTES] += e->by_calls ? 0 : e->bytes;
		to[LIVE_BYTES] += e->by_calls ? 0 : e->live_bytes;
		to[HEAVIEST_CALLS] = fmax(to[HEAVIEST_CALLS], e->heaviest_calls);
		to[HEAVIEST_BYTES] = fmax(to[HEAVIEST_BYTES], e->heaviest_bytes);
	}
	for (k = 0; k < ERRORS; k++)
		PUT_COLUMN(name[k], w->to->nodes,
			   node[i][k] < 0x1p63 ? node[i][k] * ERROR_SCALE : 0);
	free(node);
}

static void add_sample(struct mprof_sample *to, const struct mprof_sample *s, uint64_t sign)
{
	to->rss += sign * s->rss;
	to->rss_anon += sign * s->rss_anon;
	to->virt += sign * s->virt;
}

/* Adds a process to the points from which on, and until which, each of its samples counts. */
static void add_samples(const struct html_source_data *from, const struct heap_process *of,
			const struct cells_point *q, size_t points, struct mprof_sample *change)
{
	const struct walk_input *in = &from->profile->walk.input;
	const struct tree_process *process = tree_find(from->tree, of->number);
	const struct mprof_sample *s;
	const size_t n = in->samples(in->context, of->number, &s);
	size_t first, end, most, lives;

	/* Without an end time, a process that ended has no memory after its last sample. */
	lives = process && process->end_ticks
		    ? FIRST_WHERE(i, points, q[i].ticks > process->end_ticks)
		: of->state == HEAP_RUNNING ? points
					    : 0;
	for (size_t k = 0; k < n; k++) {
		first = FIRST_WHERE(i, points, q[i].ticks >= s[k].ticks);
		end = k + 1 < n ? FIRST_WHERE(i, points, q[i].ticks >= s[k + 1].ticks) : points;
		most = k + 1 < n && !(process && process->end_ticks) ? points : lives;
		most = most > first ? most : FIRST_WHERE(i, points, q[i].ticks > s[k].ticks);
		end = end < most ? end : most;
		if (first >= end)
			continue;
		add_sample(&change[first], &s[k], 1);
		add_sample(&change[end], &s[k], (uint64_t)-1);
	}
}

/* Sums the last samples of all processes at each point; 0 if unknown. */
static void sum_samples(const struct html_source_data *from, const struct cells_point *q,
			size_t points, struct mprof_sample *sample)
{
	const struct walk *w = &from->profile->walk;

	for (size_t i = 0; w->input.samples && i < w->heap.processes; i++)
		add_samples(from, w->heap.process[i], q, points, sample);
	for (size_t i = 1; i < points; i++)
		add_sample(&sample[i], &sample[i - 1], 1);
}

/* The same for a profile's process, at the end of a step. */
static struct mprof_sample stepped(const struct course *c, size_t i)
{
	return i < c->count
		   ? (struct mprof_sample){ .rss = c->step[i].resident, .virt = c->step[i].mapped }
		   : (struct mprof_sample){ .rss = 0 };
}

/* The last sample of the machine's memory up to a time; before the first one that one. */
static struct mprof_system system_at(const struct walk_input *in, uint64_t ticks)
{
	const size_t after = FIRST_WHERE(i, in->system_count, in->system[i].ticks > ticks);

	if (!in->system_count)
		return (struct mprof_system){ .ticks = ticks };
	return in->system[after ? after - 1 : 0];
}

static void put_points(struct writer *w, struct blob *b)
{
	const struct cells_point *q = w->cells->point;
	const size_t points = w->cells->points;
	struct mprof_sample *sample = must_calloc(points + 1, sizeof(*sample));
	struct mprof_system *system = must_calloc(points + 1, sizeof(*system));
	size_t i;

	for (i = 0; i < points; i++)
		system[i] = system_at(&w->from->profile->walk.input, q[i].ticks);
	for (i = 0; i < points && w->from->course; i++)
		sample[i] = stepped(w->from->course, i);
	if (!w->from->course)
		sum_samples(w->from, q, points, sample);
#define COLUMN(name, value) PUT_COLUMN("point." name, points, value)
	COLUMN("ns", q[i].ns > 0 ? q[i].ns : 0);
	COLUMN("live", q[i].live.bytes);
	COLUMN("blocks", q[i].live.blocks);
	COLUMN("slack", q[i].live.slack);
	COLUMN("calls", q[i].calls);
	COLUMN("bytes", q[i].bytes);
	COLUMN("frees", q[i].frees);
	COLUMN("freed", q[i].freed);
	COLUMN("temporary", q[i].temporary);
	COLUMN("mapped", q[i].mapped);
	COLUMN("rss", sample[i].rss);
	COLUMN("anonymous", sample[i].rss_anon);
	COLUMN("virtual", sample[i].virt);
	COLUMN("available", system[i].available);
	COLUMN("free", system[i].free);
	COLUMN("swapped", system[i].swap_total - system[i].swap_free);
#undef COLUMN
	free(system);
	free(sample);
}

/* Puts cells.  Nodes ascend, births ascend within a node; both as differences.  death is
 * relative to birth. */
static void put_cells(struct writer *w, struct blob *b)
{
	const struct heap *h = &w->from->profile->walk.heap;
	const struct cell *c = w->cells->cell;
	size_t i;

#define COLUMN(name, value) PUT_COLUMN("cell." name, w->cells->count, value)
	COLUMN("node", c[i].stack - (i ? c[i - 1].stack : 0));
	COLUMN("birth", c[i].birth - (i && c[i - 1].stack == c[i].stack ? c[i - 1].birth : 0));
	COLUMN("life", c[i].death - c[i].birth);
	COLUMN("thread",
	       c[i].thread < h->threads && !w->cells->coarse ? h->thread[c[i].thread].number : 0);
	COLUMN("size_class", c[i].size_class);
	COLUMN("life_class", c[i].life_class);
	COLUMN("blocks", c[i].blocks);
	COLUMN("bytes", c[i].bytes);
	COLUMN("temporary", c[i].temporary);
#undef COLUMN
}

static void put_threads(struct writer *w, struct blob *b)
{
	const struct heap *h = &w->from->profile->walk.heap;
	size_t i;

	PUT_COLUMN("thread.number", h->threads, h->thread[i].number);
	PUT_COLUMN("thread.process", h->threads, h->process[h->thread[i].process]->number);
}

/* Puts the largest variables; their sums are in HEAD. */
static void put_variables(struct writer *w, struct blob *b)
{
	static const char *const name[] = { "variable.name",  "variable.object",
					    "variable.file",  "variable.line",
					    "variable.bytes", "variable.resident",
					    "variable.thread" };
	const struct stacks *stacks = w->from->profile->stacks;
	struct blob part[7] = { { .data = NULL } };
	size_t i;

	for (i = 0; i < w->from->variables->count && i < HTML_VARIABLES; i++) {
		const struct variable *x = &w->from->variables->of[i];

		blob_number(&part[0], text_of(w, x->v.name));
		blob_number(&part[1], path_of(w, stacks->object[x->v.object].path));
		blob_number(&part[2], *x->v.file ? path_of(w, x->v.file) : 0);
		blob_number(&part[3], x->v.line);
		blob_number(&part[4], x->v.size);
		blob_number(&part[5], x->known ? x->resident + 1 : 0);
		blob_number(&part[6], x->v.tls);
	}
	put_columns(w, b, name, part, 7, i);
}

/* Puts texts last, because the other columns number them: their lengths, then the bytes. */
static void put_texts(struct writer *w, struct blob *b)
{
	uint32_t id;

	column(w, "text.bytes", w->text.count);
	for (id = 1; id <= w->text.count; id++)
		blob_number(b, interner_bytes(&w->text, id));
	for (id = 1; id <= w->text.count; id++)
		blob_add(b, interner_text(&w->text, id), interner_bytes(&w->text, id));
}

static void write_columns(struct writer *w)
{
	struct blob *b = &w->to->blob;

	w->line = must_calloc(w->tree->tree.lines.keys.count + 1, sizeof(*w->line));
	put_lines(w, b);
	put_nodes(w, b);
	put_figures(w, b);
	put_extremes(w, b);
	if (w->from->shares && w->from->shares->largest.count)
		put_shares(w, b);
	if (w->tree->error)
		put_errors(w, b);
	put_points(w, b);
	put_cells(w, b);
	put_threads(w, b);
	put_variables(w, b);
	put_texts(w, b);
}

void html_data_make(struct html_data *to, const struct html_source_data *from, struct html_map *map)
{
	struct writer w = { .from = from, .to = to, .tree = from->figures };

	*to = (struct html_data){ .column = NULL };
	html_tree_make(w.tree);
	note_deepest(&w);
	html_tree_order(w.tree, from->most_nodes ? from->most_nodes : HTML_NODES, &w.map);
	to->nodes = w.tree->nodes;
	to->merged_nodes = w.tree->merged;
	make_cells(&w);
	write_columns(&w);
	html_tree_release(w.tree);
	cells_forget(from->cells);
	if (map)
		*map = w.map;
	else
		html_map_release(&w.map);
	interner_release(&w.text);
	interner_release(&w.files);
	free(w.line);
	free(w.deepest);
	free(w.deepest_bytes);
	blob_deflate(&to->blob);
}

void html_data_release(struct html_data *d)
{
	blob_release(&d->blob);
	free(d->column);
	d->column = NULL;
}
