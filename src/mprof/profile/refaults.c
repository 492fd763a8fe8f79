// SPDX-License-Identifier: LGPL-3.0-or-later
/* refaults.c - see refaults.h. */
#include "refaults.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "retained.h"

static const struct refault_setting settings[] = {
#define SETTING(allocator, name, setting, more) { allocator, name, { setting, setting more } },
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

/* What a process allocated; of a profile only if it has no other. */
static struct totals_sum sum_of(const struct analysis *a, const struct sites *sites,
				uint32_t process)
{
	const struct totals_process *t = a->totals.process.item;
	struct totals_sum sum = { .allocated = 0 };

	for (size_t i = 0; i < a->totals.process.count && !a->of_totals; i++)
		if (t[i].number == process)
			return t[i].sum;
	if (a->of_totals && a->tree.processes == 1)
		sum.allocated = sites->total.bytes;
	return sum;
}

/* Fills f, as if it were a finding. */
static void measure(struct refaults *f, const struct analysis *a, const struct sites *sites,
		    const struct tree_process *p)
{
	const struct trace_fact *image = tree_image(p);
	const struct totals_sum sum = sum_of(a, sites, p->number);
	const struct totals_fn *maps = &sum.fn[MPROF_FN_MMAP];
	const uint64_t faulted = p->minor_faults * a->walk.heap.page_size;
	const uint64_t apart = image && tree_has_c_library(image) ? sum.apart : 0;

	*f = (struct refaults){ .process = p->number,
				.system_ns = p->system_ns,
				.cpu_ns = p->user_ns + p->system_ns,
				.new_bytes = apart > faulted ? apart : faulted,
				.apart = apart >= faulted / 2 ? apart : 0,
				.resident = p->peak_rss_bytes,
				.keep = setting_of(p) };
	if (f->keep)
		f->setting = f->keep->setting[retained_threads(a, p->number) > 1];
	if (maps->bytes > sum.allocated) {
		f->mapped = maps->bytes;
		f->map_calls = maps->calls;
		f->apart = 0;
		f->keep = NULL;
	}
	if (sum.allocated < f->new_bytes / 2 && f->mapped < f->new_bytes / 2)
		f->new_bytes = 0;
}

static bool is_finding(const struct refaults *f)
{
	return f->system_ns >= REFAULT_LEAST && f->system_ns >= f->cpu_ns / 4 && f->resident &&
	       f->new_bytes / REFAULT_TIMES >= f->resident &&
	       f->new_bytes >= f->system_ns / REFAULT_NS;
}

void refaults_find(struct refaults *f, const struct analysis *a, const struct sites *sites)
{
	struct refaults now;

	*f = (struct refaults){ .process = 0 };
	for (size_t i = 0; i < a->tree.processes; i++) {
		measure(&now, a, sites, &a->tree.process[i]);
		if (now.system_ns > f->system_ns && is_finding(&now) &&
		    is_own(a, &a->tree.process[i]))
			*f = now;
	}
}

void refaults_place(struct refaults *f, const struct sites *sites, const struct askers *askers)
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

		if (!x->function || v->bytes / TOTALS_APART < v->calls)
			continue;
		of[x->function].bytes += v->bytes;
		of[x->function].calls += v->calls;
		if (!of[x->function].largest)
			of[x->function].largest = x;
		of[x->function].many_lines |= x->line != of[x->function].largest->line;
		if (of[x->function].bytes > most->bytes)
			most = &of[x->function];
	}
	if (most->bytes >= f->new_bytes / 2) {
		f->line = most->largest->who.line;
		f->many_lines = most->many_lines;
		f->bytes = most->bytes;
		f->calls = most->calls;
	}
	free(of);
}
