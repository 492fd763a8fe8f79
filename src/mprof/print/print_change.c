// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_change.c - what a change of a program's calls would save, as sentences and a table. */
#include "print_change.h"

#include <math.h>

#include "../play/verdict.h"
#include "figures.h"
#include "json_rows.h"
#include "print_table.h"

static const struct mprof_play_summary *sum_of(const struct change_answer *a, enum change_sides s)
{
	return &a->plan->side[s].head->sum;
}

/* ---- what was changed ---- */

static void put_drop(const struct change_rule *r, FILE *out)
{
	fprintf(out, "%s never requested, %s in all",
		format_many(r->blocks, "block was", "blocks were").s, format_bytes(r->bytes).s);
}

static void put_pool(const struct change_rule *r, FILE *out)
{
	fprintf(out,
		"%s (%s in all) came from %s of %s%s; the work of the pool itself is not counted",
		format_many(r->blocks, "block", "blocks").s, format_bytes(r->bytes).s,
		format_many(r->chunks, "chunk", "chunks").s, format_bytes(r->chunk).s,
		r->free_list ? ", by size" : "");
	if (r->refused)
		fprintf(out,
			"; %s (%s in all) did not, being larger than %s or aligned to more than 16",
			format_many(r->refused, "other", "others").s,
			format_bytes(r->refused_bytes).s, format_bytes(r->chunk / 4).s);
}

static void put_reserve(const struct change_rule *r, FILE *out)
{
	fprintf(out, "%s started at full size, without %s that grew %s",
		format_many(r->blocks, "block", "blocks").s,
		format_many(r->steps, "step", "steps").s, r->blocks == 1 ? "it" : "them");
	if (r->copied)
		fprintf(out, " and copied up to %s", format_bytes(r->copied).s);
}

static void put_resize(const struct change_rule *r, FILE *out)
{
	fprintf(out, "%s that had requested %s in all %s ",
		format_many(r->blocks, "block", "blocks").s, format_bytes(r->bytes).s,
		r->blocks == 1 ? "was" : "were");
	if (r->factor > 0)
		fprintf(out, "%g times as large", r->factor);
	else
		fprintf(out, "of %s", format_bytes(r->size).s);
}

static void print_rules(const struct change_answer *a, FILE *out)
{
	static void (*const put[CHANGE_KINDS])(const struct change_rule *, FILE *) = {
		[CHANGE_DROP] = put_drop,
		[CHANGE_POOL] = put_pool,
		[CHANGE_RESERVE] = put_reserve,
		[CHANGE_RESIZE] = put_resize,
	};
	const struct change_rule *r;

	fputs("\nWhat if\n", out);
	for (r = a->rule; r < a->rule + a->rules; r++) {
		fprintf(out, "  * %s ", change_kind_name(r->kind));
		figures_name(out, r->site);
		fputs(": ", out);
		if (r->blocks)
			put[r->kind](r, out);
		else
			fputs("it changes no block", out);
		fputs(".\n", out);
	}
}

/* ---- what it saves ---- */

static void put_difference(const char *what, uint64_t before, uint64_t after, bool bytes, FILE *out)
{
	fprintf(out, "  %-21s%s -> %s", what,
		bytes ? format_bytes(before).s : format_count(before).s,
		bytes ? format_bytes(after).s : format_count(after).s);
	if (before && after != before)
		fprintf(out, "  (%+.3g %%)", 100 * ((double)after / (double)before - 1));
	fputc('\n', out);
}

static void print_calls(const struct change_answer *a, FILE *out)
{
	const struct mprof_play_summary *is = sum_of(a, SIDE_AS_IT_IS),
					*to = sum_of(a, SIDE_CHANGED);

	fputs("\nWhat the program requests\n", out);
	put_difference("calls", is->calls, to->calls, false, out);
	put_difference("bytes requested", is->asked_bytes, to->asked_bytes, true, out);
	put_difference("live at the peak", is->peak_bytes, to->peak_bytes, true, out);
	put_difference("most live blocks", is->peak_blocks, to->peak_blocks, false, out);
}

static void put_saving(const char *verb, double before, double after, struct text (*text)(uint64_t),
		       const char *where, FILE *out)
{
	fprintf(out, "%s %s of %s %s (%.0f %%)", verb, text((uint64_t)fabs(before - after)).s,
		text((uint64_t)before).s, where,
		before > 0 ? 100 * fabs(before - after) / before : 0);
}

static void put_time(const struct change_row *row, FILE *out)
{
	const double time = row->side[0].cpu_ns.median, changed = row->side[1].cpu_ns.median;

	fputs("it would ", out);
	if (row->time_differs)
		put_saving(changed < time ? "save" : "cost another", time, changed, format_ns,
			   "in the allocator", out);
	else if (!row->quiet)
		fputs("save no measurable time: the machine was too busy", out);
	else if (row->noise < time)
		fprintf(out, "make no measurable difference in time (less than %s of %s)",
			format_ns((uint64_t)row->noise).s, format_ns((uint64_t)time).s);
	else
		fprintf(out,
			"make no measurable difference in time (the noise, %s, exceeds all of it)",
			format_ns((uint64_t)row->noise).s);
}

static void print_verdict(const struct change_row *row, FILE *out)
{
	const double peak = (double)change_peak(row, SIDE_AS_IT_IS),
		     lower = (double)change_peak(row, SIDE_CHANGED);

	fprintf(out, "  * %s: ", row->variant->name);
	if (row->timed)
		put_time(row, out);
	else
		fputs("time was not measured", out);
	if (row->peak_differs) {
		fputs(row->timed ? ", and " : "; it would ", out);
		put_saving(lower < peak ? "save" : "need another", peak, lower, format_bytes,
			   "of memory at the peak", out);
	} else {
		fprintf(out, "%s its peak memory stays %s", row->timed ? ", and" : ";",
			peak < VERDICT_BYTES && lower < VERDICT_BYTES
			    ? "below 1 MiB"
			    : "the same, within 1 MiB and 2 %");
	}
	fputs(".\n", out);
}

static void print_verdicts(const struct change_answer *a, FILE *out)
{
	size_t i;

	fputs("\nWhat it would save\n", out);
	for (i = 0; i < a->runs->n; i++)
		if (a->runs->row[i].status)
			fprintf(out, "  * %s could not be played: %s\n",
				a->runs->row[i].variant->name, a->runs->row[i].why.text);
		else
			print_verdict(&a->runs->row[i], out);
}

static void use_cell(struct table *t, double use)
{
	if (use > 0)
		table_cell(t, "%.0f %%", 100 * use);
	else
		table_cell(t, "-");
}

static void row_cells(const struct change_answer *a, struct table *t, size_t i)
{
	const struct change_row *row = &a->runs->row[i];
	unsigned s;

	table_cell(t, "%s", row->variant->name);
	for (s = 0; s < SIDES; s++)
		table_cell(t, "%s",
			   row->timed ? format_ns((uint64_t)row->side[s].cpu_ns.median).s : "-");
	table_cell(t, "%s", row->timed ? format_ns((uint64_t)row->noise).s : "-");
	for (s = 0; s < SIDES; s++)
		table_cell(t, "%s", format_bytes(change_peak(row, (enum change_sides)s)).s);
	for (s = 0; s < SIDES; s++)
		use_cell(t, change_page_use(a->runs, i, (enum change_sides)s));
	for (s = 0; s < SIDES; s++)
		table_cell(t, "%s", format_count(row->side[s].memory.minflt).s);
}

static void print_table(const struct change_answer *a, FILE *out)
{
	struct table t = TABLE("<Allocator", ">Time", ">changed", ">noise", ">Peak memory",
			       ">changed", ">Page use", ">changed", ">Faults", ">changed");
	size_t i, n = 0;

	for (i = 0; i < a->runs->n; i++)
		if (!a->runs->row[i].status) {
			row_cells(a, &t, i);
			n++;
		}
	if (!n)
		return;
	fputs("\nRecorded and changed\n", out);
	table_print(&t, out);
}

void change_text(const struct change_answer *a, FILE *out)
{
	print_rules(a, out);
	print_calls(a, out);
	print_verdicts(a, out);
	print_table(a, out);
	fprintf(
	    out,
	    "\n"
	    "How\n"
	    "  Both were played alternately%s. Time is processor time for all calls and the faults "
	    "of their pages, the median of %u runs each, without the time of the runner itself; "
	    "differences "
	    "below the noise do not count.\n"
	    "  Peak memory is the increase since the start; page use is at the peak of live "
	    "bytes.\n",
	    a->runs->how[0].time_mode == RUNS_SERIAL ? ", by one thread" : "",
	    a->plan->side[0].reps);
}

/* ---- JSON ---- */

#include "../json/change.def"

json *change_json(const struct change_answer *a)
{
	return JSON_NEW(change, a);
}
