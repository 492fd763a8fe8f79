// SPDX-License-Identifier: LGPL-3.0-or-later
/* refaults.c - see refaults.h. */
#include "refaults.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "../pass/site_totals.h"
#include "../util/alloc.h"
#include "retained.h"

static const struct refault_setting settings[] = {
#define SETTING(allocator, name, setting, more, large) \
	{ allocator, name, { setting, setting more }, large },
#include "refaults.def"
#undef SETTING
};

static const struct refault_setting *setting_of(const struct tree_process *p)
{
	const struct trace_fact *image = tree_image(p);
	const size_t n = sizeof(settings) / sizeof(settings[0]);

	if (!image || *image->malloc_of)
		return NULL;
	if (tree_has_c_library(image))
		return &settings[0];
	for (size_t i = 1; i < n; i++)
		if (!fnmatch(settings[i].allocator, basename(image->allocator), 0))
			return &settings[i];
	return NULL;
}

/* Are the CPU time and the faults its own? */
static bool is_own(const struct analysis *a, const struct tree_process *p)
{
	for (size_t i = 0; !p->said_end && i < a->tree.processes; i++)
		if (a->tree.process[i].parent == p->number)
			return false;
	return true;
}

/* Are its blocks large, on average? */
static bool is_large(const struct site_brief *v)
{
	return v->bytes / TOTALS_APART >= v->calls;
}

static void add_large(struct totals_process *of, const struct sites *sites)
{
	for (size_t i = 0; i < sites->count; i++) {
		if (!is_large(&sites->brief[i]))
			continue;
		of->swing.rises += sites->brief[i].bytes;
		of->sum.apart_blocks += sites->brief[i].calls;
	}
	of->sum.allocated = sites->total.bytes;
}

/* What one process of several mapped; unmapped: by all of them, which is the most that it may have
 * unmapped. */
static void add_maps(struct totals_process *of, const struct sites *sites, uint64_t unmapped)
{
	const struct site_values *v = &sites->total;

	of->sum.fn[MPROF_FN_MMAP] = (struct totals_fn){ v->map_calls, v->map_bytes, 0 };
	of->sum.fn[MPROF_FN_MUNMAP].bytes = unmapped < v->map_bytes ? unmapped : v->map_bytes;
}

/* What a process of a profile did.  Rises are unknown: these are its large blocks.  Calls of malloc
 * by function are those of all processes. */
static struct totals_process totals_of_profile(const struct analysis *a, const struct sites *sites,
					       const struct trace *t, uint32_t process)
{
	struct walk walk = a->walk;
	struct sites own = { .options = { .filter = SITE_FILTER_ALL }, .walk = &walk };
	struct totals_process of = { .number = process };
	struct tree tree = a->tree;
	struct site_lanes lanes;

	site_lanes_read(&lanes, t);
	if (a->tree.processes != 1) {
		own.options.filter.process = process;
		site_totals_read(&own, t, &tree);
		sites_make_brief(&own);
		add_large(&of, &own);
		add_maps(&of, &own, lanes.unmap_bytes);
		sites_pass.release(&own);
		return of;
	}
	add_large(&of, sites);
	of.sum.calls = lanes.calls;
	for (size_t i = 0; i < MPROF_FN_MAX; i++)
		of.sum.fn[i] =
		    (struct totals_fn){ lanes.fn[i].calls, lanes.fn[i].bytes, lanes.fn[i].failed };
	of.sum.fn[MPROF_FN_MUNMAP].bytes = lanes.unmap_bytes;
	return of;
}

static struct totals_process totals_of(const struct analysis *a, const struct sites *sites,
				       const struct trace *t, uint32_t process)
{
	const struct totals_process *of = a->totals.process.item;

	if (a->of_totals)
		return totals_of_profile(a, sites, t, process);
	for (size_t i = 0; i < a->totals.process.count; i++)
		if (of[i].number == process)
			return of[i];
	return (struct totals_process){ .number = process };
}

/* After each fork, as many pages as the process has may be copied when they are written to. */
static uint64_t copied_pages(const struct analysis *a, const struct tree_process *p)
{
	uint64_t copies = 0;

	for (size_t i = 0; i < a->tree.processes; i++)
		copies += a->tree.process[i].parent == p->number && a->tree.process[i].forked;
	return copies * p->peak_rss_bytes;
}

/* Bytes that the system mapped for blocks of glibc, if it provided pages for most of them: at its
 * peak, the process had more pages than it would have without half of such a block. */
static uint64_t mapped_apart(const struct tree_process *p, const struct totals_process *of)
{
	const struct trace_fact *image = tree_image(p);
	const uint64_t resident = p->peak_rss_bytes,
		       missing = of->swing.most > resident ? of->swing.most - resident : 0;

	if (!image || !tree_has_c_library(image) || !of->sum.apart_blocks ||
	    missing > of->sum.apart / of->sum.apart_blocks / 2)
		return 0;
	return of->sum.apart;
}

/* Would keeping freed memory make calloc clear far more than the new pages?  A profile may not know
 * which blocks are of calloc. */
static bool is_cleared(const struct totals_process *of, uint64_t new_bytes)
{
	const struct totals_fn *calloc_ = &of->sum.fn[MPROF_FN_CALLOC];
	const bool large = calloc_->bytes / TOTALS_APART >= calloc_->calls;

	return (!of->sum.calls ? of->swing.rises
		: large	       ? calloc_->bytes
			       : 0) /
		   REFAULT_CLEAR >
	       new_bytes;
}

/* Fills f, as if it were a finding. */
static void measure(struct refaults *f, const struct analysis *a, const struct sites *sites,
		    const struct trace *t, const struct tree_process *p)
{
	const struct totals_process of = totals_of(a, sites, t, p->number);
	const struct totals_fn *maps = &of.sum.fn[MPROF_FN_MMAP],
			       *unmaps = &of.sum.fn[MPROF_FN_MUNMAP];
	const uint64_t all = p->minor_faults * a->walk.heap.page_size;
	/* Its own mappings, if they are not the cause, may still have faults: of files. */
	const bool maps_itself = unmaps->bytes > of.swing.rises && maps->calls >= REFAULT_TIMES;
	const uint64_t others = copied_pages(a, p) + (maps_itself ? 0 : unmaps->bytes),
		       faulted = all > others ? all - others : 0;
	const uint64_t apart = mapped_apart(p, &of);

	*f = (struct refaults){ .process = p->number,
				.system_ns = p->system_ns,
				.cpu_ns = p->user_ns + p->system_ns,
				.new_bytes = apart > faulted ? apart : faulted,
				.apart = apart >= faulted / 2 ? apart : 0,
				.others =
				    (a->of_totals ? sites->total.bytes : a->totals.all.allocated) -
				    of.sum.allocated,
				.resident = p->peak_rss_bytes,
				.keep = setting_of(p) };
	if (is_cleared(&of, f->new_bytes))
		f->keep = NULL;
	f->work = f->new_bytes + 2 * (of.sum.apart_blocks + maps->calls) * a->walk.heap.page_size;
	f->threads = retained_threads(a, p->number) > 1;
	if (maps_itself) {
		f->mapped = maps->bytes;
		f->map_calls = maps->calls;
		f->apart = 0;
		f->keep = NULL;
	}
	if ((f->mapped ? unmaps->bytes : of.swing.rises) < f->new_bytes / 2)
		f->new_bytes = 0;
}

static bool is_finding(const struct refaults *f)
{
	return f->resident && f->new_bytes / REFAULT_TIMES >= f->resident &&
	       f->work >= f->system_ns / REFAULT_NS;
}

/* Is enough of its time the kernel's, and are there new pages at all? */
static bool may_be(const struct analysis *a, const struct tree_process *p)
{
	return p->system_ns >= REFAULT_SHARE && p->system_ns >= (p->user_ns + p->system_ns) / 4 &&
	       (!a->of_totals ||
		p->minor_faults * a->walk.heap.page_size / REFAULT_TIMES >= p->peak_rss_bytes) &&
	       is_own(a, p);
}

/* Adds another process that has the finding; f is that with most time, and those of which it is
 * said that they did the same. */
static void add(struct refaults *f, struct refaults *other)
{
	const bool alike = !f->process || !f->mapped == !other->mapped;
	const uint64_t more = f->more + (f->process != 0),
		       more_ns = f->more_ns + (f->system_ns < other->system_ns ? f->system_ns
									       : other->system_ns);

	if (other->system_ns > f->system_ns)
		*f = *other;
	if (alike) {
		f->more = more;
		f->more_ns = more_ns;
	}
}

void refaults_find(struct refaults *f, const struct analysis *a, const struct sites *sites,
		   const struct trace *t)
{
	struct refaults now;

	*f = (struct refaults){ .process = 0 };
	if (a->of_totals && !a->has_stacks)
		return;
	for (size_t i = 0; i < a->tree.processes; i++) {
		const struct tree_process *p = &a->tree.process[i];

		if (!may_be(a, p))
			continue;
		measure(&now, a, sites, t, p);
		/* In a profile, refaults_place() keeps only findings with a function. */
		if (is_finding(&now) && !(now.mapped && a->of_totals))
			add(f, &now);
	}
	if (f->system_ns + f->more_ns < REFAULT_LEAST)
		f->process = 0;
	if (f->keep && f->keep->of_large) {
		f->keep_large = f->keep;
		f->keep = NULL;
	}
}

void refaults_place(struct refaults *f, const struct sites *sites, const struct askers *askers,
		    struct profile *names, bool of_totals)
{
	const size_t functions = askers->functions.keys.count;
	struct {
		const struct asker
		    *largest; /* the first of its sites: they are in order of bytes */
		uint64_t bytes, calls;
		bool many_lines;
	} *of = must_calloc(functions + 1, sizeof(*of)), *most = of;

	for (size_t i = 0; i < sites->count; i++) {
		const struct site_brief *v = &sites->brief[i];
		const struct asker *x = &askers->of[i];

		if (!x->function || !is_large(v))
			continue;
		of[x->function].bytes += v->bytes;
		of[x->function].calls += v->calls;
		if (!of[x->function].largest)
			of[x->function].largest = x;
		of[x->function].many_lines |= x->line != of[x->function].largest->line;
		if (of[x->function].bytes > most->bytes)
			most = &of[x->function];
	}
	if (f->mapped && sites->total.map_bytes >= f->mapped)
		f->mapper = mapper_of_sites(sites, names, sites->total.map_bytes - f->mapped / 2);
	/* Sites are of the run: do not name what the other processes may have allocated. */
	if (!f->mapped && most->bytes >= f->others + f->new_bytes / 2) {
		f->line = most->largest->who.line;
		f->many_lines = most->many_lines;
		f->bytes = most->bytes;
		f->calls = most->calls;
		f->keep = f->keep ?: f->keep_large;
	} else if (of_totals) {
		f->process = 0; /* nothing would show more */
	}
	free(of);
}
