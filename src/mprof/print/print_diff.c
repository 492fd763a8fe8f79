// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_diff.c - a comparison of two traces, for people. */
#include "print_diff.h"

#include <ctype.h>
#include <stdlib.h>

#include "figures.h"
#include "paragraph.h"
#include "print_table.h"
#include "../util/word_list.h"
#include "../util/terminal.h"

static const char *const change_names[DIFF_CHANGES] = {
	[DIFF_ADDED] = "added",	    [DIFF_GROWN] = "grown",	[DIFF_SHRUNK] = "shrunk",
	[DIFF_REMOVED] = "removed", [DIFF_UNCLEAR] = "unclear", [DIFF_SAME] = "same",
};

const char *diff_change_name(enum diff_change change)
{
	return change_names[change];
}

const char *diff_by_name(enum diff_by by)
{
	return words_DIFF_BY[by];
}

void diff_put_group(FILE *out, const struct diff *d, const struct diff_group *g)
{
	const struct sym_line *leaf = g->line[g->lines - 1];
	size_t i;

	switch (d->options.by) {
	case DIFF_BY_MODULE:
		figures_name(out, leaf->module);
		break;
	case DIFF_BY_FILE:
		figures_name(out, *leaf->file ? sym_file(leaf) : leaf->module);
		break;
	case DIFF_BY_FUNCTION:
		figures_line(out, leaf, false);
		break;
	case DIFF_BY_LINE:
		figures_line(out, leaf, true);
		break;
	case DIFF_BY_STACK:
		figures_line(out, leaf, true);
		for (i = g->lines - 1; i && g->lines - i <= DIFF_CALLERS; i--) {
			fputs(" < ", out);
			figures_name(out, g->line[i - 1]->function);
		}
		if (i)
			fprintf(out, " < %s more", format_count(i).s);
		break;
	}
	if (g->twin && *leaf->file) {
		fputs(" [", out);
		figures_name(out, leaf->module);
		fputc(']', out);
	}
}

size_t diff_rows(const struct diff *d, const struct diff_print *o)
{
	size_t changed = diff_changed(d);

	if (o->all)
		return d->groups;
	return changed < DIFF_ROWS ? changed : DIFF_ROWS;
}

static char *partial(const struct diff *d, const struct diff_print *o)
{
	const bool both = d->partial[DIFF_BEFORE] && d->partial[DIFF_AFTER];
	const enum diff_side side = d->partial[DIFF_BEFORE] ? DIFF_BEFORE : DIFF_AFTER;

	if (!d->partial[side])
		return NULL;
	return must_printf("%s%s%s %s not have all calls of the run: mprof report says which are "
			   "missing.",
			   text_base(o->name[side]), both ? " and " : "",
			   both ? text_base(o->name[DIFF_AFTER]) : "", both ? "do" : "does");
}

static char *peaks(const struct diff *d, const struct diff_print *o)
{
	if (!d->peaks_differ)
		return NULL;
	return must_printf("The peaks of %s and %s cannot be compared: that of a trace is of all "
			   "processes together, that of a profile of one process.",
			   text_base(o->name[DIFF_BEFORE]), text_base(o->name[DIFF_AFTER]));
}

static char *attached(const struct diff *d, const struct diff_print *o)
{
	const uint64_t before = d->attached_ns[DIFF_BEFORE], after = d->attached_ns[DIFF_AFTER];
	const char *const name[] = { text_base(o->name[DIFF_BEFORE]),
				     text_base(o->name[DIFF_AFTER]) };

	if (d->options.one_run || (!before && !after))
		return NULL;
	if (!before || !after)
		return must_printf("%s is of a program that ran already: it has none of the "
				   "blocks from before.",
				   name[before ? DIFF_BEFORE : DIFF_AFTER]);
	return must_printf("mprof was attached for %s in %s, for %s in %s: the longer, the larger "
			   "the figures.",
			   format_ns(before).s, name[DIFF_BEFORE], format_ns(after).s,
			   name[DIFF_AFTER]);
}

static char *left_open(const struct diff *d, const struct diff_print *o)
{
	const bool both = d->left_open[DIFF_BEFORE] && d->left_open[DIFF_AFTER];
	const enum diff_side side = d->left_open[DIFF_BEFORE] ? DIFF_BEFORE : DIFF_AFTER;

	/* Dumps of one run are compared by what is live. */
	if (!d->left_open[side] || (d->options.one_run && d->options.value != VALUE_LEAKED))
		return NULL;
	return must_printf("What leaked in %s%s%s was live when the program was killed, still "
			   "ran, or went on in a fork: it may have been in use.",
			   text_base(o->name[side]), both ? " and " : "",
			   both ? text_base(o->name[DIFF_AFTER]) : "");
}

static char *resident(const struct diff *d)
{
	const uint64_t before = d->resident[DIFF_BEFORE], after = d->resident[DIFF_AFTER];

	if (!diff_resident_moved(d))
		return NULL;
	return must_printf("The largest resident set %s from %s to %s (without mprof's own "
			   "memory).",
			   after > before ? "rose" : "fell", format_bytes(before).s,
			   format_bytes(after).s);
}

char *diff_remark(const struct diff *d, const struct diff_print *o, unsigned i)
{
	switch (i) {
	case 0:
		return resident(d);
	case 1:
		return partial(d, o);
	case 2:
		return peaks(d, o);
	case 3:
		return attached(d, o);
	default:
		return left_open(d, o);
	}
}

void diff_put_counts(FILE *out, const struct diff *d)
{
	bool any = false;
	int c;

	for (c = 0; c < DIFF_UNCLEAR; c++) {
		if (!d->changed[c])
			continue;
		fprintf(out, "%s%s %s", any ? ", " : "", format_count(d->changed[c]).s,
			change_names[c]);
		any = true;
	}
	if (d->changed[DIFF_UNCLEAR])
		fprintf(out, "%s%s within the error", any ? "; " : "",
			format_count(d->changed[DIFF_UNCLEAR]).s);
	any |= d->changed[DIFF_UNCLEAR];
	if (d->changed[DIFF_SAME])
		fprintf(out, "%s%s the same", any ? "; " : "",
			format_count(d->changed[DIFF_SAME]).s);
	else if (!any)
		fputs("nothing", out);
}

/* Returns "+3.2 %"; "new" or "gone" from or to nothing; "=". */
static struct text diff_percent(uint64_t before, uint64_t after)
{
	double p = before ? 100 * ((double)after - (double)before) / (double)before : 0;
	struct text t;

	if (before == after)
		snprintf(t.s, sizeof(t.s), "=");
	else if (!before)
		snprintf(t.s, sizeof(t.s), "new");
	else if (!after)
		snprintf(t.s, sizeof(t.s), "gone");
	else if (p > 9999)
		snprintf(t.s, sizeof(t.s), "x%.0f", (double)after / (double)before);
	else
		snprintf(t.s, sizeof(t.s), "%+.1f %%", p);
	return t;
}

struct text diff_move(const struct diff *d, enum profile_value v)
{
	const uint64_t before = d->total[DIFF_BEFORE][v], after = d->total[DIFF_AFTER][v];
	const struct text percent = diff_percent(before, after);
	struct text t;

	if (before == after || !diff_may_be_same(d, v))
		return percent;
	snprintf(t.s, sizeof(t.s), "%.20s, within the error", percent.s);
	return t;
}

static void put_totals(const struct diff *d, FILE *out)
{
	struct table t = TABLE("<figure", ">before", ">after", ">change", ">");
	enum profile_value v;

	for (v = 0; v < VALUE_COUNT; v++) {
		uint64_t a = d->total[DIFF_BEFORE][v], b = d->total[DIFF_AFTER][v];

		if (!diff_totals(d, v))
			continue;
		table_cells(&t, profile_value_name(v), figures_text(v, a).s, figures_text(v, b).s,
			    figures_signed(v, (int64_t)(b - a)).s, diff_move(d, v).s);
	}
	table_print(&t, out);
}

struct text diff_range_text(const struct diff *d, const struct diff_group *g, enum diff_side side)
{
	struct estimate_range range = { 0, UINT64_MAX };

	if (!d->sampled[side])
		return (struct text){ "exact" };
	diff_group_range(d, g, side, &range);
	return figures_between(d->options.value, &range);
}

static void put_row(const struct diff *d, const struct diff_group *g, FILE *out)
{
	const enum profile_value v = d->options.value;

	fprintf(out, "  %11s %11s %11s  %-7s  ", figures_signed(v, diff_delta(g, v)).s,
		figures_text(v, g->v[DIFF_BEFORE][v]).s, figures_text(v, g->v[DIFF_AFTER][v]).s,
		change_names[g->change]);
	diff_put_group(out, d, g);
	fputc('\n', out);
	if (diff_of_samples(d))
		fprintf(out, "  %11s %s before, %s after\n", "",
			diff_range_text(d, g, DIFF_BEFORE).s, diff_range_text(d, g, DIFF_AFTER).s);
}

/* ---- the verdict ---- */

/* Returns the group that contributed most to the change of the total. */
static const struct diff_group *cause_of(const struct diff *d, enum profile_value v, bool rose)
{
	const struct diff_group *cause = NULL;
	size_t i;

	for (i = 0; i < d->groups; i++) {
		const struct diff_group *g = &d->group[i];

		if (!g->lines || g->v[DIFF_BEFORE][v] == g->v[DIFF_AFTER][v] ||
		    (g->v[DIFF_AFTER][v] > g->v[DIFF_BEFORE][v]) != rose ||
		    diff_group_may_be_same(d, g, v))
			continue;
		if (!cause || diff_distance(g, v) > diff_distance(cause, v))
			cause = g;
	}
	return cause;
}

/* A total that changed. */
struct moved {
	const char *name;
	enum profile_value value;
	uint64_t before, after;
	const struct diff_group *cause; /* NULL: unknown */
	const char *how;		/* "", "mostly " or "partly ": the part of the cause */
};

/* Below half of the change, from half to nine tenths, or more. */
static const char *part_of_change(uint64_t part, uint64_t change)
{
	if (part <= change / 2)
		return "partly ";
	return part < change - change / 10 ? "mostly " : "";
}

/* False if it changed by less than a hundredth. */
static bool find_moved(const struct diff *d, struct moved *m)
{
	const uint64_t before = d->total[DIFF_BEFORE][m->value];
	const uint64_t after = d->total[DIFF_AFTER][m->value];
	const uint64_t by = after > before ? after - before : before - after;

	if (m->value == VALUE_PEAK && d->peaks_differ)
		return false;
	if (!diff_has(d, m->value) || diff_may_be_same(d, m->value) || !by || by < before / 100)
		return false;
	m->before = before;
	m->after = after;
	m->cause = cause_of(d, m->value, after > before);
	m->how = m->cause ? part_of_change(diff_distance(m->cause, m->value), by) : "";
	return true;
}

/* Puts "peak rose 20 %", "total fell to 0". */
static void put_move(const struct moved *m, struct paragraph *p)
{
	const uint64_t before = m->before, after = m->after;
	const char *way = after > before ? "rose" : "fell";

	paragraph_add(p, "%s ", m->name);
	if (!before || !after)
		paragraph_add(p, "%s from %s to %s", way, figures_text(m->value, before).s,
			      figures_text(m->value, after).s);
	else if (after / before >= 10)
		paragraph_add(p, "rose to %s times what it was", format_count(after / before).s);
	else
		paragraph_add(
		    p, "%s %s", way,
		    format_percent(after > before ? after - before : before - after, before).s);
}

/* Names a file or module as its row does; of others the function, with its line if it has one. */
static char *cause_text(const struct diff *d, const struct moved *m)
{
	const struct diff_group *g = m->cause;
	const enum diff_side side = g->v[DIFF_AFTER][m->value] ? DIFF_AFTER : DIFF_BEFORE;

	if (d->options.by == DIFF_BY_MODULE || d->options.by == DIFF_BY_FILE)
		return WRITTEN(out, diff_put_group(out, d, g));
	return figures_line_text(g->line[g->lines - 1], g->sites[side] == 1);
}

static void put_cause(const struct diff *d, const struct moved *m, struct paragraph *p)
{
	char *where;

	if (!m->cause)
		return;
	where = cause_text(d, m);
	paragraph_add(p, ", %sbecause of ", m->how);
	paragraph_add_styled(p, STYLE_PLACE, "%s", where);
	free(where);
}

/* Finds the totals of the list that changed; returns their number. */
static size_t find_all_moved(const struct diff *d, struct moved *m, size_t count)
{
	size_t i, n = 0;

	for (i = 0; i < count; i++)
		if (find_moved(d, &m[i]))
			m[n++] = m[i];
	return n;
}

/* Puts what changed, and where most of the change is, once for figures that follow each other. */
static void put_all_moved(const struct diff *d, const struct moved *m, size_t n,
			  struct paragraph *p)
{
	size_t i, k, same;

	for (i = 0; i < n; i += same) {
		for (same = 1;
		     i + same < n && m[i + same].cause == m[i].cause && m[i + same].how == m[i].how;
		     same++)
			;
		for (k = 0; k < same; k++) {
			paragraph_add(p, "%s", !k ? i ? "; " : "" : k + 1 < same ? ", " : " and ");
			put_move(&m[i + k], p);
		}
		put_cause(d, &m[i], p);
	}
}

static void put_remarks(const struct diff *d, const struct diff_print *o, FILE *out)
{
	const struct paragraph_form form = { .first = "", .width = terminal_text_width() };
	char *sentence;

	for (unsigned i = 0; i < DIFF_REMARKS; i++) {
		struct paragraph p = { 0 };

		sentence = diff_remark(d, o, i);
		if (!sentence)
			continue;
		paragraph_add(&p, "%s", sentence);
		paragraph_print(&p, &form, out);
		fputc('\n', out);
		paragraph_release(&p);
		free(sentence);
	}
}

/* Puts one sentence.  Waste and temporary blocks matter only if nothing else changed. */
static void put_verdict(const struct diff *d, FILE *out)
{
	const bool left_open = d->left_open[DIFF_BEFORE] || d->left_open[DIFF_AFTER];
	struct moved of_two_runs[] = {
		{ .name = "total", .value = VALUE_TOTAL },
		{ .name = "peak", .value = VALUE_PEAK },
		{ .name = left_open ? "memory live at the end" : "leaked memory",
		  .value = VALUE_LEAKED },
		{ .name = "the number of calls", .value = VALUE_CALLS },
	};
	struct moved of_one_run[] = {
		{ .name = "live memory", .value = VALUE_LIVE },
		{ .name = "peak", .value = VALUE_PEAK },
		{ .name = "total", .value = VALUE_TOTAL },
		{ .name = "the number of calls", .value = VALUE_CALLS },
	};
	struct moved *first = d->options.one_run ? of_one_run : of_two_runs;
	struct moved other[] = {
		{ .name = "waste", .value = VALUE_WASTE },
		{ .name = "the number of temporary blocks", .value = VALUE_TEMPORARY },
	};
	const struct paragraph_form form = { .first = "", .width = terminal_text_width() };
	struct paragraph p = { 0 };
	size_t n = find_all_moved(d, first, sizeof(of_one_run) / sizeof(of_one_run[0]));

	put_all_moved(d, first, n, &p);
	if (!n) {
		n = find_all_moved(d, other, sizeof(other) / sizeof(other[0]));
		put_all_moved(d, other, n, &p);
	}
	if (!n)
		paragraph_add(
		    &p, "No figure %schanged by %s", diff_resident_moved(d) ? "of blocks " : "",
		    diff_of_samples(d) ? "more than the error of samples" : "1 % or more");
	else
		*p.text = (char)toupper(*p.text);
	paragraph_add(&p, ".");
	paragraph_print(&p, &form, out);
	fputc('\n', out);
	paragraph_release(&p);
}

void diff_text(const struct diff *d, const struct diff_print *o, FILE *out)
{
	size_t rows = diff_rows(d, o), i;

	put_verdict(d, out);
	put_remarks(d, o, out);
	fprintf(out, "From %s to %s:\n\n", o->name[DIFF_BEFORE], o->name[DIFF_AFTER]);
	put_totals(d, out);
	fprintf(out, "\n%s by %s: ", profile_value_name(d->options.value),
		words_DIFF_BY[d->options.by]);
	diff_put_counts(out, d);
	fputs(".\n", out);
	for (i = 0; i < d->renames; i++) {
		fputs("Treated as renamed: ", out);
		figures_line(out, d->rename[i].line[DIFF_BEFORE], false);
		fputs(" is now ", out);
		figures_line(out, d->rename[i].line[DIFF_AFTER], false);
		fputs(".\n", out);
	}
	if (rows && diff_of_samples(d))
		fprintf(out, "Below each row are its 95 %% confidence intervals%s.\n",
			d->options.one_run ? "; of one run, they may\noverlap where it changed, "
					     "because most samples are the same"
					   : "");
	if (rows)
		fprintf(out, "\n  %11s %11s %11s\n", "change", "before", "after");
	for (i = 0; i < rows; i++)
		put_row(d, &d->group[i], out);
	if (rows < diff_changed(d))
		fprintf(out, "  %s more; --all shows them.\n",
			format_count(diff_changed(d) - rows).s);
}
