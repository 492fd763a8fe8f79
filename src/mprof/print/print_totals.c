// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_totals.c - the report of a profile. */
#include "print_totals.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../trace/functions.h"
#include "../util/terminal.h"
#include "flat_view.h"
#include "interpreter_words.h"
#include "json_rows.h"
#include "paragraph.h"
#include "print_table.h"
#include "print_findings.h"
#include "print_times.h"
#include "report.h"
#include "resident_words.h"
#include "screen_figures.h"
#include "quote.h"

#define ROWS	    5u /* of each list, without --all */
#define RANKS_SHOWN 16u
#define COURSE_ROWS 16u

/* ---- text ---- */

/* Names memory that was not freed: processes that were killed might have freed it. */
static const char *left_name(const struct print_totals *t)
{
	return text_running(&t->a->tree) ? "Live now"
	       : tree_left_open(&t->a->tree, &t->p->walk.heap, t->p->sites.options.filter.process)
		   ? "Live at the end"
		   : "Never freed";
}

static void print_estimate(const struct profile *p, const char *what, enum profile_value value,
			   uint64_t n, FILE *out)
{
	const struct text is = figures_text(value, n), range = figures_range(&p->total, value, n);

	fprintf(out, "  %s:%*s %s", what, (int)(11 - strnlen(what, 11)), "", is.s);
	if (strcmp(is.s, range.s) != 0)
		fprintf(out, " (%s)", range.s);
	putc('\n', out);
}

static void print_resident(const struct print_totals *t, FILE *out)
{
	const struct paragraph_form form = { "  ", 4, terminal_text_width(), false };
	struct paragraph words = { 0 };

	if (screen_resident(&words, t->a)) {
		paragraph_add(&words, ". ");
		resident_of_stacks(&words, t->a);
		resident_huge_pages(&words, t->a);
		resident_together(&words, t->a);
		paragraph_print(&words, &form, out);
	}
	paragraph_release(&words);
}

static void print_estimates(const struct print_totals *t, FILE *out)
{
	const struct profile *p = t->p;

	fputs("  ", out);
	figures_estimate(p, out);
	print_estimate(p, "Calls", VALUE_CALLS, p->total.calls, out);
	print_estimate(p, "Bytes", VALUE_TOTAL, p->total.bytes, out);
	print_estimate(p, left_name(t), VALUE_LIVE, p->total.live_bytes, out);
	print_estimate(p, "Peak", VALUE_PEAK, p->sites.peak.bytes, out);
	fputs(
	    "  An estimated peak is too high on average, and may be at another time when nearly as "
	    "much was live.\n",
	    out);
	print_resident(t, out);
}

/* Prints the mappings of the program itself. */
static void print_maps(const struct print_totals *t, FILE *out)
{
	const struct site_values *v = &t->p->total;
	const struct site_lanes *l = t->lanes;
	const struct mprof_counts_fn *remaps = &l->fn[MPROF_FN_MREMAP];
	const uint64_t moved = remaps->calls - remaps->failed;

	if (!v->map_calls && !l->unmap_calls)
		return;
	fprintf(out, "  Mapped directly, files included: %s in %s; unmapped: %s",
		format_bytes(v->map_bytes).s, format_many(v->map_calls, "call", "calls").s,
		format_bytes(l->unmap_bytes).s);
	if (l->unmap_calls)
		fprintf(out, " in %s", format_many(l->unmap_calls, "call", "calls").s);
	if (moved)
		fprintf(out, "; %s of them %s mremap, which counts as both with the whole size",
			format_count(moved).s, moved == 1 ? "was" : "were");
	fputs(".\n", out);
}

static void print_failed(const struct print_totals *t, FILE *out)
{
	const struct mprof_counts_fn *fn = t->lanes->fn;
	const char *before = "  Failed: ";

	for (unsigned i = 0; i < MPROF_FN_MAX; i++) {
		if (!fn[i].failed)
			continue;
		fprintf(out, "%s%s of %s", before, format_many(fn[i].failed, "call", "calls").s,
			function_name(i) ?: "(unknown)");
		before = ", ";
	}
	fputs(*before == ',' ? ".\n" : "", out);
}

static void print_allocated(const struct site_values *v, FILE *out)
{
	fprintf(out, "  %s allocated %s", format_many(v->calls, "call", "calls").s,
		format_exact(v->bytes).s);
	if (v->size_min < v->size_max)
		fprintf(out, ": %s on average, from %s to %s", format_bytes(v->bytes / v->calls).s,
			format_bytes(v->size_min).s, format_bytes(v->size_max).s);
	else if (v->calls > 1)
		fprintf(out, ": %s each", format_bytes(v->size_max).s);
	fputs(".\n", out);
}

static void print_peak(const struct sites *s, FILE *out)
{
	fprintf(out, "  Peak%s: %s in %s, %s", s->totals.process ? " of the largest process" : "",
		format_exact(s->peak.bytes).s, format_many(s->peak.calls, "block", "blocks").s,
		flat_moment(s->peak.ns).s);
	if (s->totals.bound)
		fprintf(out, "; accurate to %s, because the process had several threads",
			format_bytes(s->totals.bound).s);
	fputs(".\n", out);
}

/* Prints what was not freed, and what ended otherwise. */
static void print_left(const struct print_totals *t, FILE *out)
{
	const struct profile *p = t->p;
	const struct site_values *v = &p->total;
	const struct sites *s = &p->sites;

	fprintf(out, "  %s: %s in %s", left_name(t), format_exact(v->live_bytes).s,
		format_many(v->live_calls, "block", "blocks").s);
	if (s->totals.leaving > 1 && v->live_bytes > s->peak.bytes)
		fputs(" (a sum over processes that ended at different times)", out);
	if (p->suppressed_calls)
		fprintf(out, ", of which libraries keep %s", format_bytes(p->suppressed_bytes).s);
	fputs(".\n", out);
	if (s->totals.exec_blocks)
		fprintf(out, "  Discarded by exec: %s in %s.\n",
			format_exact(s->totals.exec_bytes).s,
			format_many(s->totals.exec_blocks, "block", "blocks").s);
	if (s->totals.gone_blocks)
		fprintf(out, "  Left by processes that ended before: %s in %s.\n",
			format_exact(s->totals.gone_bytes).s,
			format_many(s->totals.gone_blocks, "block", "blocks").s);
}

static void print_lives(const struct site_values *v, const struct site_lanes *l, FILE *out)
{
	fprintf(out, "  Temporary: %s (%s).", format_many(v->temporary_calls, "call", "calls").s,
		format_percent(v->temporary_calls, v->calls).s);
	if (v->freed_calls)
		fprintf(out, "  Freed blocks lived %s on average.",
			format_ns(v->lifetime_ns / v->freed_calls).s);
	fputc('\n', out);
	if (v->reallocs)
		fprintf(out, "  Reallocated: %s, of which %s moved; they %s by %s.\n",
			format_many(v->reallocs, "block", "blocks").s,
			format_count(v->realloc_moved).s, l->realloc_grown < 0 ? "shrank" : "grew",
			format_bytes((uint64_t)llabs(l->realloc_grown)).s);
}

static void print_unmatched(const struct print_totals *t, FILE *out)
{
	const struct tree *tree = &t->a->tree;
	const uint64_t missed = t->lanes->missed, strange = t->lanes->strange;

	if (!missed && !strange)
		return;
	fputs("  Unmatched: ", out);
	if (missed)
		fprintf(out, "%s without a recorded free",
			format_many(missed, "block", "blocks").s);
	if (strange)
		fprintf(out, "%s%s %s", missed ? ", and " : "",
			format_many(strange, "free", "frees").s,
			tree->processes && tree->process->attached
			    ? "of blocks from before mprof attached"
			    : "without a recorded allocation");
	fprintf(out, "%s.\n", t->p->header->pauses ? ", as after a pause" : "");
}

static void print_sums(const struct print_totals *t, FILE *out)
{
	const struct profile *p = t->p;

	fputc('\n', out);
	report_title("Totals", out);
	if (p->sites.totals.estimated) {
		print_estimates(t, out);
		return;
	}
	if (p->total.calls) {
		print_allocated(&p->total, out);
		print_peak(&p->sites, out);
		print_left(t, out);
		print_lives(&p->total, t->lanes, out);
	} else {
		fputs("  ", out);
		figures_nothing(p, out);
		fputc('\n', out);
	}
	print_resident(t, out);
	print_maps(t, out);
	print_failed(t, out);
	if (p->total.calls)
		print_unmatched(t, out);
}

static void print_times(const struct print_totals *t, FILE *out)
{
	const struct paragraph_form form = { "  ", 4, terminal_text_width(), false };
	struct paragraph words = { 0 };
	char *sentence;

	if (!times_are_told(t->times))
		return;
	sentence = WRITTEN(to, times_sentence(t->times, to));
	paragraph_add(&words, "%s", sentence);
	paragraph_print(&words, &form, out);
	paragraph_release(&words);
	free(sentence);
}

static void print_functions(const struct print_totals *t, FILE *out)
{
	struct table table = TABLE("<Function", ">Calls", ">Bytes", ">Failed");
	const struct mprof_counts_fn *fn = t->lanes->fn;
	unsigned i;

	fputc('\n', out);
	report_title("Calls", out);
	for (i = 0; i < MPROF_FN_MAX; i++) {
		if (!fn[i].calls)
			continue;
		table_cells(&table, function_name(i) ?: "(unknown)", format_count(fn[i].calls).s,
			    format_count(fn[i].bytes).s, format_count(fn[i].failed).s);
	}
	table_print(&table, out);
}

static void print_sizes(const struct print_totals *t, FILE *out)
{
	struct table table = TABLE("<Bytes", ">Calls", ">Share", ">Live", "<Blocks");
	const struct site_lanes *l = t->lanes;
	uint64_t all = 0, live;
	unsigned i;

	for (i = 0; i < MPROF_SIZE_BINS; i++)
		all += l->sizes[i];
	fputc('\n', out);
	report_title("Sizes", out);
	for (i = 0; i < MPROF_SIZE_BINS; i++) {
		if (!l->sizes[i])
			continue;
		live = l->sizes[i] > l->freed_sizes[i] ? l->sizes[i] - l->freed_sizes[i] : 0;
		table_cells(&table, text_power(i).s, format_count(l->sizes[i]).s,
			    format_percent(l->sizes[i], all).s, format_count(live).s,
			    text_bar(l->sizes[i], all, 30).s);
	}
	table_print(&table, out);
}

/* Returns the name of each group; of those that read the same, as in merged profiles of programs
 * that share sources, with the module. */
static char **group_names(const struct profile *p)
{
	char **name = must_calloc(p->groups + 1, sizeof(*name)), *text;
	bool *twin;
	size_t i;

	for (i = 0; i < p->groups; i++)
		name[i] = p->group[i].line ? figures_line_text(p->group[i].line, false)
					   : must_strdup("(no call stack)");
	twin = interner_twins(name, p->groups);
	for (i = 0; i < p->groups; i++) {
		if (!twin[i] || !p->group[i].line || !*p->group[i].line->file)
			continue;
		text = WRITTEN(out, fprintf(out, "%s [", name[i]);
			       figures_name(out, p->group[i].line->module); fputc(']', out));
		free(name[i]);
		name[i] = text;
	}
	free(twin);
	return name;
}

static void print_top(const struct print_totals *t, enum profile_value value, const char *title,
		      const char *view, const struct report_options *o, FILE *out)
{
	const bool estimated = t->p->sites.totals.estimated;
	struct table table =
	    TABLE(">Bytes", ">Share", estimated ? "<95 % range" : ">Blocks", "<Function");
	const uint64_t total = profile_value_total(t->p, value);
	char **name;
	size_t i;

	if (!total)
		return;
	profile_sort(t->p, value);
	name = group_names(t->p);
	if (value == VALUE_CALLS)
		table.title[0] = ">Calls";
	if (value == VALUE_CALLS && !estimated)
		table.title[2] = ">Bytes";
	fputc('\n', out);
	report_title(title, out);
	for (i = 0; i < t->p->groups && (i < ROWS || o->all); i++) {
		const struct profile_group *g = &t->p->group[i];

		if (!profile_group_value(g, value))
			break;
		table_cells(&table, figures_text(value, profile_group_value(g, value)).s,
			    format_percent(profile_group_value(g, value), total).s,
			    estimated ? figures_range(g->v, value, profile_group_value(g, value)).s
			    : value == VALUE_CALLS  ? format_bytes(g->v->bytes).s
			    : value == VALUE_LEAKED ? format_count(g->v->leaked_calls).s
						    : format_count(g->v->peak_calls).s,
			    name[i]);
	}
	for (i = 0; i < t->p->groups; i++)
		free(name[i]);
	free(name);
	table_print(&table, out);
	fprintf(out, "  With their stacks: mprof report %s ", view);
	shell_word(t->p->path, out);
	fputc('\n', out);
}

/* ---- ranks ---- */

static const char *rank_name(const struct rank_total *r)
{
	return *r->rank ? r->rank : *r->host ? r->host : "(unknown)";
}

static void print_outlier(const struct rank_totals *r, FILE *out)
{
	const struct rank_total *o = r->outlier;
	const double times = (double)o->peak_bytes / (double)r->median_peak;

	fprintf(out, "  %s %s stands out: its peak of %s is %.*f times the median, %s.\n",
		r->by_rank ? "Rank" : "Host", rank_name(o), format_bytes(o->peak_bytes).s,
		times < 1 ? 2 : 1, times, format_bytes(r->median_peak).s);
}

/* Is a rank shown?  Those far from the median come first. */
static bool is_shown(const struct rank_totals *r, const struct rank_total *x,
		     const struct report_options *o)
{
	size_t greater = 0;

	if (o->all || r->count <= RANKS_SHOWN || x == r->outlier)
		return true;
	for (size_t i = 0; i < r->count; i++)
		greater += r->item[i].peak_bytes > x->peak_bytes ||
			   (r->item[i].peak_bytes == x->peak_bytes && &r->item[i] < x);
	return greater < ROWS;
}

static void print_ranks(const struct rank_totals *r, const struct report_options *o, FILE *out)
{
	struct table table = TABLE(">Rank", "<Host", ">Processes", ">Calls", ">Bytes", ">Peak",
				   ">Never freed", ">Largest process");
	const struct rank_total *x;
	size_t shown = 0;

	if (!r->by_rank)
		table = (struct table)TABLE("<Host", ">Processes", ">Calls", ">Bytes", ">Peak",
					    ">Never freed", ">Largest process");
	fputc('\n', out);
	report_title(r->by_rank ? "Ranks" : "Hosts", out);
	for (x = r->item; x < r->item + r->count; x++) {
		if (!is_shown(r, x, o))
			continue;
		shown++;
		if (r->by_rank)
			table_cell(&table, "%s", *x->rank ? x->rank : "-");
		table_cells(&table, *x->host ? x->host : "-", format_count(x->processes).s,
			    format_count(x->calls).s, format_bytes(x->bytes).s,
			    format_bytes(x->peak_bytes).s, format_bytes(x->live_bytes).s,
			    format_count(x->process).s);
	}
	table_print(&table, out);
	if (shown < r->count)
		fprintf(out, "  And %s with smaller peaks (--all).\n",
			format_many(r->count - shown, r->by_rank ? "rank" : "host",
				    r->by_rank ? "ranks" : "hosts")
			    .s);
	if (r->outlier)
		print_outlier(r, out);
}

static void add_interpreter(const struct print_totals *t, const char *module, bool left,
			    struct paragraph *words)
{
	interpreter_words(words, &(struct interpreter_words){
				     .module = module,
				     .calls = module,
				     .left = left,
				     .coded = t->p->stacks->codes > 0,
				     .unnamed = interpreter_unnamed(t->p->stacks),
				     .header = t->p->header,
				     .tree = &t->a->tree,
				 });
}

/* Points the user of a script to it, if its interpreter is one of the first, or is what ran: PHP
 * may allocate from memory that it had before mprof attached. */
static void print_interpreter(const struct print_totals *t, unsigned width, FILE *out)
{
	const struct tree_process *first = t->a->tree.processes ? t->a->tree.process : NULL;
	const struct trace_fact *image = first ? tree_image(first) : NULL;
	struct paragraph words = { 0 };

	profile_sort(t->p, VALUE_PEAK);
	for (size_t i = 0; !words.n && i < t->p->groups && i < ROWS; i++) {
		const struct sym_line *line = t->p->group[i].line;

		if (line && !line->script && !line->runs_scripts)
			add_interpreter(t, line->module,
					t->p->group[i].v->leaked_bytes > 0 &&
					    !tree_left_open(&t->a->tree, &t->p->walk.heap,
							    t->p->sites.options.filter.process),
					&words);
	}
	if (!words.n && image && !t->p->groups)
		add_interpreter(t, basename(image->exe), false, &words);
	if (words.n) {
		fputc('\n', out);
		paragraph_print(&words, &(struct paragraph_form){ "  ", 2, width, false }, out);
	}
	paragraph_release(&words);
}

static void print_more(const struct print_totals *t, FILE *out)
{
	fputs("\nAll tables: mprof report --all ", out);
	shell_word(t->p->path, out);
	fputs("; views: mprof report --help\n", out);
}

/* ---- the course of time ---- */

/* Joins several steps. */
static struct course_step joined(const struct course_step *s, size_t n)
{
	struct course_step all = s[0];

	for (size_t i = 1; i < n; i++) {
		const uint64_t calls = all.calls + s[i].calls, bytes = all.bytes + s[i].bytes;
		const uint64_t resident =
		    s[i].resident > all.resident ? s[i].resident : all.resident;
		const uint64_t mapped = s[i].mapped > all.mapped ? s[i].mapped : all.mapped;
		const int64_t from = all.from_ns;

		if (s[i].live_bytes > all.live_bytes)
			all = s[i];
		all.from_ns = from;
		all.to_ns = s[i].to_ns;
		all.calls = calls;
		all.bytes = bytes;
		all.resident = resident;
		all.mapped = mapped;
	}
	return all;
}

static uint64_t rate_of(uint64_t n, const struct course_step *s)
{
	const double seconds = (double)(s->to_ns - s->from_ns) / 1e9;

	return seconds > 0 ? (uint64_t)((double)n / seconds) : 0;
}

static void print_course(const struct print_totals *t, FILE *out)
{
	struct table table = TABLE(">Until", ">Live", ">Blocks", ">Resident", ">Virtual",
				   ">Calls/s", ">Bytes/s", "<Function that allocated at most live");
	const struct course *c = t->course;
	const bool sampled = t->p->sites.totals.estimated; /* then only live blocks are known */
	const size_t together = (c->count + COURSE_ROWS - 1) / COURSE_ROWS;

	fputc('\n', out);
	report_title("Over time", out);
	for (size_t i = 0; i < c->count; i += together) {
		const struct course_step s =
		    joined(&c->step[i], c->count - i < together ? c->count - i : together);
		const struct sym_line *line = s.stack ? profile_asked(t->p, s.stack).line : NULL;
		char *name = line ? figures_line_text(line, false) : NULL;

		table_cells(&table, format_since(s.to_ns).s, format_bytes(s.live_bytes).s,
			    format_count(s.live_calls).s,
			    s.resident ? format_bytes(s.resident).s : "-",
			    s.mapped ? format_bytes(s.mapped).s : "-");
		table_cells(&table, sampled ? "-" : format_count(rate_of(s.calls, &s)).s,
			    sampled ? "-" : format_bytes(rate_of(s.bytes, &s)).s);
		table_cell(&table, "%s", name ? name : "-");
		free(name);
	}
	table_print(&table, out);
	if (t->p->sites.totals.process)
		fprintf(out, "  Of process %" PRIu32 ", which has the highest peak.\n", c->process);
}

static bool print_findings(const struct print_totals *t, const struct report_options *o, FILE *out)
{
	if (!t->p->total.calls)
		return false;
	if (!o->all)
		return report_screen_findings(t->a, o, out);
	fputc('\n', out);
	report_title("Findings", out);
	report_found(t->a, out);
	return false;
}

void totals_text(const struct print_totals *t, const struct report_options *o, FILE *out)
{
	bool explained;

	report_sections(report_run_sections, t->a, out);
	print_sums(t, out);
	print_times(t, out);
	if (t->ranks->count)
		print_ranks(t->ranks, o, out);
	explained = print_findings(t, o, out);
	print_top(t, VALUE_PEAK, "Largest at the peak", "peak", o, out);
	print_top(t, VALUE_LEAKED, left_name(t), "leaks", o, out);
	if (t->p->total.leaked_bytes)
		text_growth(&t->a->tree, t->p->header, out);
	print_top(t, VALUE_CALLS, "Most frequent allocations", "hot", o, out);
	if (!explained)
		print_interpreter(t, o->width, out);
	if (o->all && t->lanes->calls)
		print_functions(t, out);
	if (o->all && !t->p->sites.totals.estimated)
		print_sizes(t, out);
	if (o->all && t->course->count)
		print_course(t, out);
	if (!o->all)
		print_more(t, out);
}

/* ---- as findings ---- */

void totals_findings(const struct print_totals *t, FILE *out)
{
	print_sums(t, out);
	fputc('\n', out);
	report_title("Findings", out);
	report_found(t->a, out);
	if (t->ranks->outlier) {
		fputs("  *", out);
		print_outlier(t->ranks, out);
	}
}

/* ---- JSON ---- */

#include "../json/totals.def"

json *totals_json_object(const struct print_totals *t)
{
	return JSON_NEW(profile, t);
}

void totals_json(const struct print_totals *t, FILE *out)
{
	json_print(out, totals_json_object(t));
}
