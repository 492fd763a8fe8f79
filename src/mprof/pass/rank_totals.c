// SPDX-License-Identifier: LGPL-3.0-or-later
/* rank_totals.c - the totals of a profile by rank or by host. */
#include "rank_totals.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/order.h"
#include "tamed.h"

/* Sums of one process; blocks that ended at an exec are not live. */
struct owner {
	uint32_t process;
	const char *rank, *host;
	double calls, bytes, live_calls, live_bytes;
	uint64_t peak_bytes;
};

static void add_cells(struct owner *o, const struct trace_totals *x)
{
	const struct mprof_cell *c = x->data;

	for (size_t i = 0; i < MPROF_CELLS; i++) {
		o->calls += (double)c[i].calls;
		o->bytes += (double)c[i].bytes;
		o->live_calls += (double)c[i].calls - (double)c[i].freed_calls;
		o->live_bytes += (double)c[i].bytes - (double)c[i].freed_bytes;
	}
}

static void add_samples(struct owner *o, const struct trace_totals *x)
{
	const struct mprof_sample_cell *c = x->data;

	for (size_t i = 0; i < MPROF_CELLS; i++) {
		o->calls += tamed(c[i].made.calls);
		o->bytes += tamed(c[i].made.bytes);
		o->live_calls += tamed(c[i].made.calls) - tamed(c[i].freed.calls);
		o->live_bytes += tamed(c[i].made.bytes) - tamed(c[i].freed.bytes);
	}
}

static void add_part(struct owner *o, const struct trace_totals *x)
{
	const struct mprof_heap_totals *h = x->data;

	if (x->kind == MPROF_EXTENT_CELLS)
		add_cells(o, x);
	else if (x->kind == MPROF_EXTENT_SAMPLES)
		add_samples(o, x);
	else if (x->kind == MPROF_EXTENT_HEAP && h->peak_bytes > 0 &&
		 (uint64_t)h->peak_bytes > o->peak_bytes)
		o->peak_bytes = (uint64_t)h->peak_bytes;
}

/* Lists owners; parts are in the order of processes. */
static struct owner *list_owners(const struct trace *t, size_t *n)
{
	const struct trace_totals *part;
	const struct trace_fact *fact;
	const size_t parts = trace_totals(t, &part), facts = trace_facts(t, &fact);
	struct owner *list = must_calloc(parts + 1, sizeof(*list)), *o;

	*n = 0;
	for (size_t i = 0; i < parts; i++) {
		if (!*n || list[*n - 1].process != part[i].process)
			list[(*n)++] =
			    (struct owner){ .process = part[i].process, .rank = "", .host = "" };
		add_part(&list[*n - 1], &part[i]);
	}
	for (size_t i = 0; i < facts; i++)
		for (o = list; o < list + *n; o++)
			if (o->process == fact[i].process) {
				o->rank = *fact[i].rank ? fact[i].rank : o->rank;
				o->host = *fact[i].host ? fact[i].host : o->host;
			}
	return list;
}

static int by_number(const char *a, const char *b)
{
	const unsigned long x = strtoul(a, NULL, 10), y = strtoul(b, NULL, 10);

	return x != y ? (x > y) - (x < y) : strcmp(a, b);
}

/* Ranks 0 of two jobs are distinguished by their hosts. */
ORDER(by_rank, struct owner, by_number(x->rank, y->rank) ?: BY_NAME(host))

ORDER(by_host, struct owner, BY_NAME(host))

static void add_owner(struct rank_total *r, const struct owner *o)
{
	if (!r->processes++ || o->peak_bytes > r->peak_bytes) {
		r->process = o->process;
		r->peak_bytes = o->peak_bytes;
	}
	r->calls += rounded(o->calls);
	r->bytes += rounded(o->bytes);
	r->live_calls += rounded(o->live_calls);
	r->live_bytes += rounded(o->live_bytes);
}

ORDER(by_size, uint64_t, COMPARE(*x, *y))

static double distance(uint64_t peak, uint64_t median)
{
	return peak > median ? (double)peak / (double)median : (double)median / (double)(peak + 1);
}

/* If any process has a rank, compares only those that have one: the launcher has none. */
static void find_outlier(struct rank_totals *r)
{
	uint64_t *peak = must_calloc(r->count + 1, sizeof(*peak));
	double most = RANK_OUTLIER_PART, d;
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		if (!r->by_rank || *r->item[i].rank)
			peak[n++] = r->item[i].peak_bytes;
	SORT(peak, n, by_size);
	r->median_peak = peak[n / 2];
	for (size_t i = 0; i < r->count && n >= RANK_OUTLIER_OF && r->median_peak; i++) {
		d = distance(r->item[i].peak_bytes, r->median_peak);
		if (d > most && (!r->by_rank || *r->item[i].rank)) {
			most = d;
			r->outlier = &r->item[i];
		}
	}
	free(peak);
}

void rank_totals_read(struct rank_totals *r, const struct trace *t)
{
	int (*by)(const void *, const void *);
	struct owner *list;
	size_t n;

	*r = (struct rank_totals){ .count = 0 };
	list = list_owners(t, &n);
	r->item = must_calloc(n + 1, sizeof(*r->item));
	for (size_t i = 0; i < n; i++)
		r->by_rank |= *list[i].rank != 0;
	by = r->by_rank ? by_rank : by_host;
	SORT(list, n, by);
	for (size_t i = 0; i < n; i++) {
		if (!i || by(&list[i - 1], &list[i]))
			r->item[r->count++] =
			    (struct rank_total){ .rank = r->by_rank ? list[i].rank : "",
						 .host = list[i].host };
		add_owner(&r->item[r->count - 1], &list[i]);
	}
	if (r->count > 1)
		find_outlier(r);
	else
		r->count = 0;
	free(list);
}

void rank_totals_release(struct rank_totals *r)
{
	free(r->item);
}
