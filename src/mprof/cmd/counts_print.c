/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * counts_print.c - added-up counts as a table, and as JSON.
 *
 * A column for each function that was called, in the order of functions.def; the fields of the JSON
 * are in json/counts.def.
 */
#include <inttypes.h>
#include <string.h>

#include "../pass/thread_title.h"
#include "../trace/functions.h"
#include "../util/format.h"
#include "../print/json_rows.h"
#include "../print/print_table.h"
#include "../print/print_times.h"
#include "counts.h"

struct columns {
	unsigned fn[MPROF_FN_MAX];
	int width[MPROF_FN_MAX];
	size_t n;
	int what;  /* width of the first column */
	int total; /* width of the last column */
};

#define WHAT	  24 /* the least width of the first column */
#define WHAT_MOST 128

static int digits(uint64_t n)
{
	return (int)strlen(format_count(n).s);
}

static int wider(int a, int b)
{
	return a > b ? a : b;
}

static void find_columns(struct columns *c, const struct counts_sum *all)
{
	unsigned i;

	c->n = 0;
	for (i = 0; i < MPROF_FN_MAX; i++) {
		if (!all->fn[i].calls || !function_name(i))
			continue;
		c->fn[c->n] = i;
		c->width[c->n++] = wider((int)strlen(function_name(i)), digits(all->fn[i].calls));
	}
	c->total = wider(5, digits(all->calls));
}

/* Puts "thread 2 (net-reader)", or the kernel's number of one without a name. */
static void thread_what(const struct counts_thread *t, char *what, size_t room)
{
	const struct text title = thread_title(t->name, t->number);

	if (t->merged)
		snprintf(what, room, "  threads %" PRIu32 " and %.30s more", t->number,
			 format_count(t->merged).s);
	else if (t->tid && !*t->name)
		snprintf(what, room, "  thread %s (%" PRIu64 ")", title.s, t->tid);
	else
		snprintf(what, room, "  thread %s", title.s);
}

/* Only threads with names make the column wider. */
static int width_of_what(const struct counts *c, size_t rows)
{
	char what[WHAT_MOST];
	int width = WHAT;

	for (size_t i = 0, shown = 0; i < c->threads; i++) {
		shown = i && c->thread[i].process == c->thread[i - 1].process ? shown + 1 : 1;
		if (!*c->thread[i].name || (rows && shown > rows))
			continue;
		thread_what(&c->thread[i], what, sizeof(what));
		width = wider(width, (int)strlen(what));
	}
	return width;
}

static void print_head(FILE *out, const struct columns *c)
{
	size_t i;

	fprintf(out, "  %-*s", c->what, "");
	for (i = 0; i < c->n; i++)
		fprintf(out, "  %*s", c->width[i], function_name(c->fn[i]));
	fprintf(out, "  %*s\n", c->total, "Total");
}

static void print_row(FILE *out, const struct columns *c, const char *what,
		      const struct counts_sum *sum)
{
	size_t i;

	fprintf(out, "  %-*s", c->what, what);
	for (i = 0; i < c->n; i++)
		fprintf(out, "  %*s", c->width[i], format_count(sum->fn[c->fn[i]].calls).s);
	fprintf(out, "  %*s\n", c->total, format_count(sum->calls).s);
}

static void print_thread(FILE *out, const struct columns *c, const struct counts_thread *t)
{
	char what[WHAT_MOST];

	thread_what(t, what, sizeof(what));
	print_row(out, c, what, &t->sum);
}

static void print_process(FILE *out, const struct columns *columns, const struct counts *c,
			  const struct counts_process *p, size_t *next, size_t rows)
{
	char what[64];
	size_t shown = 0, left = 0;

	snprintf(what, sizeof(what), "process %" PRIu32 " (%" PRId32 ")", p->number, p->pid);
	fprintf(out, "%s: %s%s%s%s%s\n", what, p->first ? p->first : "",
		p->first    ? ", which became "
		: p->forked ? "fork of "
			    : "",
		p->command ? p->command : "?", *p->how ? ", " : "", p->how);
	for (; *next < c->threads && c->thread[*next].process <= p->number; ++*next) {
		if (rows && shown == rows) {
			left++;
			continue;
		}
		print_thread(out, columns, &c->thread[*next]);
		shown++;
	}
	if (left)
		fprintf(out, "    and %s\n", format_many(left, "more thread", "more threads").s);
	print_row(out, columns, "process", &p->sum);
}

void counts_functions(FILE *out, const struct counts *c)
{
	struct table t = TABLE("<function", ">calls", ">bytes requested", ">failed");
	const struct counts_sum *all = &c->all;
	unsigned i;

	if (!c->threads)
		return;
	for (i = 0; i < MPROF_FN_MAX; i++)
		if (all->fn[i].calls && function_name(i))
			table_cells(&t, function_name(i), format_count(all->fn[i].calls).s,
				    format_count(all->fn[i].bytes).s,
				    format_count(all->fn[i].failed).s);
	table_cells(&t, "Total", format_count(all->calls).s, "", "");
	table_print(&t, out);
	fputc('\n', out);
}

void counts_print(FILE *out, const struct counts *c, size_t rows)
{
	struct columns columns;
	size_t i, next = 0;

	if (!c->threads) {
		fputs("  no call was counted\n", out);
		return;
	}
	find_columns(&columns, &c->all);
	columns.what = width_of_what(c, rows);
	print_head(out, &columns);
	for (i = 0; i < c->processes; i++)
		print_process(out, &columns, c, &c->process[i], &next, rows);
	fputs("all\n", out);
	print_row(out, &columns, "Total", &c->all);
}

#include "../json/counts.def"
