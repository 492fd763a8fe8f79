// SPDX-License-Identifier: LGPL-3.0-or-later
/* analysis.c - all passes over one walk. */
#include "fused.h"

#include <string.h>

#include "milestones.h"
#include "site_totals.h"

#define PASS(field)                                             \
	{                                                       \
		&field##_pass, offsetof(struct analysis, field) \
	}

static const struct {
	const struct pass_ops *ops;
	size_t offset;
} passes[] = {
	PASS(totals),  PASS(peak),	PASS(never_freed), PASS(sizes),
	PASS(resizes), PASS(lifetimes), PASS(compactness), PASS(residency),
	PASS(maps),    PASS(sites),	PASS(growth),
};

_Static_assert(sizeof(passes) / sizeof(passes[0]) == ANALYSIS_PASSES, "analysis.h has the number");
#define OF_STACKS 2 /* the last ones, which need call stacks */

#define UNTOUCHED_TOLD (1u << 20) /* bytes of the peak that were not resident */

void analysis_source_of(struct analysis_source *source, struct trace *t)
{
	*source = (struct analysis_source){
		.damage = trace_damage(t),
		.path = trace_path(t),
		.file_bytes = trace_bytes(t),
	};
	source->time_error_ns =
	    (uint64_t)(trace_ns(t, trace_header(t)->start_ticks + trace_header(t)->time_error) -
		       trace_ns(t, trace_header(t)->start_ticks));
	walk_input_from_trace(&source->input, t);
	source->input.stacks = trace_stacks(t);
	if (trace_has_events(t) && trace_has_totals(t))
		source->whole = t;
}

/* Adds what only events know.  Both arrays may be in any order. */
static void add_epochs(struct sites *to, const struct sites *from)
{
	struct hash index = { 0 };
	size_t i;

	for (i = 0; i < from->count; i++)
		*hash_at(&index, from->site[i].key) = i + 1;
	for (i = 0; i < to->count; i++) {
		const uint64_t at = hash_get(&index, to->site[i].key);

		if (at)
			memcpy(to->site[i].v.epoch_bytes, from->site[at - 1].v.epoch_bytes,
			       sizeof(to->site[i].v.epoch_bytes));
	}
	hash_release(&index);
}

static void read_whole(struct analysis *a, const struct trace *t)
{
	if (!t)
		return;
	a->whole.options = (struct sites_options){ .filter = SITE_FILTER_ALL };
	a->whole.walk = &a->walk;
	site_totals_read(&a->whole, t);
	if (a->walk.input.reduced_count)
		add_epochs(&a->whole, &a->sites);
}

size_t analysis_begin(struct analysis *a, const struct analysis_source *source,
		      struct walk_pass list[static ANALYSIS_PASSES])
{
	const struct stacks *stacks = source->input.stacks;
	size_t i, n;

	memset(a, 0, sizeof(*a));
	a->path = source->path;
	a->file_bytes = source->file_bytes;
	a->time_error_ns = source->time_error_ns;
	a->damage = source->damage;
	a->has_stacks = stacks && stacks->definitions > 0;
	a->sizes.brief = a->compactness.brief = a->residency.brief = source->brief;
	a->sites.options = (struct sites_options){ .filter = SITE_FILTER_ALL };
	n = a->has_stacks ? ANALYSIS_PASSES : ANALYSIS_PASSES - OF_STACKS;
	for (i = 0; i < n; i++)
		list[i] = (struct walk_pass){ passes[i].ops, (char *)a + passes[i].offset };
	return n;
}

static void sum_up(struct analysis *a, const struct analysis_source *source)
{
	a->calls = a->totals.all.calls;
	a->threads = a->totals.thread.count;
	tree_make(&a->tree, &source->input, a->walk.last_ticks, a->damage->lost);
	read_whole(a, source->whole);
}

void analysis_end(struct analysis *a, const struct analysis_source *source, const struct walk *w)
{
	a->walk = *w;
	a->walk_is_copy = true;
	sum_up(a, source);
}

int analysis_make(struct analysis *a, const struct analysis_source *source, struct error *err)
{
	struct walk_pass list[ANALYSIS_PASSES];
	const size_t n = analysis_begin(a, source, list);
	struct milestones *milestones;
	int ret;

	walk_init(&a->walk, &source->input, list, n);
	a->walk.no_pages = source->brief;
	if (a->has_stacks && !source->one_by_one) {
		a->walk.fused = source->brief ? fused_brief : fused_full;
		a->walk.fused_self = a;
	}
	a->walk.progress = source->progress;
	a->walk.progress_context = source->progress_context;
	milestones =
	    a->has_stacks && source->milestones ? milestones_open(source->milestones) : NULL;
	milestones_walk(milestones, &a->walk, &a->sites, false);
	ret = walk_run(&a->walk, err);
	milestones_close(milestones, !ret);
	a->walk.passes = 0; /* the list is ours */
	if (!ret)
		sum_up(a, source);
	return ret;
}

void analysis_release(struct analysis *a)
{
	size_t i;

	for (i = 0; i < ANALYSIS_PASSES; i++)
		pass_release(passes[i].ops, (char *)a + passes[i].offset);
	if (a->whole.totals.read)
		sites_pass.release(&a->whole);
	if (!a->walk_is_copy)
		walk_release(&a->walk);
	tree_release(&a->tree);
}

uint64_t analysis_untouched(const struct analysis *a, uint64_t bytes)
{
	uint64_t rss = 0;

	for (size_t i = 0; i < a->tree.processes; i++) {
		if (!a->tree.process[i].peak_rss_bytes)
			return 0;
		rss += a->tree.process[i].peak_rss_bytes;
	}
	return rss && bytes > rss + rss / 8 && bytes - rss >= UNTOUCHED_TOLD ? bytes - rss : 0;
}

const struct sites *analysis_sites(const struct analysis *a)
{
	return a->walk.input.reduced_count && a->whole.totals.read ? &a->whole : &a->sites;
}

bool analysis_interrupted(const struct analysis *a)
{
	const struct never_freed_process *left = a->never_freed.process.item;
	const struct totals_process *of = a->totals.process.item;
	const struct tree_process *p;
	uint64_t interrupted = 0;
	size_t i;

	for (i = 0; i < a->never_freed.process.count && i < a->totals.process.count; i++) {
		p = tree_find(&a->tree, of[i].number);
		if (p && tree_process_interrupted(p))
			interrupted += left[i].bytes;
	}
	return interrupted && interrupted >= a->never_freed.all.bytes / 2;
}
