// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * view_peak_rss.c - what the memory of the process consisted of, the functions that mapped memory
 * without malloc, call stacks of the blocks live when the process was largest, then every function
 * on them with the live bytes allocated through it and through its callees.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../util/order.h"
#include "../pass/maps.h"
#include "../pass/resident_parts.h"
#include "../pass/rss.h"
#include "../profile/callgraph.h"
#include "../profile/paths.h"
#include "../util/alloc.h"
#include "flat_view.h"
#include "json_rows.h"
#include "print_table.h"

#define MAPPERS	       8u /* functions that mapped memory, without --top */
#define MAPPER_CALLERS 4u /* callers of one of them that have rows of their own */

struct own {
	struct maps maps;
	struct resident_parts parts;
};

static int prepare(struct view_request *r, struct error *err)
{
	struct own *own = r->own;

	view_needs(r, &maps_pass, &own->maps);
	view_needs(r, &resident_largest_pass, &own->parts);
	return 0;
}

static struct long_text about(const struct view_request *r, const struct profile_group *g)
{
	struct long_text t;

	snprintf(t.s, sizeof(t.s), "in %s", format_many(g->v->rss_calls, "block", "blocks").s);
	return t;
}

static struct text cell(const struct view_request *r, const struct profile_group *g)
{
	return format_count(g->v->rss_calls);
}

/* ---- functions and what they called ---- */

static void figure(const void *context, const struct profile *p, size_t i, uint64_t *to)
{
	*to = p->site[i].v.rss_bytes;
}

ORDER_IN(by_all, uint32_t, struct callgraph,
	 COMPARE(in->node[*y].all[0], in->node[*x].all[0]) ?: COMPARE(*x, *y))

/* Sorts by caller, the largest edge first. */
ORDER(by_caller, struct callgraph_edge, RISING(from) ?: FALLING(v[0]))

static bool is_small(const struct view_request *r, uint64_t part, uint64_t of)
{
	return !part || (double)part * 100 < r->min_percent * (double)of;
}

/* line NULL = the function itself. */
static void print_held(const struct sym_line *line, uint64_t part, uint64_t of, int indent,
		       FILE *out)
{
	fprintf(out, "%*s%10s  %5s  ", indent, "", format_bytes(part).s,
		format_percent(part, of).s);
	if (line)
		figures_line(out, line, false);
	else
		fputs("itself", out);
	fputc('\n', out);
}

static void print_callees(const struct view_request *r, const struct callgraph *g, uint32_t node,
			  FILE *out)
{
	const uint64_t all = g->node[node].all[0], own = g->node[node].own[0];
	size_t i = FIRST_WHERE(k, g->edges, g->edge[k].from >= node);

	if (own)
		print_held(NULL, own, all, 8, out);
	for (; i < g->edges && g->edge[i].from == node; i++)
		if (!is_small(r, g->edge[i].v[0], all))
			print_held(g->node[g->edge[i].to].line, g->edge[i].v[0], all, 8, out);
}

/* For a path of two such lines, the first would be left out. */
static bool only_starts(const struct sym_line *line)
{
	const struct sym_line *const twice[] = { line, line };

	return paths_start_lines(twice, 2) > 0;
}

static void print_functions(const struct view_request *r, struct callgraph *g, uint32_t *order,
			    FILE *out)
{
	size_t i;

	for (i = 0; i < g->nodes; i++)
		order[i] = (uint32_t)i;
	SORT_IN(order, g->nodes, by_all, g);
	SORT(g->edge, g->edges, by_caller);
	fputs("\nFunctions: live bytes allocated through each, and by its callees\n", out);
	for (i = 0; i < g->nodes && (!r->top || i < r->top); i++) {
		const struct callgraph_node *n = &g->node[order[i]];

		if (is_small(r, n->all[0], g->total[0]))
			break;
		if (only_starts(n->line))
			continue;
		fputc('\n', out);
		print_held(n->line, n->all[0], g->total[0], 2, out);
		print_callees(r, g, order[i], out);
	}
}

static void functions(struct view_request *r, FILE *out)
{
	const struct callgraph_options o = { .same = LINE_FUNCTION, .figures = 1 };
	struct callgraph g;
	uint32_t *order;

	callgraph_make(&g, r->profile, &o, figure, NULL);
	order = must_calloc(g.nodes + 1, sizeof(*order));
	print_functions(r, &g, order, out);
	free(order);
	callgraph_release(&g);
}

/* ---- memory that is not of malloc ---- */

/* A function that mapped memory. */
struct mapper_row {
	struct profile_asked who;
	uint64_t mapped, resident;
};

ORDER(by_mapper, struct mapper_row,
      sym_order_functions(x->who.line, y->who.line) ?:
      sym_order_functions(x->who.caller, y->who.caller) ?: FALLING(mapped))
ORDER(by_resident, struct mapper_row, FALLING(resident) ?: FALLING(mapped) ?: by_mapper(x, y))

static const struct maps_of *maps_of_process(const struct view_request *r)
{
	const struct maps *m = &((const struct own *)r->own)->maps;
	const struct maps_of *of = m->process.item;
	const struct profile *p = r->profile;

	for (size_t i = 0; i < m->process.count && i < p->walk.heap.processes; i++)
		if (p->walk.heap.process[i]->number == p->sites.rss.process)
			return &of[i];
	return NULL;
}

/* Finds the function that mapped, and its caller. */
static void name_mapper(struct mapper_row *row, struct profile *p, uint32_t stack)
{
	row->who = profile_asked(p, stack);
	if (row->who.line && !row->who.caller)
		row->who.caller = profile_caller(p, stack, row->who.line);
}

static bool is_mapper(const struct mapper_row *x, const struct mapper_row *y, bool with_caller)
{
	return !sym_order_functions(x->who.line, y->who.line) &&
	       (!with_caller || !sym_order_functions(x->who.caller, y->who.caller));
}

/* Merges n sorted rows of a function, by caller or all of them, and returns how many remain. */
static size_t merge_mapper(struct mapper_row *row, size_t n, bool by_callers)
{
	size_t i, rows = 1;

	for (i = 1; i < n; i++) {
		struct mapper_row *last = &row[rows - 1];

		if (!is_mapper(last, &row[i], by_callers)) {
			row[rows++] = row[i];
			continue;
		}
		last->mapped += row[i].mapped;
		last->resident += row[i].resident;
	}
	return rows;
}

static void take_private(struct mapper_row *to, const struct maps_of *of,
			 const struct maps_site *site)
{
	to->mapped =
	    of->looked ? site->looked : site->peak - site->peak_reserved + site->break_most;
	to->resident = site->resident + site->break_resident;
}

static void take_files(struct mapper_row *to, const struct maps_of *of,
		       const struct maps_site *site)
{
	(void)of;
	to->mapped = site->file_peak;
	to->resident = 0;
}

typedef void take_row(struct mapper_row *to, const struct maps_of *of,
		      const struct maps_site *site);

/* Returns one row for each function, or for each of its callers if these are few; the largest
 * first.  The caller frees them. */
static struct mapper_row *mapper_rows(const struct maps_of *of, struct profile *p, take_row *take,
				      size_t *rows)
{
	const struct maps_site *site = of->site.item;
	struct mapper_row *row = must_calloc(of->site.count + 1, sizeof(*row));
	size_t i, k, n = 0;

	for (i = 0; i < of->site.count; i++) {
		struct mapper_row *to = &row[n];

		take(to, of, &site[i]);
		if (!to->mapped && !to->resident)
			continue;
		name_mapper(to, p, site[i].stack);
		n++;
	}
	SORT(row, n, by_mapper);
	for (*rows = i = 0; i < n; i = k) {
		struct mapper_row *first = &row[*rows];
		size_t callers = 1;

		for (k = i + 1; k < n && is_mapper(&row[i], &row[k], false); k++)
			callers += !is_mapper(&row[k - 1], &row[k], true);
		memmove(first, &row[i], (k - i) * sizeof(*row));
		*rows += merge_mapper(first, k - i, callers <= MAPPER_CALLERS);
		if (callers > MAPPER_CALLERS)
			first->who.caller = NULL;
	}
	SORT(row, *rows, by_resident);
	return row;
}

/* Prints "map (a.c:7), called by get (a.c:12)". */
static void print_mapper(const struct mapper_row *row, FILE *out)
{
	if (row->who.line)
		figures_line(out, row->who.line, true);
	else
		fputs("unknown", out);
	if (row->who.caller) {
		fputs(", called by ", out);
		figures_line(out, row->who.caller, true);
	}
}

static void print_mappers(const struct view_request *r, const struct maps_of *of, take_row *take,
			  const char *title, const char *when, FILE *out)
{
	struct table t = TABLE(">mapped", ">resident", "<function");
	struct table of_files = TABLE(">mapped", "<function");
	const size_t top = !r->top_said ? MAPPERS : r->top ? r->top : SIZE_MAX;
	size_t rows, i;
	struct mapper_row *row = mapper_rows(of, r->profile, take, &rows);

	for (i = 0; i < rows && i < top; i++) {
		char *name = WRITTEN(text, print_mapper(&row[i], text));
		const struct text mapped = format_bytes(row[i].mapped);

		if (take == take_files)
			table_cells(&of_files, mapped.s, name);
		else
			table_cells(&t, mapped.s,
				    of->looked ? format_bytes(row[i].resident).s : "-", name);
		free(name);
	}
	if (rows) {
		fprintf(out, "\n%s, %s:\n\n", title, when);
		table_print(take == take_files ? &of_files : &t, out);
	}
	if (i < rows)
		fprintf(out, "  and %s; --top 0 shows all\n",
			format_many(rows - i, "smaller one", "smaller ones").s);
	free(row);
}

/* ---- parts ---- */

/* Returns the sample with most private pages.  NULL: its blocks are unknown, or pages were read
 * only when the process was much smaller than later. */
static const struct resident_parts_sample *parts_of_process(const struct view_request *r)
{
	const struct resident_parts *parts = &((const struct own *)r->own)->parts;
	const struct resident_parts_sample *s = parts->sample.item;
	const struct profile *p = r->profile;
	const struct trace_reduced *reduced;

	if (p->header->dropped_ticks || trace_reduced(p->trace, &reduced))
		return NULL;
	for (size_t i = 0; i < parts->sample.count; i++)
		if (s[i].found && s[i].process == p->sites.rss.process)
			return s[i].rss >= p->sites.rss.rss / 4 * 3 ? &s[i] : NULL;
	return NULL;
}

struct part {
	const char *what;
	uint64_t bytes;
};

ORDER(by_bytes, struct part, FALLING(bytes))

static void print_parts(const struct view_request *r, const struct resident_parts_sample *s,
			FILE *out)
{
	const struct profile *p = r->profile;
	const uint64_t own = resident_own(s, tree_find(&p->tree, s->process));
	struct part part[] = {
		{ "live blocks", s->live },
		{ "the allocator's rounding of their sizes", s->rounding },
		{ "gaps: the rest of pages with live blocks", s->gaps },
		{ "retained: freed memory that the allocator keeps", s->retained },
		{ "mapped by the program itself", s->mapped },
		{ "mprof itself, at most", own },
		{ "stacks, variables, and other memory", s->other - own },
		{ "code, files and shared memory", s->files },
	};
	const size_t parts = sizeof(part) / sizeof(*part);
	struct table t = TABLE(">Resident", ">Share", "<Part");
	uint64_t all = 0;

	for (size_t i = 0; i < parts; i++)
		all += part[i].bytes;
	SORT(part, parts, by_bytes);
	for (size_t i = 0; i < parts && part[i].bytes; i++)
		table_cells(&t, format_bytes(part[i].bytes).s, format_percent(part[i].bytes, all).s,
			    part[i].what);
	fprintf(out, "\nWhat was resident %s, when %s was:\n\n",
		flat_moment(walk_ns(&p->walk, s->ticks)).s, format_bytes(all).s);
	table_print(&t, out);
}

/* ---- text ---- */

/* Prints who mapped memory, if that is a notable part of the process. */
static void mappers(struct view_request *r, FILE *out)
{
	static const char most[] = "when most was mapped";
	const struct maps_of *of = maps_of_process(r);
	const uint64_t least = r->profile->sites.rss.rss / 16;

	if (!of || !r->profile->has_stacks)
		return;
	if (of->peak + (uint64_t)of->break_peak >= least)
		print_mappers(
		    r, of, take_private, "Mapped by the program itself (mmap, brk, sbrk)",
		    of->looked ? flat_moment(walk_ns(&r->profile->walk, of->looked)).s : most, out);
	if (of->file_peak >= least)
		print_mappers(r, of, take_files, "Files and shared memory that it mapped", most,
			      out);
}

/* Prints the process: its number if there are several, and its last program. */
static void print_process(const struct profile *p, uint32_t number, FILE *out)
{
	const struct tree_process *process = tree_find(&p->tree, number);

	if (p->tree.processes < 2)
		fputs("The program", out);
	else
		fprintf(out, "Process %" PRIu32, number);
	if (p->tree.processes > 1 && process && process->images)
		fprintf(out, " (pid %" PRId32 ", %s)", process->pid, text_process(process, 60).s);
}

/* Prints "between A and B", as precisely as known. */
static void print_when(const struct site_snapshot *m, FILE *out)
{
	const struct text from = format_since(m->from_ns), to = format_since(m->to_ns);

	if (m->sampled)
		fprintf(out, "%s, according to samples", flat_moment(m->ns).s);
	else if (m->to_ns == INT64_MAX)
		fprintf(out, "later than %s", flat_moment(m->from_ns).s);
	else if (!strcmp(from.s, to.s))
		fprintf(out, "%s (accurate to %s)", flat_moment(m->to_ns).s,
			format_since(m->to_ns - m->from_ns).s);
	else
		fprintf(out, "between %s and %s", from.s, flat_moment(m->to_ns).s);
}

/* Prints live blocks.  The kernel's counters lag, but no more than that can be resident. */
static void print_blocks(const struct profile *p, const struct site_snapshot *m, FILE *out)
{
	const struct trace_reduced *reduced;
	uint64_t swapped;

	if (m->ticks < p->header->dropped_ticks) {
		fputs("  of which live blocks:  unknown, as calls until then were dropped\n", out);
		return;
	}
	if (p->header->dropped_ticks || trace_reduced(p->trace, &reduced)) {
		fprintf(
		    out,
		    "  of which live blocks:  at least %s in %s; calls of others were not kept\n",
		    format_exact(m->bytes).s, format_many(m->calls, "block", "blocks").s);
		return;
	}
	if (m->bytes <= m->rss + rss_lag(m->rss)) {
		fprintf(out, "  of which live blocks:  %s in %s (%s)\n", format_exact(m->bytes).s,
			format_many(m->calls, "block", "blocks").s,
			format_percent(m->bytes < m->rss ? m->bytes : m->rss, m->rss).s);
		return;
	}
	fprintf(out,
		"  live blocks:  %s in %s: at least %s of that was not resident, because it was ",
		format_exact(m->bytes).s, format_many(m->calls, "block", "blocks").s,
		format_bytes(m->bytes - m->rss).s);
	swapped = rss_swapped(&p->walk.input);
	if (swapped)
		fprintf(out,
			"swapped out (up to %s in the run), not written to, or returned to the "
			"system\n",
			format_bytes(swapped).s);
	else
		fputs("not written to or was returned to the system\n", out);
}

/* with_parts: names parts that no table has. */
static void print_moment(const struct view_request *r, bool with_parts, FILE *out)
{
	const struct profile *p = r->profile;
	const struct site_snapshot *m = &p->sites.rss;
	const struct tree_process *process = tree_find(&p->tree, m->process);

	print_process(p, m->process, out);
	fputs(" was largest ", out);
	print_when(m, out);
	fprintf(out, ", with %s resident.\n", format_exact(m->rss).s);
	print_blocks(p, m, out);
	if (p->total.rss_bytes != m->bytes)
		fprintf(out, "  of these, selected:  %s in %s (%s)\n",
			format_exact(p->total.rss_bytes).s,
			format_many(p->total.rss_calls, "block", "blocks").s,
			format_percent(p->total.rss_bytes, m->bytes).s);
	if (with_parts && process && process->self_bytes)
		fprintf(out, "  of which mprof itself:  %s\n", format_bytes(process->self_bytes).s);
	if (with_parts && process && tree_files(process) >= TREE_FILES)
		fprintf(out,
			"  of which files and shared memory:  at least %s (not part of mmap)\n",
			format_bytes(tree_files(process)).s);
	if (process && process->huge_most)
		fprintf(out, "  of which transparent huge pages:  up to %s\n",
			format_bytes(process->huge_most * p->walk.heap.page_size).s);
	if (m->arena)
		fprintf(out, "  brk and sbrk: %s added to the heap\n", format_bytes(m->arena).s);
	if (m->mapped)
		fprintf(out, "  mmap: %s mapped by the program itself%s\n",
			format_bytes(m->mapped).s,
			m->mapped / 2 > m->rss ? ", most of it not resident" : "");
	if (m->cpu_ns)
		fprintf(out, "  CPU time until then: %s\n", format_ns(m->cpu_ns).s);
	if (m->unseen && process && !process->said_end)
		fprintf(out,
			"  Later it allocated and mapped up to %s more; how much of that was\n"
			"  resident is unknown: it was not measured again.\n",
			format_bytes(m->unseen).s);
}

static void text(struct view_request *r, FILE *out)
{
	const struct profile *p = r->profile;
	const struct flat_view flat = {
		.nothing = flat_none_live(&p->sites.rss),
		.about = about,
		.title = ">blocks",
		.cell = cell,
	};
	const struct resident_parts_sample *parts;

	if (!p->sites.rss.rss && p->sites.options.filter.process) {
		fprintf(out, "The size of process %" PRIu32 " was never read.\n",
			p->sites.options.filter.process);
		return;
	}
	if (!p->sites.rss.rss) {
		fputs(
		    "The size of the process over time is unknown (an older version recorded it).\n"
		    "mprof report peak shows when most bytes were live.\n",
		    out);
		return;
	}
	parts = p->total.rss_bytes == p->sites.rss.bytes ? parts_of_process(r) : NULL;
	print_moment(r, !parts, out);
	if (parts)
		print_parts(r, parts, out);
	if (p->total.rss_bytes == p->sites.rss.bytes)
		mappers(r, out);
	/* Without it, they would seem to belong to the table above. */
	if (parts && p->total.rss_bytes)
		fputs("\nLive blocks when it was largest:\n", out);
	flat_view_text(&flat, r, out);
	if (p->total.rss_bytes && p->by == PROFILE_BY_STACK && p->has_stacks)
		functions(r, out);
}

/* ---- JSON ---- */

#include "../json/peak_rss.def"

static void peak_rss_json(struct view_request *r, json *o)
{
	const struct maps_of *of = maps_of_process(r);
	const struct resident_parts_sample *parts = parts_of_process(r);
	struct mapper_row *own = NULL, *file = NULL;
	size_t owns = 0, files = 0;

	if (of && r->profile->has_stacks) {
		own = mapper_rows(of, r->profile, take_private, &owns);
		file = mapper_rows(of, r->profile, take_files, &files);
	}
	peak_rss_view_fields(o, r, parts, of, own, owns, file, files);
	free(own);
	free(file);
	flat_view_json(r, o);
}

const struct view_ops view_peak_rss = {
	.sort = VALUE_RSS,
	.rows = true,
	.flat = true,
	.own = sizeof(struct own),
	.prepare = prepare,
	.text = text,
	.json = peak_rss_json,
	.json_row = flat_view_json_row,
	.json_rows = flat_view_json_rows,
};
