// SPDX-License-Identifier: LGPL-3.0-or-later
/* report_pages.c - the report on pages and address space, and on contradictions. */
#include "report.h"

#include "print_table.h"

/* ---- compactness ---- */

bool report_has_compactness(const struct analysis *a)
{
	return a->compactness.all.states && !report_is_recent(a);
}

void report_compactness(const struct analysis *a, FILE *out)
{
	const struct compactness_of *c = &a->compactness.all;

	fprintf(out,
		"  Compactness (pages needed : pages touched): min: %.2f  max: %.2f  mean: %.2f\n",
		c->min, c->max, c->mean);
	fprintf(out, "  High Water: %s, %s.\n", format_many(c->high_pages, "page", "pages").s,
		format_many(c->high_bytes, "application byte", "application bytes").s);
	fprintf(out, "  Mean over time: %.2f.  At the peak of live bytes: %.2f.\n",
		c->mean_over_time, c->at_peak);
	fputs("  1.00: live blocks fill their pages; 0.10: they occupy ten times as many.\n", out);
	return;
}

static bool has_samples(const struct analysis *a)
{
	return a->residency.sample.count != 0;
}

static void sample_row(struct table *t, const struct analysis *a, const struct residency_sample *s)
{
	const uint64_t page = a->walk.heap.page_size;

	table_cells(t, report_since(a, s->ticks).s, format_number(s->process).s,
		    format_bytes(s->rss).s, format_bytes(s->resident * page).s,
		    format_bytes(s->under_live * page).s, format_bytes(s->live_bytes).s,
		    format_bytes(s->live_resident_bytes).s,
		    s->under_live ? format_ratio(s->compactness).s : "-");
}

static void print_samples(const struct analysis *a, FILE *out)
{
	const struct residency *r = &a->residency;
	const struct residency_sample *s = r->sample.item;
	struct table t = TABLE(">At", ">Process", ">RSS", ">Private", ">With blocks", ">Live",
			       ">Live resident", ">Compactness");
	size_t n = r->sample.count, i;

	for (i = 0; i < n; i++)
		sample_row(&t, a, &s[i]);
	table_print(&t, out);
	if (r->compared)
		fprintf(out, "  Compactness of resident pages: min: %.2f  max: %.2f  mean: %.2f\n",
			r->min, r->max, r->mean);
	fputs("  Private: resident pages of writable mappings, without mprof's own tables.\n"
	      "  With blocks: those with part of a live block.\n",
	      out);
	if (!analysis_knows_live(a))
		fputs("  Blocks whose calls the trace does not have are missing: pages without "
		      "blocks "
		      "may be theirs.\n",
		      out);
}

/* ---- resident set ---- */

static void print_rss(const struct analysis *a, FILE *out)
{
	struct table t = TABLE(">Process", ">Samples", ">Most sampled", ">Most anonymous",
			       ">Peak RSS", ">User", ">System", ">mprof's own");
	const size_t n = a->tree.processes;
	size_t i;

	for (i = 0; i < n; i++) {
		const struct tree_process *p = &a->tree.process[i];

		table_cells(&t, format_number(p->number).s, format_count(p->samples).s,
			    p->samples ? format_bytes(p->rss_most).s : "-",
			    p->rss_anon_most ? format_bytes(p->rss_anon_most).s : "-",
			    p->peak_rss_bytes ? format_bytes(p->peak_rss_bytes).s : "-",
			    format_ns(p->user_ns).s, format_ns(p->system_ns).s,
			    format_bytes(p->self_bytes).s);
	}
	table_print(&t, out);
}

static bool has_rss(const struct analysis *a)
{
	size_t i;

	for (i = 0; i < a->tree.processes; i++)
		if (a->tree.process[i].samples || a->tree.process[i].peak_rss_bytes)
			return true;
	return false;
}

/* ---- address space ---- */

static bool has_maps(const struct analysis *a)
{
	unsigned f;

	for (f = 0; f < MPROF_FN_MAX; f++)
		if (mprof_fn_maps(f) && a->totals.all.fn[f].calls)
			return true;
	return false;
}

static void print_maps(const struct analysis *a, FILE *out)
{
	const struct maps_of *m = &a->maps.all;

	fprintf(out, "  Mapped by the program itself, most at once: %s", format_exact(m->peak).s);
	if (m->file_peak)
		fprintf(out, ", and %s of files and shared memory", format_exact(m->file_peak).s);
	fprintf(out, ".\n  Still mapped at the end: %s", format_exact(m->now).s);
	if (m->file_now)
		fprintf(out, ", and %s of files and shared memory", format_exact(m->file_now).s);
	fputs(".\n", out);
	if (m->unknown_unmapped)
		fprintf(out, "  Unmapped without a recorded mapping: %s.\n",
			format_exact(m->unknown_unmapped).s);
	if (m->break_peak || m->break_now)
		fprintf(out, "  Break moved by brk and sbrk: %s bytes at the end, most %s.\n",
			format_signed(m->break_now).s, format_signed(m->break_peak).s);
}

/* ---- problems ---- */

static const char *const problem_words[HEAP_PROBLEM_KINDS] = {
	[HEAP_DOUBLE_ALLOCATION] = "double allocation: the address was still in use",
	[HEAP_UNMATCHED_FREE] = "unmatched free: no live block is there",
	[HEAP_INVERSION] = "time inversion: two events are in the wrong order; repaired",
};

static void print_problems(const struct analysis *a, FILE *out)
{
	const struct heap *h = &a->walk.heap;
	struct table t = TABLE(">Event", ">At", "<Address", ">Process", ">Thread", "<What");
	uint64_t all = h->problems[0] + h->problems[1] + h->problems[2];
	size_t shown = h->kept, i;

	fprintf(
	    out, "  %s, %s, %s.\n",
	    format_many(h->problems[HEAP_DOUBLE_ALLOCATION], "double allocation",
			"double allocations")
		.s,
	    format_many(h->problems[HEAP_UNMATCHED_FREE], "unmatched free", "unmatched frees").s,
	    format_many(h->problems[HEAP_INVERSION], "time inversion", "time inversions").s);
	for (i = 0; i < shown; i++) {
		const struct heap_problem *p = &h->problem[i];

		table_cells(&t, format_count(p->event).s, report_since(a, p->ticks).s,
			    format_address(p->addr).s, format_number(p->process).s,
			    format_number(p->thread).s, problem_words[p->kind]);
	}
	if (shown)
		table_print(&t, out);
	if (shown < all)
		fprintf(out, "  and %s more.\n", format_count(all - shown).s);
	if (all && a->tree.deepbinds)
		fputs("  Frees by objects that bypass the library are not recorded, so reused "
		      "addresses look like this.\n",
		      out);
	if (all)
		fputs("  mprof dump --numbers shows what happened around an event.\n", out);
}

const struct report_section report_page_sections[] = {
	{ "Compactness", report_has_compactness, report_compactness },
	{ "Resident pages", has_samples, print_samples },
	{ "Memory and time of the processes", has_rss, print_rss },
	{ "Address space", has_maps, print_maps },
	{ "Contradictions in the trace", NULL, print_problems },
	{ NULL, NULL, NULL },
};
