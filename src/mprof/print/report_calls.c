// SPDX-License-Identifier: LGPL-3.0-or-later
/* report_calls.c - the report's tables of functions, processes and threads. */
#include "report.h"

#include <stdlib.h>

#include "../pass/thread_title.h"
#include "../trace/functions.h"
#include "../util/alloc.h"
#include "../util/order.h"
#include "print_table.h"
#include "text.h"

static void function_row(struct table *t, const char *name, const struct totals_fn *f)
{
	table_cells(t, name, format_count(f->calls).s, format_count(f->bytes).s,
		    format_count(f->failed).s);
}

static void print_functions(const struct analysis *a, FILE *out)
{
	const struct totals_sum *s = &a->totals.all;
	struct table t = TABLE("<Function", ">Calls", ">Bytes", ">Failed");
	unsigned i;

	for (i = 0; i < MPROF_FN_MAX; i++)
		if (s->fn[i].calls && function_name(i))
			function_row(&t, function_name(i), &s->fn[i]);
	table_cells(&t, "Total", format_count(s->calls).s, format_count(s->allocated).s,
		    format_count(s->failed).s);
	table_print(&t, out);
	fputs("  Bytes: requested, or freed by free and delete; the total is what was"
	      " allocated.\n",
	      out);
	if (s->fn[MPROF_FN_MUNMAP].calls)
		fputs("  Bytes of munmap: the mapped part of the ranges passed to it.\n", out);
	if (s->null_frees)
		fprintf(out, "  %s of these calls %s free(NULL), which does nothing.\n",
			format_count(s->null_frees).s, s->null_frees == 1 ? "was" : "were");
}

/* ---- processes ---- */

/* Returns the index in the heap, and thus in the passes' arrays; -1 if it had no event. */
static long index_of(const struct analysis *a, uint32_t number)
{
	const struct totals_process *p = a->totals.process.item;
	size_t i;

	for (i = 0; i < a->totals.process.count; i++)
		if (p[i].number == number)
			return (long)i;
	return -1;
}

static int depth_of(const struct analysis *a, const struct tree_process *p)
{
	int depth = 0;

	while (depth < 20 && (p = tree_parent(&a->tree, p)))
		depth++;
	return depth;
}

static void process_figures(struct table *t, const struct analysis *a, long i)
{
	const struct totals_process *total = a->totals.process.item;
	const struct peak_of *peak = a->peak.process.item;
	const struct never_freed_process *left = a->never_freed.process.item;

	table_cells(t, format_count(i < 0 ? 0 : total[i].threads).s,
		    format_count(i < 0 ? 0 : total[i].sum.calls).s,
		    format_count(i < 0 ? 0 : total[i].sum.allocated).s,
		    format_count(i < 0 ? 0 : peak[i].at.bytes).s,
		    format_count(i < 0 ? 0 : left[i].bytes).s);
}

/* Prints the programs that a process ran before its last one, each on a separate line. */
static void earlier_rows(struct table *t, const struct tree_process *p, int depth, unsigned room)
{
	size_t k;
	int c;

	for (k = p->images; k-- > 1;) {
		for (c = 0; c < 7; c++)
			table_cell(t, " ");
		table_cell(t, "%*s  before exec: %s%s", depth, "",
			   k == 1 && p->forked ? "fork of " : "",
			   text_command(p->image[k - 1], room).s);
	}
}

static void print_processes(const struct analysis *a, FILE *out)
{
	struct table t = TABLE(">No", ">Pid", ">Threads", ">Calls", ">Allocated", ">Peak",
			       ">Never freed", "<Program and end");
	const unsigned room = 512;
	size_t i;

	for (i = 0; i < a->tree.processes; i++) {
		const struct tree_process *p = &a->tree.process[i];
		int depth = 2 * depth_of(a, p);

		table_cells(&t, format_number(p->number).s, format_number((uint64_t)p->pid).s);
		process_figures(&t, a, index_of(a, p->number));
		table_cell(&t, "%*s%s, %s", depth, "", text_process(p, room).s, text_end(p).s);
		earlier_rows(&t, p, depth, room);
	}
	table_print(&t, out);
}

static bool several_processes(const struct analysis *a)
{
	return tree_has_several(&a->tree);
}

/* ---- threads ---- */

ORDER(by_calls, struct totals_thread *const,
      COMPARE((*y)->sum.calls, (*x)->sum.calls) ?: COMPARE((*x)->number, (*y)->number))

static void thread_row(struct table *t, const struct analysis *a, const struct totals_thread *h)
{
	const char *name = walk_thread_name(&a->walk.input, h->number);
	uint64_t ns = walk_duration_ns(&a->walk, h->last_ticks - h->first_ticks);

	table_cells(t, thread_title(name, h->number).s, format_number(h->tid).s,
		    format_number(h->process).s, format_count(h->sum.calls).s,
		    format_count(h->sum.allocated).s, format_count(h->sum.failed).s,
		    format_ns(ns).s);
}

static void print_threads(const struct analysis *a, FILE *out)
{
	struct table t = TABLE(">Thread", ">Tid", ">Process", ">Calls", ">Allocated", ">Failed",
			       ">From first to last call");
	const struct totals_thread *thread = a->totals.thread.item;
	size_t n = a->totals.thread.count, i;
	const struct totals_thread **sorted = must_calloc(n + 1, sizeof(*sorted));

	for (i = 0; i < n; i++) {
		sorted[i] = &thread[i];
		if (*walk_thread_name(&a->walk.input, thread[i].number))
			t.title[0] = "<Thread";
	}
	SORT(sorted, n, by_calls);
	for (i = 0; i < n; i++)
		thread_row(&t, a, sorted[i]);
	free(sorted);
	table_print(&t, out);
}

static bool several_threads(const struct analysis *a)
{
	return a->totals.thread.count > 1;
}

const struct report_section report_call_sections[] = {
	{ "Calls", NULL, print_functions },
	{ "Processes", several_processes, print_processes },
	{ "Threads", several_threads, print_threads },
	{ NULL, NULL, NULL },
};
