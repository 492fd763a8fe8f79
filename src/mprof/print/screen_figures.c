// SPDX-License-Identifier: LGPL-3.0-or-later
/* screen_figures.c - see screen_figures.h. */
#include "screen_figures.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../pass/rss.h"
#include "../profile/findings.h"
#include "../util/alloc.h"
#include "../util/columns.h"
#include "../util/order.h"
#include "print_findings.h"
#include "report.h"
#include "resident_words.h"

#define LARGEST	    3u	 /* programs */
#define COPIED_PART 100u /* of all requested bytes: less copying by realloc is not told */

bool screen_is_tree(const struct analysis *a)
{
	return a->totals.process.count > 1;
}

/* Processes of one program, by its name. */
struct program {
	char name[40];
	uint64_t allocated;
	size_t processes;
	uint32_t number; /* of one of them */
};

ORDER(by_name, struct program, BY_NAME(name))

ORDER(by_allocated, struct program, FALLING(allocated) ?: RISING(number))

/* Its bytes are those of all programs that the process ran, except that a forked child hardly
 * allocates before it calls exec. */
static void name_program(struct program *p, const struct analysis *a)
{
	const struct tree_process *t = tree_find(&a->tree, p->number);
	const struct trace_fact *last = t ? tree_image(t) : NULL;
	const size_t first = t && t->forked && t->images > 1;
	char *name = last ? text_program(last) : must_strdup("");
	char *before = last ? text_program(t->image[first]) : must_strdup(name);
	char *both = strcmp(before, name) != 0 ? must_printf("%s which became %s", before, name)
					       : must_strdup(name);

	columns_elide(p->name, *both ? both : "an unknown program", sizeof(p->name) - 1);
	free(both);
	free(before);
	free(name);
}

/* One row for each program, most bytes first; returns how many. */
static size_t find_programs(struct program *program, const struct analysis *a)
{
	const struct totals_process *t = a->totals.process.item;
	const size_t n = a->totals.process.count;
	size_t rows = 0, i;

	for (i = 0; i < n; i++) {
		program[i] = (struct program){ .allocated = t[i].sum.allocated,
					       .processes = 1,
					       .number = t[i].number };
		name_program(&program[i], a);
	}
	SORT(program, n, by_name);
	for (i = 0; i < n; i++) {
		if (!rows || strcmp(program[rows - 1].name, program[i].name) != 0) {
			program[rows++] = program[i];
			continue;
		}
		program[rows - 1].allocated += program[i].allocated;
		program[rows - 1].processes++;
	}
	SORT(program, rows, by_allocated);
	return rows;
}

/* The most important programs of a process tree: "; most by cc1 (13 MiB in process 2) and ...". */
static void add_programs(struct paragraph *words, const struct analysis *a)
{
	struct program *program = must_calloc(a->totals.process.count + 1, sizeof(*program));
	const size_t rows = find_programs(program, a), named = rows < LARGEST ? rows : LARGEST;

	for (size_t i = 0; i < named && rows > 1; i++) {
		const struct program *p = &program[i];

		paragraph_add(words, "%s ", !i ? "; most by" : i + 1 < named ? "," : " and");
		paragraph_add_styled(words, STYLE_PLACE, "%s", p->name);
		paragraph_add(words, " (%s in ", format_bytes(p->allocated).s);
		if (p->processes == 1)
			paragraph_add(words, "process %" PRIu32 ")", p->number);
		else
			paragraph_add(words, "%s)",
				      format_many(p->processes, "process", "processes").s);
	}
	free(program);
}

#define OWN_LEAST (1u << 20) /* bytes of mprof's own memory, and a 16th of what is resident */

/* Says what else than heap is in it. */
static void add_resident_parts(struct paragraph *words, const struct analysis *a,
			       const struct tree_process *p)
{
	const struct outside_place *mapper = a->findings ? &a->findings->files : NULL;
	const uint64_t rss = p->peak_rss_bytes, own = p->self_bytes;
	const bool told = own >= OWN_LEAST && own >= rss / 16;

	if (tree_has_files(p)) {
		paragraph_add(words, "at least %s of it files and shared memory",
			      format_bytes(tree_files(p)).s);
		if (mapper && mapper->asked.line) {
			char *name = WRITTEN(out, outside_put_place(mapper, out));

			paragraph_add(words, ", mapped mostly by ");
			paragraph_add_styled(words, STYLE_PLACE, "%s", name);
			free(name);
		}
		paragraph_add(words, told ? ", and" : "");
	} else
		paragraph_add(words, told ? "with code, files and" : "with code and files");
	if (told)
		paragraph_add(words, " %s%s of mprof's own memory", own < rss ? "" : "up to ",
			      format_bytes(own < rss ? own : rss).s);
}

/* Puts "cc1 (process 2)". */
static void add_process(struct paragraph *words, const struct analysis *a, uint32_t number)
{
	struct program program = { .number = number };

	name_program(&program, a);
	paragraph_add_styled(words, STYLE_PLACE, "%s", program.name);
	paragraph_add(words, " (process %" PRIu32 ")", number);
}

static bool killed_for_memory(const struct tree *r)
{
	bool any = false;

	for (size_t i = 0; i < r->processes; i++)
		any |= r->process[i].oom;
	return any;
}

bool screen_resident(struct paragraph *words, const struct analysis *a)
{
	const struct tree_process *p = tree_largest(&a->tree);

	if (!p || !p->peak_rss_bytes)
		return false;
	paragraph_add(words, "Largest resident set: %s, ", format_bytes(p->peak_rss_bytes).s);
	if (a->tree.processes == 1) {
		add_resident_parts(words, a, p);
	} else {
		paragraph_add(words, "of ");
		add_process(words, a, p->number);
	}
	return true;
}

/* What was resident, which the system tells for each process. */
static void add_resident(struct paragraph *words, const struct analysis *a)
{
	const struct tree_process *p = tree_largest(&a->tree);
	const uint64_t rss = screen_resident(words, a) ? p->peak_rss_bytes : 0;
	const uint64_t untouched = analysis_untouched(a, a->peak.all.at.bytes);
	const uint64_t swapped = rss_swapped(&a->walk.input), limit = rss_limit(&a->walk.input);

	if (rss)
		paragraph_add(words, "%s",
			      !untouched	       ? ". "
			      : a->tree.processes == 1 ? ", so at"
						       : ". At");
	if (!rss && untouched)
		paragraph_add(words, "At");
	if (untouched)
		paragraph_add(words,
			      " least %s of the peak was not resident, because the program had "
			      "not written to it or had returned it to the system. ",
			      format_bytes(untouched).s);
	if (rss)
		resident_of_stacks(words, a);
	if (rss)
		resident_huge_pages(words, a);
	resident_together(words, a);
	if (swapped)
		paragraph_add(words, "Up to %s was swapped out. ", format_bytes(swapped).s);
	if (limit && (rss >= limit / 2 || killed_for_memory(&a->tree)))
		paragraph_add(words, "The control group's memory limit was %s. ",
			      format_bytes(limit).s);
}

#define LEFT_MOSTLY 90u /* percent of what was never freed */

/* Names the process that left nearly all, unless its fork went on with copies of them. */
static void add_leaver(struct paragraph *words, const struct analysis *a)
{
	const struct never_freed *all = &a->never_freed;
	const struct never_freed_process *of = all->process.item;
	const struct heap *h = &a->walk.heap;

	for (size_t i = 0; screen_is_tree(a) && i < all->process.count && i < h->processes; i++) {
		const struct tree_process *p = tree_find(&a->tree, h->process[i]->number);

		if ((double)of[i].bytes * 100 < (double)all->all.bytes * LEFT_MOSTLY || !p ||
		    p->heir)
			continue;
		paragraph_add(words, "; %s in ",
			      of[i].bytes == all->all.bytes
				  ? "all"
				  : format_percent(of[i].bytes, all->all.bytes).s);
		add_process(words, a, h->process[i]->number);
	}
}

void screen_totals(struct paragraph *words, const struct analysis *a)
{
	const struct peak_of *p = &a->peak.all;
	const struct never_freed_process *n = &a->never_freed.all;
	const struct kept *k = a->findings ? &a->findings->kept : NULL;
	const char *least = report_is_reduced(a) ? "at least " : "";

	paragraph_add(words, "Peak: %s%s in %s", least, format_bytes(p->at.bytes).s,
		      format_many(p->at.blocks, "block", "blocks").s);
	if (!a->untimed)
		paragraph_add(words, ", %s after the start", report_since(a, p->ticks).s);
	paragraph_add(words, ". ");
	add_resident(words, a);
	paragraph_add(words, "Allocated in total: %s%s in %s", least,
		      format_bytes(a->sizes.bytes).s,
		      format_many(a->sizes.total.count, "block", "blocks").s);
	if (screen_is_tree(a))
		add_programs(words, a);
	paragraph_add(words, ". ");
	if (!n->blocks) {
		paragraph_add(words, n->exec_blocks ? "" : "Every %sblock was freed.",
			      *least ? "recorded " : "");
	} else {
		paragraph_add(words, "%s%s: %s%s in %s",
			      report_ends_early(a)	? "Live at the end of this time"
			      : text_running(&a->tree)	? "Live now"
			      : analysis_interrupted(a) ? "Live at the end"
							: "Never freed",
			      analysis_is_cut(a) ? ", as far as this trace shows" : "", least,
			      format_bytes(n->bytes).s,
			      format_many(n->blocks, "block", "blocks").s);
		if (n->bytes > p->at.bytes &&
		    strcmp(format_bytes(n->bytes).s, format_bytes(p->at.bytes).s))
			paragraph_add(words,
				      " (a sum over processes that ended at different times)");
		if (k && !*least && k->all.live_blocks == n->blocks &&
		    k->all.live_bytes == n->bytes)
			paragraph_add(words, "; %s keep all of it", kept_by(k));
		else if (k && k->all.live_blocks && !*least) /* otherwise it is of the whole run */
			paragraph_add(words, ", of which %s keep %s%s", kept_by(k), kept_least(k),
				      format_bytes(k->all.live_bytes).s);
		if (!k || k->all.live_bytes < n->bytes / 2)
			add_leaver(words, a);
		paragraph_add(words, ". ");
	}
	if (n->exec_blocks)
		paragraph_add(words, "Discarded by exec: %s in %s.", format_bytes(n->exec_bytes).s,
			      format_many(n->exec_blocks, "block", "blocks").s);
}

void screen_heap(struct paragraph *words, const struct analysis *a)
{
	const struct residency_sample *full = &a->residency.fullest;
	const struct resizes *r = &a->resizes;
	const struct live *at = &a->peak.all.at;
	const uint64_t page = a->walk.heap.page_size;
	const uint64_t moved = r->moved.grew + r->moved.shrank + r->moved.same;
	const bool rounding = analysis_knows_rounding(a);
	const bool compact = a->compactness.all.high_touched && !report_is_recent(a);

	/* What one process has to itself is for --all where there are several. */
	if (at->bytes && rounding)
		paragraph_add(words, "At the peak, the allocator's rounding added %s%s",
			      format_percent(at->slack, at->bytes).s,
			      at->slack > at->blocks * page ? ", mostly of address space," : "");
	if (at->bytes && compact)
		paragraph_add(words, "%s compactness was %s (1.00 is perfect)",
			      rounding ? " and" : "At the peak,",
			      format_ratio(a->compactness.all.at_peak).s);
	if (at->bytes && (compact || rounding))
		paragraph_add(words, ". ");
	/* A sample from long before the peak would seem to describe it. */
	if (a->residency.compared && analysis_knows_live(a) && !screen_is_tree(a) &&
	    full->live_bytes >= at->bytes / 2)
		paragraph_add(words,
			      "%s after the start, %s of heap, stacks and data was resident, "
			      "%s of it in pages with live blocks. ",
			      report_since(a, full->ticks).s, format_bytes(full->resident * page).s,
			      format_bytes(full->under_live * page).s);
	if (a->lifetimes.blocks && !a->untimed)
		paragraph_add(words, "%s of freed blocks lived less than 1 ms%s. ",
			      format_percent(a->lifetimes.under_1ms, a->lifetimes.blocks).s,
			      report_realloc_ends(a));
	/* What is small leads nowhere: --all has it. */
	if (moved && !screen_is_tree(a) && r->copied_bytes >= a->sizes.bytes / COPIED_PART)
		paragraph_add(words, "realloc copied at most %s.", format_bytes(r->copied_bytes).s);
}
