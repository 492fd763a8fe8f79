// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_text.c - a playback on several allocators as text: words, table, latency, how. */
#include "replay.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "table.h"
#include "text.h"

static void print_words(const struct sentences *w, const char *title, const char *bullet, FILE *out)
{
	size_t i;

	if (w->n)
		fprintf(out, "\n%s\n", title);
	for (i = 0; i < w->n; i++)
		fprintf(out, "  %s%s\n", bullet, w->line[i]);
}

static int section(const struct replay_answer *a, const char *title, const char *bullet,
		   void (*say)(const struct replay_answer *a, struct sentences *w), FILE *out)
{
	struct sentences w = { .n = 0 };
	bool failed;

	say(a, &w);
	print_words(&w, title, bullet, out);
	failed = w.failed;
	sentences_free(&w);
	return failed ? -ENOMEM : 0;
}

/* "-12 %", "(-2 %)" for what cannot be told apart, "" for the reference. */
static struct text against(const struct verdict *v, size_t row, bool differ, double figure,
			   double reference)
{
	struct text t = { "" };

	if (row != v->reference && v->played > 1)
		snprintf(t.s, sizeof(t.s),
			 reference > 0 ? differ ? "%+.0f %% " : "(%+.0f %%)" : "-",
			 100 * (figure / reference - 1));
	return t;
}

static void memory_cells(const struct replay_answer *a, struct table *t, size_t i)
{
	const struct verdict *v = &a->verdict;
	const struct runs_row *row = &a->runs->row[i], *ref = &a->runs->row[v->reference];

	table_cell(t, "%s", text_bytes(runs_peak(row)).s);
	if (!v->small)
		table_cell(t, "%s",
			   against(v, i, verdict_by_peak(v, i, v->reference),
				   (double)runs_peak(row), (double)runs_peak(ref))
			       .s);
	table_cell(t, "%s", row->startup ? text_bytes(row->startup).s : "-");
	if (replay_waited(a))
		table_cell(t, "%s", text_bytes(replay_kept(a, row)).s);
	if (a->heap)
		table_cell(t, replay_page_use(a, i) < 0 ? "-" : "%.0f %%",
			   100 * replay_page_use(a, i));
	table_cell(t, "%s", text_count(row->memory.minflt).s);
}

static void time_cells(const struct replay_answer *a, struct table *t, size_t i)
{
	const struct verdict *v = &a->verdict;
	const struct runs_row *row = &a->runs->row[i], *ref = &a->runs->row[v->reference];

	table_cell(t, "%.1f +-%.1f", row->cpu_ns.median, row->cpu_ns.mad);
	table_cell(t, "%s",
		   against(v, i, verdict_by_time(v, i, v->reference), row->cpu_ns.median,
			   ref->cpu_ns.median)
		       .s);
	if (a->runs->time_mode == RUNS_THREADS)
		table_cell(t, "%s",
			   row->wall_ns.median > 0
			       ? text_count((uint64_t)(1e9 / row->wall_ns.median)).s
			       : "-");
}

static int print_table(const struct replay_answer *a, FILE *out)
{
	const struct verdict *v = &a->verdict;
	struct table t = TABLE("<Allocator", ">Peak memory");
	char versus[64], kept[96];
	size_t c = 2, i;

	if (!v->played)
		return 0;
	snprintf(versus, sizeof(versus), ">%s %s", v->played > 1 ? "against" : "",
		 v->played > 1 ? a->runs->row[v->reference].variant->name : "");
	snprintf(kept, sizeof(kept), ">%.3g s after freeing all", replay_waited(a) / 1e3);
	if (!v->small)
		t.title[c++] = versus;
	t.title[c++] = ">At start";
	if (replay_waited(a))
		t.title[c++] = kept;
	if (a->heap)
		t.title[c++] = ">Page use";
	t.title[c++] = ">Faults";
	if (v->timed) {
		t.title[c++] = ">ns a call";
		t.title[c++] = versus;
		if (a->runs->time_mode == RUNS_THREADS)
			t.title[c++] = ">Calls a second";
	}
	for (i = 0; i < a->runs->n; i++) {
		if (a->runs->row[i].status)
			continue;
		table_cell(&t, "%s", a->runs->row[i].variant->name);
		memory_cells(a, &t, i);
		if (v->timed)
			time_cells(a, &t, i);
	}
	fprintf(out, "\nAllocators%s\n",
		v->played > 1 ? "  (in parentheses: cannot be told apart)" : "");
	return table_print(&t, out);
}

static int print_latency(const struct replay_answer *a, FILE *out)
{
	struct table t = TABLE("<Allocator", ">Half of all calls", ">99 of 100", ">999 of 1000",
			       ">The slowest", ">Calls timed");
	static const unsigned permille[] = { 500, 990, 999, 1000 };
	const struct runs_row *row;
	size_t i, p, n = 0;
	uint64_t calls;

	for (i = 0; i < a->runs->n; i++) {
		row = &a->runs->row[i];
		if (row->status || !row->has_latency)
			continue;
		table_cell(&t, "%s", row->variant->name);
		for (p = 0; p < sizeof(permille) / sizeof(*permille); p++)
			table_cell(&t, "%s", text_ns((uint64_t)replay_latency(row, permille[p])).s);
		calls = latency_calls(row->latency.latency[0]) +
			latency_calls(row->latency.latency[1]) +
			latency_calls(row->latency.latency[2]);
		table_cell(&t, "%s", text_count(calls).s);
		n++;
	}
	if (!n)
		return 0;
	fprintf(out, "\nLatency: a call took at most so long, the time of looking at the clock "
		     "included\n");
	return table_print(&t, out);
}

int replay_text(const struct replay_answer *a, FILE *out, struct error *err)
{
	int ret = section(a, "What was played", "", replay_what, out);

	if (!ret)
		ret = section(a, "Findings", "* ", replay_verdict, out);
	if (!ret)
		ret = print_table(a, out);
	if (!ret)
		ret = print_latency(a, out);
	if (!ret && a->heaps.memories)
		ret = replay_memory_text(&a->heaps, out, err);
	if (!ret)
		ret = section(a, "How", "", replay_how, out);
	return ret ? fail(err, ret, "no memory to print the answer") : 0;
}
