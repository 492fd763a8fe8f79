// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * export_mallocprofiler.c - the lines that MallocProfiler dumps:
 *
 *   _mpTrace_;outermost;...;innermost $calls$total$live$most live
 *
 * sorted by the last number, the largest at the end, after one line with the sums of all. A site is
 * a line; sites with the same names are not combined, because their maxima cannot be added.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "exports.h"
#include "export_bucket.h"
#include "../util/alloc.h"
#include "../util/order.h"

#define SEPARATORS ";$"

struct dollar {
	struct export *x;
	uint64_t calls, total, live, peak;
	size_t *order; /* of sites */
	struct calltree_path path;
};

ORDER_IN(by_live, size_t, struct site,
	 COMPARE(in[*x].v.local_bytes, in[*y].v.local_bytes) ?: COMPARE(*y, *x))

static void sort_sites(struct dollar *d)
{
	struct profile *p = d->x->profile;
	size_t i;

	d->order = must_calloc(p->count + 1, sizeof(*d->order));
	for (i = 0; i < p->count; i++)
		d->order[i] = i;
	SORT_IN(d->order, p->count, by_live, p->site);
}

static void add_total(struct dollar *d, const struct profile *p)
{
	if (!p)
		return;
	d->calls += p->total.calls;
	d->total += p->total.bytes;
	d->live += p->total.live_bytes;
	d->peak += p->total.peak_bytes;
}

static void put_summary(const struct dollar *d)
{
	const struct profile *p = d->x->profile;

	fprintf(d->x->out,
		"MemStat Global Summary for %" PRId32 "/%zu: %" PRIu64 " %" PRIu64 " %" PRIu64
		" %" PRIu64 "\n",
		p->tree.processes ? p->tree.process[0].pid : 0, p->walk.input.thread_count,
		d->calls, d->total, d->live, d->peak);
}

static void put_values(const struct dollar *d, const struct site_values *v, uint64_t most)
{
	fprintf(d->x->out, " $%" PRIu64 "$%" PRIu64 "$%" PRIu64 "$%" PRIu64 "\n", v->calls,
		v->bytes, v->live_bytes, most);
}

/* Returns the most live bytes of a bucket, whose sites are one group. */
static uint64_t most_live(const struct profile *p)
{
	return p->sites.groups ? p->sites.local[0].bytes : p->total.local_bytes;
}

static void put_site(struct dollar *d, size_t i)
{
	struct profile *p = d->x->profile;
	size_t k;

	if (!p->site[i].v.calls)
		return;
	calltree_path_of(&d->path, p, i);
	fputs("_mpTrace_", d->x->out);
	for (k = 0; k < d->path.count; k++) {
		fputc(';', d->x->out);
		export_name(d->x->out, d->path.line[k]->function, SEPARATORS, ':');
	}
	put_values(d, &p->site[i].v, p->site[i].v.local_bytes);
}

static void put_all(struct dollar *d)
{
	struct export_bucket bucket[2];
	size_t n = export_buckets(d->x, bucket), i;

	sort_sites(d);
	add_total(d, d->x->profile);
	add_total(d, d->x->small);
	add_total(d, d->x->large);
	put_summary(d);
	for (i = 0; i < d->x->profile->count; i++)
		put_site(d, d->order[i]);
	for (i = 0; i < n; i++) {
		if (!bucket[i].profile->total.calls)
			continue;
		fprintf(d->x->out, "_mpTrace_;%s", bucket[i].line->function);
		put_values(d, &bucket[i].profile->total, most_live(bucket[i].profile));
	}
}

int export_mallocprofiler(struct export *x, struct error *err)
{
	struct dollar d = { .x = x };

	put_all(&d);
	free(d.order);
	free(d.path.line);
	return 0;
}
