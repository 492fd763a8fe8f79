// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_table.c - the tables of a playback on several allocators. */
#include "replay.h"

#include <math.h>
#include <string.h>

#include "text.h"

/*
 * Returns "-12 %", "(-2 %)" for an insignificant difference, "" for the reference, "-" for one that
 * failed.
 */
static struct text against(const struct verdict *v, size_t row, bool differ, double figure,
			   double reference)
{
	struct text t = { "" };
	long percent;

	if (row == v->reference || !(reference > 0))
		return t;
	if (!verdict_fits(v, row))
		return (struct text){ "-" };
	percent = lround(100 * (figure / reference - 1));
	/* 0 has no sign. */
	snprintf(t.s, sizeof(t.s), "%s%s%.50s %%%s", differ ? "" : "(", percent > 0 ? "+" : "",
		 format_signed(percent).s, differ ? " " : ")");
	return t;
}

static bool has_versus_memory(const struct verdict *v)
{
	return v->played > 1 && !v->small;
}

static void memory_cells(const struct replay_answer *a, struct table *t, size_t i)
{
	const struct verdict *v = &a->verdict;
	const struct runs_row *row = &a->runs->row[i], *ref = &a->runs->row[v->reference];

	table_cell(t, "%s", format_bytes(runs_peak(row)).s);
	if (has_versus_memory(v))
		table_cell(t, "%s",
			   against(v, i, verdict_by_peak(v, i, v->reference),
				   (double)runs_peak(row), (double)runs_peak(ref))
			       .s);
	table_cell(t, "%s", row->startup ? format_bytes(row->startup).s : "-");
	if (replay_waited(a))
		table_cell(t, "%s", format_bytes(replay_kept(a, row)).s);
	if (a->heap && replay_page_use(a, i) >= 0)
		table_cell(t, "%.0f %%", 100 * replay_page_use(a, i));
	else if (a->heap)
		table_cell(t, "-");
	table_cell(t, "%s", format_count(row->memory.minflt).s);
}

static void time_cells(const struct replay_answer *a, struct table *t, size_t i)
{
	const struct verdict *v = &a->verdict;
	const struct runs_row *row = &a->runs->row[i], *ref = &a->runs->row[v->reference];

	if (verdict_is_timed(v, i))
		table_cell(t, row->cpu_ns.median < 1000 ? "%.1f +-%.1f" : "%.0f +-%.0f",
			   row->cpu_ns.median, row->cpu_ns.mad);
	else
		table_cell(t, "-");
	if (v->played > 1)
		table_cell(t, "%s",
			   v->unmeasured ? "-"
					 : against(v, i, verdict_by_time(v, i, v->reference),
						   row->cpu_ns.median, ref->cpu_ns.median)
					       .s);
	if (a->runs->time_mode == RUNS_THREADS)
		table_cell(t, "%s",
			   row->wall_ns.median > 0
			       ? format_count((uint64_t)(1e9 / row->wall_ns.median)).s
			       : "-");
}

static size_t put_titles(struct replay_table *t, const struct replay_answer *a)
{
	const struct verdict *v = &a->verdict;
	size_t c = 0;

	t->table.title[c++] = "<Allocator";
	t->table.title[c++] = ">Peak memory";
	if (has_versus_memory(v))
		t->table.title[c++] = t->versus;
	t->table.title[c++] = ">At start";
	if (replay_waited(a))
		t->table.title[c++] = t->kept;
	if (a->heap)
		t->table.title[c++] = ">Page use";
	t->table.title[c++] = ">Faults";
	if (!v->timed)
		return c;
	t->table.title[c++] = ">ns a call";
	if (v->played > 1)
		t->table.title[c++] = t->time_versus;
	if (a->runs->time_mode == RUNS_THREADS)
		t->table.title[c++] = ">Calls a second";
	return c;
}

void replay_table_rows(struct replay_table *t, const struct replay_answer *a)
{
	const struct verdict *v = &a->verdict;
	size_t columns, i, c;

	*t = (struct replay_table){ .table = TABLE(NULL) };
	if (!v->played)
		return;
	snprintf(t->title, sizeof(t->title), "Allocators%s",
		 v->played > 1 ? "  (in parentheses: cannot be told apart)" : "");
	/* Shortens a name that would be wider than its figures. */
	snprintf(t->versus, sizeof(t->versus), ">against %s",
		 strlen(a->runs->row[v->reference].variant->name) <= 16
		     ? a->runs->row[v->reference].variant->name
		 : v->reference ? "reference"
				: "the first");
	snprintf(t->time_versus, sizeof(t->time_versus), ">time %s", t->versus + 1);
	snprintf(t->kept, sizeof(t->kept), ">%.3g s after freeing", replay_waited(a) / 1e3);
	columns = put_titles(t, a);
	for (i = 0; i < a->runs->n; i++) {
		table_cell(&t->table, "%s", a->runs->row[i].variant->name);
		for (c = 1; c < columns && a->runs->row[i].status; c++)
			table_cell(&t->table, "%s", c == 1 ? "failed" : "");
		if (a->runs->row[i].status)
			continue;
		memory_cells(a, &t->table, i);
		if (v->timed)
			time_cells(a, &t->table, i);
	}
}

/* ---- latency ---- */

static void latency_cells(const struct runs_row *row, struct table *t)
{
	static const unsigned permille[] = { 500, 990, 999, 1000 };
	size_t p;

	table_cell(t, "%s", row->variant->name);
	for (p = 0; p < sizeof(permille) / sizeof(*permille); p++)
		table_cell(t, "%s", format_ns((uint64_t)replay_latency(row, permille[p])).s);
	table_cell(t, "%s", format_count(replay_latency_calls(row)).s);
}

void replay_table_latency(struct replay_table *t, const struct replay_answer *a)
{
	const struct runs_row *row;
	double clock;
	size_t i;

	*t =
	    (struct replay_table){ .table = TABLE("<Allocator", ">Half of all calls", ">99 of 100",
						  ">999 of 1000", ">The slowest", ">Calls timed") };
	for (i = 0; i < a->runs->n; i++) {
		row = &a->runs->row[i];
		if (row->status || !row->has_latency)
			continue;
		if (!*t->title) {
			clock = row->latency.latency_ticks_per_s
				    ? (double)row->latency.latency_empty * 1e9 /
					  (double)row->latency.latency_ticks_per_s
				    : 0;
			snprintf(t->title, sizeof(t->title),
				 "Latency: a call took at most this long, including %.0f ns for "
				 "reading the clock",
				 clock);
		}
		latency_cells(row, &t->table);
	}
}
