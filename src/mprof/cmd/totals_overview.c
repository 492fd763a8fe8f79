// SPDX-License-Identifier: LGPL-3.0-or-later
/* totals_overview.c - the whole analysis of one profile. */
#include "overview.h"

#include <stdlib.h>

#include "../util/alloc.h"

struct reading {
	struct analysis *a;
	struct findings *f;
	struct trace *trace;
	struct profile_options *options;
	int (*then)(void *context, const struct print_totals *totals, struct error *err);
	void *context;
};

/* Threads share lanes, so only the calls of all together are known. */
static void find_times(struct alloc_times *times, const struct site_lanes *lanes,
		       const struct trace *t)
{
	struct alloc_times_calls calls = { .thread = 0 };

	for (unsigned fn = 0; fn < MPROF_FN_MAX; fn++)
		calls.calls[fn] = lanes->fn[fn].calls;
	alloc_times_find(times, t, &calls, 1);
}

static int give(const struct reading *r, struct profile *p, struct site_lanes *lanes,
		struct error *err)
{
	struct rank_totals ranks = { .count = 0 };
	struct course course = { .count = 0 };
	struct alloc_times times;
	const struct print_totals totals = { .a = r->a,
					     .p = p,
					     .lanes = lanes,
					     .ranks = &ranks,
					     .course = &course,
					     .times = &times,
					     .beside = r->options->totals };
	int ret;

	rank_totals_read(&ranks, r->trace);
	course_read(&course, r->trace, r->options->sites.filter.process);
	site_lanes_read(lanes, r->trace);
	find_times(&times, lanes, r->trace);
	r->a->sampled = p->sites.totals.estimated || (p->sites.totals.period && !p->total.calls);
	r->a->calls = r->a->sampled ? p->total.error.samples : lanes->calls;
	r->a->threads = lanes->threads;
	ret = findings_make(r->f, r->a, r->trace, r->options, err);
	r->a->findings = ret ? NULL : r->f;
	overview_runs(r->f, &r->a->tree);
	if (!ret)
		ret = r->then(r->context, &totals, err);
	alloc_times_release(&times);
	rank_totals_release(&ranks);
	return ret;
}

static int read_profile(const struct reading *r, struct error *err)
{
	struct site_lanes *lanes = must_calloc(1, sizeof(*lanes));
	struct profile *p = must_calloc(1, sizeof(*p));
	int ret;

	r->options->by = PROFILE_BY_FUNCTION;
	ret = profile_make(p, r->trace, r->options, err);
	if (!ret) {
		ret = give(r, p, lanes, err);
		profile_release(p);
	}
	free(p);
	free(lanes);
	return ret;
}

int totals_make(struct trace *t, struct profile_options *o,
		int (*then)(void *context, const struct print_totals *totals, struct error *err),
		void *context, struct error *err)
{
	struct analysis *a = must_calloc(1, sizeof(*a));
	struct findings *f = must_calloc(1, sizeof(*f));
	struct analysis_source source;
	int ret;

	analysis_source_of(&source, t);
	ret = analysis_make(a, &source, err);
	if (!ret) {
		overview_explain(&a->tree, t);
		ret = read_profile(&(struct reading){ a, f, t, o, then, context }, err);
	}
	findings_release(f);
	analysis_release(a);
	free(f);
	free(a);
	return ret;
}
