// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * report_json.c - the analysis as one JSON object.
 *
 * Names are part of the interface: never renamed, only added.  Times are
 * nanoseconds since the start of the run (_ns), memory is bytes (_bytes) or
 * pages (_pages), addresses are hexadecimal strings.  A json-c call without
 * memory returns NULL, which its other calls take for `null`; the check is
 * made once at the end, when text is made of it.
 */
#include "report.h"

#include <errno.h>
#include <string.h>

#include "json.h"
#include "print_findings.h"
#include "report_json.h"

/* ---- compactness ---- */

json *report_json_virtual(const struct analysis *a, const struct compactness_of *c)
{
	json *o;

	if (!c->states)
		return NULL;
	o = json_object_new_object();
	add_ratio(o, "min", c->min);
	add_ratio(o, "max", c->max);
	add_ratio(o, "mean", c->mean);
	add_ratio(o, "mean_over_time", c->mean_over_time);
	add_ratio(o, "at_peak", c->at_peak);
	add_n(o, "needed_pages_at_peak", c->high_needed);
	add_n(o, "touched_pages_at_peak", c->high_touched);
	add_ns(o, "high_water_ns", a, c->high_pages_ticks);
	return o;
}

static json *sample_json(const struct analysis *a, const struct residency_sample *s)
{
	json *o = json_object_new_object();

	add_n(o, "process", s->process);
	add_ns(o, "at_ns", a, s->ticks);
	add_n(o, "rss_bytes", s->rss);
	add_n(o, "resident_pages", s->resident);
	add_n(o, "under_live_pages", s->under_live);
	add_n(o, "needed_pages", s->needed);
	add_n(o, "live_bytes", s->live_bytes);
	add_n(o, "live_resident_bytes", s->live_resident_bytes);
	add(o, "compactness", NULL);
	if (s->under_live)
		add_ratio(o, "compactness", s->compactness);
	return o;
}

static json *physical_json(const struct analysis *a)
{
	const struct residency *r = &a->residency;
	const struct residency_sample *s = r->sample.item;
	json *o, *list;
	size_t i;

	if (!r->sample.count)
		return NULL;
	o = json_object_new_object();
	list = json_object_new_array();
	if (r->compared) {
		add_ratio(o, "min", r->min);
		add_ratio(o, "max", r->max);
		add_ratio(o, "mean", r->mean);
	}
	for (i = 0; i < r->sample.count; i++)
		json_object_array_add(list, sample_json(a, &s[i]));
	add(o, "samples", list);
	return o;
}

json *report_json_high_water(const struct compactness_of *c)
{
	json *o = json_object_new_object();

	add_n(o, "pages", c->high_pages);
	add_n(o, "bytes", c->high_bytes);
	return o;
}

static void add_compactness(json *o, const struct analysis *a)
{
	json *c = json_object_new_object();

	add(c, "virtual", report_json_virtual(a, &a->compactness.all));
	add(c, "physical", physical_json(a));
	add(o, "compactness", c);
	add(o, "high_water", report_json_high_water(&a->compactness.all));
}

/* ---- peak and what is left ---- */

void report_json_peak(json *o, const struct analysis *a, const struct peak_of *p)
{
	add_n(o, "peak_bytes", p->at.bytes);
	add_n(o, "peak_blocks", p->blocks);
	add_ns(o, "peak_ns", a, p->ticks);
	add_n(o, "peak_event", p->event);
	add_n(o, "blocks_at_peak", p->at.blocks);
	add_n(o, "waste_bytes_at_peak", p->at.slack);
}

void report_json_left(json *o, const struct never_freed_process *n)
{
	add_n(o, "live_bytes", n->bytes);
	add_n(o, "live_blocks", n->blocks);
	add_n(o, "live_bytes_at_exec", n->exec_bytes);
	add_n(o, "live_blocks_at_exec", n->exec_blocks);
}

static json *classes_json(const struct size_class *c, size_t n)
{
	json *list = json_object_new_array(), *o;
	size_t i;

	for (i = 0; i < n; i++) {
		o = json_object_new_object();
		add_n(o, "size", c[i].size);
		add_n(o, "count", c[i].count);
		add_n(o, "bytes", c[i].size * c[i].count);
		add_n(o, "waste_bytes", c[i].waste);
		json_object_array_add(list, o);
	}
	return list;
}

static json *oldest_json(const struct analysis *a)
{
	const struct never_freed *n = &a->never_freed;
	json *list = json_object_new_array(), *o;
	size_t i;

	for (i = 0; i < n->oldest_count; i++) {
		o = json_object_new_object();
		add_ns(o, "at_ns", a, n->oldest[i].ticks);
		add_n(o, "size", n->oldest[i].size);
		add_addr(o, "address", n->oldest[i].addr);
		add_n(o, "process", n->oldest[i].process);
		add_n(o, "thread", n->oldest[i].thread);
		json_object_array_add(list, o);
	}
	return list;
}

static json *never_freed_json(const struct analysis *a)
{
	const struct never_freed *n = &a->never_freed;
	json *o = json_object_new_object();

	add_n(o, "blocks", n->all.blocks);
	add_n(o, "bytes", n->all.bytes);
	add(o, "size_classes", classes_json(n->class, n->classes));
	add(o, "oldest", oldest_json(a));
	return o;
}

static json *powers_json(const struct sizes *s)
{
	json *list = json_object_new_array(), *o;
	unsigned i;

	for (i = 0; i < SIZES_POWERS; i++) {
		if (!s->power[i].count)
			continue;
		o = json_object_new_object();
		add_n(o, "from", i ? 1ull << (i - 1) : 0);
		add_n(o, "count", s->power[i].count);
		add_n(o, "bytes", s->power[i].size);
		add_n(o, "waste_bytes", s->power[i].waste);
		json_object_array_add(list, o);
	}
	return list;
}

/* ---- realloc, lifetimes ---- */

/* Buckets of powers of two that are not empty: from, to (not included), count. */
static json *buckets_json(const uint64_t *bucket, unsigned n, bool from_zero)
{
	json *list = json_object_new_array(), *o;
	unsigned i;

	for (i = 0; i < n; i++) {
		if (!bucket[i])
			continue;
		o = json_object_new_object();
		add_n(o, "from", i || !from_zero ? 1ull << i : 0);
		add_n(o, "to", i < 63 ? 2ull << i : UINT64_MAX);
		add_n(o, "count", bucket[i]);
		json_object_array_add(list, o);
	}
	return list;
}

static json *sort_json(const struct resizes_sort *s)
{
	json *o = json_object_new_object();

	add_n(o, "grew", s->grew);
	add_n(o, "shrank", s->shrank);
	add_n(o, "same", s->same);
	return o;
}

static json *realloc_json(const struct resizes *r)
{
	json *o = json_object_new_object(), *chains = json_object_new_object();

	add_n(o, "calls", r->calls);
	add_n(o, "of_null", r->of_nothing);
	add_n(o, "freed", r->freed);
	add_n(o, "failed", r->failed);
	add(o, "in_place", sort_json(&r->in_place));
	add(o, "moved", sort_json(&r->moved));
	add_n(o, "remapped", r->remapped);
	add_n(o, "copied_bytes", r->copied_bytes);
	add_n(o, "grown_bytes", r->grown_bytes);
	add_n(o, "shrunk_bytes", r->shrunk_bytes);
	add_n(chains, "count", r->chains);
	add_n(chains, "longest", r->longest);
	add_n(chains, "longest_final_bytes", r->longest_bytes);
	add_n(chains, "longest_copied_bytes", r->longest_copied);
	add(chains, "lengths", buckets_json(r->chain, RESIZES_BUCKETS, false));
	add(o, "chains", chains);
	return o;
}

static json *lifetimes_json(const struct lifetimes *l)
{
	json *o = json_object_new_object();

	add_n(o, "blocks", l->blocks);
	add_n(o, "under_1us", l->under_1us);
	add_n(o, "under_1ms", l->under_1ms);
	add_n(o, "freed_by_other_thread", l->other_thread);
	add_n(o, "min_ns", l->least_ns);
	add_n(o, "max_ns", l->most_ns);
	add_n(o, "mean_ns", l->blocks ? (uint64_t)(l->sum_ns / (double)l->blocks) : 0);
	add(o, "histogram_ns", buckets_json(l->bucket, LIFETIMES_BUCKETS, true));
	return o;
}

json *report_json_maps(const struct analysis *a, const struct maps_of *m)
{
	json *o = json_object_new_object();

	add_n(o, "mapped_bytes", m->now);
	add_n(o, "peak_bytes", m->peak);
	add_ns(o, "peak_ns", a, m->peak_ticks);
	add_n(o, "file_bytes", m->file_now);
	add_n(o, "file_peak_bytes", m->file_peak);
	add_n(o, "unknown_unmapped_bytes", m->unknown_unmapped);
	add_i(o, "break_bytes", m->break_now);
	add_i(o, "break_peak_bytes", m->break_peak);
	return o;
}

/* ---- problems and losses ---- */

static json *problem_list_json(const struct analysis *a)
{
	static const char *const kind[HEAP_PROBLEM_KINDS] = {
		[HEAP_DOUBLE_ALLOCATION] = "double_allocation",
		[HEAP_UNMATCHED_FREE] = "unmatched_free",
		[HEAP_INVERSION] = "inversion",
	};
	const struct heap *h = &a->walk.heap;
	json *list = json_object_new_array(), *o;
	size_t i;

	for (i = 0; i < h->kept; i++) {
		o = json_object_new_object();
		add_s(o, "kind", kind[h->problem[i].kind]);
		add_n(o, "event", h->problem[i].event);
		add_addr(o, "address", h->problem[i].addr);
		add_n(o, "process", h->problem[i].process);
		add_n(o, "thread", h->problem[i].thread);
		add_ns(o, "at_ns", a, h->problem[i].ticks);
		json_object_array_add(list, o);
	}
	return list;
}

static json *deepbind_json(const struct analysis *a)
{
	json *list = json_object_new_array();

	for (size_t i = 0; i < a->tree.processes; i++)
		if (a->tree.process[i].deepbind)
			json_object_array_add(list,
					      json_object_new_string(a->tree.process[i].deepbind));
	return list;
}

static json *problems_json(const struct analysis *a)
{
	const uint64_t *n = a->walk.heap.problems;
	json *o = json_object_new_object();

	add_n(o, "double_allocations", n[HEAP_DOUBLE_ALLOCATION]);
	add_n(o, "unmatched_frees", n[HEAP_UNMATCHED_FREE]);
	add_n(o, "inversions", n[HEAP_INVERSION]);
	add(o, "list", problem_list_json(a));
	add(o, "deepbind", deepbind_json(a));
	return o;
}

json *report_json_lost(const uint64_t *lost)
{
	static const char *const reason[MPROF_LOST_REASONS] = {
		[MPROF_LOST_NESTED] = "nested", [MPROF_LOST_SPACE] = "space",
		[MPROF_LOST_MEMORY] = "memory", [MPROF_LOST_FILE] = "file",
		[MPROF_LOST_EARLY] = "early",	[MPROF_LOST_PROCESS] = "process",
		[MPROF_LOST_LOCKED] = "locked", [MPROF_LOST_STACK] = "stack",
	};
	json *o = json_object_new_object();
	int i;

	for (i = 0; i < MPROF_LOST_REASONS; i++)
		if (reason[i])
			add_n(o, reason[i], lost[i]);
	return o;
}

static json *damage_json(const struct trace_damage *d)
{
	json *o = json_object_new_object();

	add_n(o, "bytes_missing", d->bytes_missing);
	add_n(o, "bytes_skipped", d->bytes_skipped);
	add_n(o, "bytes_empty", d->bytes_empty);
	add_n(o, "bytes_cut", d->bytes_cut);
	add_n(o, "header_cut", d->header_cut);
	add_n(o, "chunks_unseen", d->chunks_unseen);
	add_n(o, "chunks_bad", d->chunks_bad);
	add_n(o, "chunks_missing", d->chunks_missing);
	add_n(o, "words_bad", d->words_bad);
	add_n(o, "lines_bad", d->lines_bad);
	add_n(o, "lines_cut", d->lines_cut);
	add_n(o, "sizes_bad", d->sizes_bad);
	add_n(o, "stacks_bad", d->stacks_bad);
	add_n(o, "stacks_missing", d->stacks_missing);
	add_n(o, "first_bad_offset", d->first_bad_offset);
	return o;
}

/* ---- the whole ---- */

json *report_json_object(const struct analysis *a)
{
	json *o = json_object_new_object();

	add_s(o, "mprof_version", MPROF_VERSION);
	add_s(o, "trace", a->path);
	add_n(o, "trace_bytes", a->file_bytes);
	add_n(o, "page_bytes", a->walk.heap.page_size);
	add_n(o, "time_error_ns", a->time_error_ns);
	add_i(o, "duration_ns",
	      (int64_t)walk_duration_ns(&a->walk, a->tree.end_ticks - a->tree.start_ticks));
	report_json_totals(o, &a->totals.all);
	add_n(o, "lost", a->tree.lost_all);
	add(o, "lost_by_reason", report_json_lost(a->tree.lost));
	add(o, "damage", damage_json(a->damage));
	add(o, "findings", findings_json(a));
	add(o, "problems", problems_json(a));
	report_json_peak(o, a, &a->peak.all);
	report_json_left(o, &a->never_freed.all);
	add(o, "kept", findings_kept_json(a));
	add_n(o, "total_blocks", a->sizes.total.count);
	add_n(o, "waste_bytes", a->sizes.total.waste);
	add(o, "size_classes", classes_json(a->sizes.class, a->sizes.classes));
	add(o, "size_powers", powers_json(&a->sizes));
	add(o, "never_freed", never_freed_json(a));
	add(o, "realloc", realloc_json(&a->resizes));
	add(o, "lifetimes", lifetimes_json(&a->lifetimes));
	add_compactness(o, a);
	add(o, "maps", report_json_maps(a, &a->maps.all));
	add(o, "processes", report_json_processes(a));
	add(o, "threads", report_json_threads(a));
	add(o, "not_recorded", report_json_missing(a));
	add(o, "own_malloc", report_json_owns(a));
	add(o, "remarks", report_json_remarks(a));
	return o;
}

int report_json(const struct analysis *a, FILE *out, struct error *err)
{
	return json_print(out, report_json_object(a), err);
}
