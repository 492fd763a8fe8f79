// SPDX-License-Identifier: LGPL-3.0-or-later
/* report_blocks.c - the report on blocks: peak, never freed, sizes, realloc, lifetimes. */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/order.h"
#include "print_findings.h"
#include "print_table.h"
#include "text.h"

#define BAR 40

bool report_has_blocks(const struct analysis *a)
{
	return a->sizes.total.count != 0;
}

/* Returns whole percents, rounded down: rows never add up to more than 100. */
static unsigned whole_percent(uint64_t part, uint64_t of)
{
	return of ? (unsigned)((unsigned __int128)part * 100 / of) : 0;
}

static void print_peak(const struct analysis *a, FILE *out)
{
	const struct peak_of *p = &a->peak.all;

	fprintf(out, "  Most bytes:  %s in %s, %s after the start (event %s)\n",
		format_exact(p->at.bytes).s, format_many(p->at.blocks, "block", "blocks").s,
		report_since(a, p->ticks).s, format_count(p->event).s);
	fprintf(out, "  Most blocks: %s, %s after the start\n", format_count(p->blocks).s,
		report_since(a, p->block_ticks).s);
	if (analysis_knows_rounding(a))
		fprintf(out, "  At the peak, usable sizes exceeded the requested bytes by %s.\n",
			format_exact(p->at.slack).s);
}

/* ---- never freed ---- */

static void print_left_classes(const struct analysis *a, FILE *out)
{
	const struct never_freed *n = &a->never_freed;
	struct table t = TABLE(">Bytes", ">Count", ">Total bytes", "<");
	uint64_t bytes;
	size_t i;

	for (i = 0; i < n->classes; i++) {
		bytes = n->class[i].size * n->class[i].count;
		table_cells(&t, format_count(n->class[i].size).s, format_count(n->class[i].count).s,
			    format_count(bytes).s, text_bar(bytes, n->all.bytes, BAR).s);
	}
	table_print(&t, out);
}

static void print_left_oldest(const struct analysis *a, FILE *out)
{
	const struct never_freed *n = &a->never_freed;
	struct table t = TABLE(">Oldest at", ">Bytes", "<Address", ">Process", ">Thread");
	size_t i;

	for (i = 0; i < n->oldest_count; i++) {
		const struct never_freed_block *b = &n->oldest[i];

		table_cells(&t, report_since(a, b->ticks).s, format_count(b->size).s,
			    format_address(b->addr).s, format_number(b->process).s,
			    format_number(b->thread).s);
	}
	table_print(&t, out);
}

static void print_left(const struct analysis *a, FILE *out)
{
	const struct never_freed_process *n = &a->never_freed.all;

	fprintf(out, "  %s, %s, %s still live when %s ended.\n",
		format_many(n->blocks, "block", "blocks").s, format_exact(n->bytes).s,
		n->blocks == 1 ? "was" : "were",
		report_ends_early(a)	? "the events"
		: a->tree.processes > 1 ? "their process"
					: "the program");
	if (a->findings && a->findings->kept.all.live_blocks && !report_is_reduced(a))
		fprintf(out, "  %s%s of these, %s, %s kept by %s, not by the program.\n",
			*kept_least(&a->findings->kept) ? "At least " : "",
			format_many(a->findings->kept.all.live_blocks, "block", "blocks").s,
			format_exact(a->findings->kept.all.live_bytes).s,
			a->findings->kept.all.live_blocks == 1 ? "is" : "are",
			kept_by(&a->findings->kept));
	if (n->exec_blocks)
		fprintf(out,
			"  %s, %s, %s discarded when a program called exec; not counted here.\n",
			format_many(n->exec_blocks, "block", "blocks").s,
			format_exact(n->exec_bytes).s, n->exec_blocks == 1 ? "was" : "were");
	if (n->blocks)
		fputs("  Not all of them are leaks; many blocks of one size usually are, and so is "
		      "a number that grows with the run time.\n",
		      out);
	if (n->blocks)
		print_left_classes(a, out);
	if (n->blocks)
		print_left_oldest(a, out);
}

/* ---- sizes ---- */

static uint64_t bytes_of(const struct size_class *c)
{
	return c->size * c->count;
}

ORDER(by_bytes, struct size_class *const,
      COMPARE(bytes_of(*y), bytes_of(*x)) ?: COMPARE((*y)->count, (*x)->count))

ORDER(by_size, struct size_class *const, COMPARE((*x)->size, (*y)->size))

static void class_row(struct table *t, const struct sizes *s, const char *name,
		      const struct size_class *c, uint64_t bytes)
{
	table_cells(t, name, format_count(c->count).s,
		    format_number(whole_percent(bytes, s->bytes)).s,
		    format_number(whole_percent(c->count, s->total.count)).s, format_count(bytes).s,
		    format_count(c->waste).s, format_mean(c->waste, c->count).s);
}

/* Chooses the classes to show, ascending by size, and adds up the others in *rest. */
static size_t choose_classes(const struct sizes *s, size_t most, const struct size_class **chosen,
			     struct size_class *rest)
{
	size_t shown = most && s->classes > most ? most : s->classes, i;

	for (i = 0; i < s->classes; i++)
		chosen[i] = &s->class[i];
	SORT(chosen, s->classes, by_bytes);
	for (i = shown; i < s->classes; i++) {
		rest->size += bytes_of(chosen[i]);
		rest->count += chosen[i]->count;
		rest->waste += chosen[i]->waste;
	}
	SORT(chosen, shown, by_size);
	return shown;
}

void report_sizes(const struct analysis *a, size_t most, FILE *out)
{
	const struct sizes *s = &a->sizes;
	struct table t =
	    TABLE(">Bytes", ">Count", ">%Size", ">%Qty", ">Total bytes", ">Waste", ">Waste/block");
	const struct size_class **chosen = must_calloc(s->classes + 1, sizeof(*chosen));
	struct size_class rest = { .size = 0 };
	size_t shown, i;

	shown = choose_classes(s, most, chosen, &rest);
	for (i = 0; i < shown; i++)
		class_row(&t, s, format_count(chosen[i]->size).s, chosen[i], bytes_of(chosen[i]));
	free(chosen);
	if (rest.count)
		class_row(&t, s, "others", &rest, rest.size);
	class_row(&t, s, "Total", &s->total, s->bytes);
	table_print(&t, out);
	if (rest.count)
		fprintf(out, "  The %zu sizes with the most bytes, of %s.\n", shown,
			format_count(s->classes).s);
	fputs("  Waste: usable bytes beyond the requested bytes.\n", out);
}

static void print_sizes(const struct analysis *a, FILE *out)
{
	report_sizes(a, 0, out);
}

static void print_powers(const struct analysis *a, FILE *out)
{
	const struct sizes *s = &a->sizes;
	struct table t = TABLE("<Bytes", ">Count", ">%Qty", ">Total bytes", ">%Size", "<Blocks");
	unsigned i;

	for (i = 0; i < SIZES_POWERS; i++) {
		const struct size_class *p = &s->power[i];

		if (!p->count)
			continue;
		table_cells(&t, text_power(i).s, format_count(p->count).s,
			    format_number(whole_percent(p->count, s->total.count)).s,
			    format_count(p->size).s,
			    format_number(whole_percent(p->size, s->bytes)).s,
			    text_bar(p->count, s->total.count, BAR).s);
	}
	table_print(&t, out);
}

/* ---- realloc ---- */

static bool has_reallocs(const struct analysis *a)
{
	return a->resizes.calls != 0;
}

static void print_realloc(const struct analysis *a, FILE *out)
{
	const struct resizes *r = &a->resizes;
	const struct {
		const char *name;
		uint64_t n;
	} row[] = {
		{ "grew in place", r->in_place.grew },
		{ "shrank in place", r->in_place.shrank },
		{ "kept its size in place", r->in_place.same },
		{ "moved and grew", r->moved.grew },
		{ "moved and shrank", r->moved.shrank },
		{ "moved with the same size", r->moved.same },
		{ "allocated (NULL passed)", r->of_nothing },
		{ "freed (size 0 passed)", r->freed },
		{ "failed, block unchanged", r->failed },
	};
	struct table t = TABLE("<Result", ">Calls", ">Share", "<");
	size_t i;

	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		if (!row[i].n)
			continue;
		table_cells(&t, row[i].name, format_count(row[i].n).s,
			    format_percent(row[i].n, r->calls).s,
			    text_bar(row[i].n, r->calls, BAR).s);
	}
	table_print(&t, out);
	if (r->remapped)
		fprintf(out, "  Moved by mremap, without copying: %s.\n",
			format_many(r->remapped, "call", "calls").s);
	fprintf(out, "  Copied by moves: at most %s.  Grown by %s, shrunk by %s in total.\n",
		format_exact(r->copied_bytes).s, format_bytes(r->grown_bytes).s,
		format_bytes(r->shrunk_bytes).s);
}

static bool has_chains(const struct analysis *a)
{
	return a->resizes.chains != 0;
}

static void print_chains(const struct analysis *a, FILE *out)
{
	const struct resizes *r = &a->resizes;
	struct table t = TABLE("<Calls on one block", ">Blocks", "<");
	unsigned i;

	for (i = 0; i < RESIZES_BUCKETS; i++) {
		if (!r->chain[i])
			continue;
		if (i)
			table_cell(&t, "%s - %s", format_count(1ull << i).s,
				   format_count((2ull << i) - 1).s);
		else
			table_cell(&t, "1");
		table_cells(&t, format_count(r->chain[i]).s,
			    text_bar(r->chain[i], r->chains, BAR).s);
	}
	table_print(&t, out);
	fprintf(out, "  The longest: %s of one block, which ended at %s; at most %s copied.\n",
		format_many(r->longest, "realloc", "reallocs").s, format_bytes(r->longest_bytes).s,
		format_bytes(r->longest_copied).s);
}

/* ---- lifetimes ---- */

static bool has_lifetimes(const struct analysis *a)
{
	return a->lifetimes.blocks != 0;
}

static void print_lifetimes(const struct analysis *a, FILE *out)
{
	const struct lifetimes *l = &a->lifetimes;
	struct table t = TABLE(">From", ">Below", ">Blocks", ">Share", "<");
	unsigned i;
	uint64_t n;

	for (i = 0; i < LIFETIMES_BUCKETS; i++) {
		n = l->bucket[i];
		if (!n)
			continue;
		table_cells(&t, format_ns(i ? 1ull << i : 0).s,
			    i + 1 < 64 ? format_ns(1ull << (i + 1)).s : "", format_count(n).s,
			    format_percent(n, l->blocks).s, text_bar(n, l->blocks, BAR).s);
	}
	table_print(&t, out);
	fprintf(out, "  Shortest %s, longest %s, mean %s.", format_ns(l->least_ns).s,
		format_ns(l->most_ns).s, format_ns((uint64_t)(l->sum_ns / (double)l->blocks)).s);
	fprintf(out, "  %s under 1 us, %s under 1 ms.\n", format_percent(l->under_1us, l->blocks).s,
		format_percent(l->under_1ms, l->blocks).s);
	fprintf(out, "  Freed by another thread: %s (%s).\n",
		format_many(l->other_thread, "block", "blocks").s,
		format_percent(l->other_thread, l->blocks).s);
}

const struct report_section report_block_sections[] = {
	{ "Peak", report_has_blocks, print_peak },
	{ "Never freed", report_has_blocks, print_left },
	{ "Sizes", report_has_blocks, print_sizes },
	{ "Sizes by powers of two", report_has_blocks, print_powers },
	{ "realloc", has_reallocs, print_realloc },
	{ "Chains of realloc", has_chains, print_chains },
	{ "Lifetimes of blocks", has_lifetimes, print_lifetimes },
	{ NULL, NULL, NULL },
};
