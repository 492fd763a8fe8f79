// SPDX-License-Identifier: LGPL-3.0-or-later
/* verdict.c - which differences between allocators mean something. */
#include "verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../run/library.h"
#include "../util/alloc.h"
#include "../util/order.h"

static struct middle spread_of(const struct verdict *v, const struct runs_row *row)
{
	struct middle m = row->cpu_ns;

	m.mad = fmax(m.mad, m.median * v->spread);
	return m;
}

static double noise_of(const struct verdict *v, const struct runs_row *a, const struct runs_row *b)
{
	return stats_noise(spread_of(v, a), spread_of(v, b),
			   a->times < b->times ? a->times : b->times);
}

double verdict_noise(const struct verdict *v, size_t a, size_t b)
{
	const struct runs_row *x = &v->runs->row[a], *y = &v->runs->row[b];
	double least = fmin(x->cpu_ns.median, y->cpu_ns.median);

	return fmax(noise_of(v, x, y), fmax(v->control, VERDICT_FLOOR) * least);
}

bool verdict_fits(const struct verdict *v, size_t i)
{
	const struct runs_row *row = &v->runs->row[i];

	return !row->status && row->memory.failed <= v->refused;
}

static bool is_timed(const struct verdict *v, const struct runs_row *row)
{
	return row->times && row->cpu_ns.median > v->runs->null_ns.mad;
}

bool verdict_is_timed(const struct verdict *v, size_t i)
{
	return is_timed(v, &v->runs->row[i]);
}

bool verdict_is_used(const struct variant *x, const char *used)
{
	const char *name = allocator_name(used);

	return name ? !strcmp(x->name, name) : !strcmp(x->so, used);
}

bool verdict_by_time(const struct verdict *v, size_t a, size_t b)
{
	const struct runs_row *x = &v->runs->row[a], *y = &v->runs->row[b];

	return v->quiet && verdict_fits(v, a) && verdict_fits(v, b) &&
	       fabs(x->cpu_ns.median - y->cpu_ns.median) > verdict_noise(v, a, b);
}

bool verdict_by_peak(const struct verdict *v, size_t a, size_t b)
{
	const struct runs_row *x = &v->runs->row[a], *y = &v->runs->row[b];
	const double p = (double)runs_peak(x), q = (double)runs_peak(y);

	return verdict_fits(v, a) && verdict_fits(v, b) &&
	       fabs(p - q) > fmax(VERDICT_BYTES, VERDICT_PART * fmin(p, q));
}

ORDER_IN(by_peak, size_t, struct runs, COMPARE(runs_peak(&in->row[*x]), runs_peak(&in->row[*y])))

ORDER_IN(by_time, size_t, struct runs,
	 COMPARE(in->row[*x].cpu_ns.median, in->row[*y].cpu_ns.median))

/* Returns the median of the relative spreads, including the control. */
static double middle_spread(const struct runs *r)
{
	double *part = must_calloc(r->n + 1, sizeof(*part)), middle;
	const struct runs_row *row;
	size_t i, n = 0;

	for (i = 0; i <= r->n; i++) {
		row = i < r->n ? &r->row[i] : &r->control;
		if (!row->status && row->cpu_ns.median > 0)
			part[n++] = row->cpu_ns.mad / row->cpu_ns.median;
	}
	middle = stats_middle(part, n).median;
	free(part);
	return middle;
}

/* Does the control agree with its variant? */
static void judge_control(struct verdict *v, const struct runs *r)
{
	const struct runs_row *first = &r->row[r->control_of], *again = &r->control;
	double apart;
	size_t i;

	v->timed = false;
	if (first->status || again->status || !first->times || !again->times)
		return;
	v->timed = true;
	v->spread = middle_spread(r);
	apart = fabs(first->cpu_ns.median - again->cpu_ns.median);
	v->control = first->cpu_ns.median > 0 ? apart / first->cpu_ns.median : 0;
	v->few = first->times < VERDICT_RUNS || again->times < VERDICT_RUNS;
	v->unmeasured = !is_timed(v, again);
	for (i = 0; i < v->played; i++)
		v->unmeasured |= !verdict_is_timed(v, v->by_time[i]);
	v->quiet = !v->few && !v->unmeasured &&
		   (apart <= noise_of(v, first, again) || v->control <= VERDICT_CONTROL);
}

/* Requests that every allocator refuses, such as 1 TiB, exceed the machine and do not count. */
static uint64_t least_refused(const struct runs *r)
{
	uint64_t least = UINT64_MAX;
	size_t i;

	for (i = 0; i < r->n; i++)
		if (!r->row[i].status && r->row[i].memory.failed < least)
			least = r->row[i].memory.failed;
	return least;
}

/* Returns how suitable a row is as the reference. */
static int claim(const struct variant *x, const char *used)
{
	return used && verdict_is_used(x, used) ? 2 : !strcmp(x->name, "glibc");
}

static bool is_small(const struct verdict *v, uint64_t peak_bytes)
{
	const struct runs *r = v->runs;

	return peak_bytes < VERDICT_LEAST &&
	       (v->reference == r->n || r->row[v->reference].memory.peak_rss < VERDICT_LEAST);
}

void verdict_make(struct verdict *v, const struct runs *r, uint64_t peak_bytes, const char *used)
{
	size_t i;

	*v = (struct verdict){ .runs = r, .reference = r->n, .refused = least_refused(r) };
	v->by_peak = must_calloc(r->n + 1, sizeof(*v->by_peak));
	v->by_time = must_calloc(r->n + 1, sizeof(*v->by_time));
	for (i = 0; i < r->n; i++) {
		if (!verdict_fits(v, i))
			continue;
		v->by_peak[v->played] = v->by_time[v->played] = i;
		v->played++;
		if (v->reference == r->n ||
		    claim(r->row[i].variant, used) > claim(r->row[v->reference].variant, used))
			v->reference = i;
	}
	SORT_IN(v->by_peak, v->played, by_peak, r);
	SORT_IN(v->by_time, v->played, by_time, r);
	v->small = is_small(v, peak_bytes);
	judge_control(v, r);
}

void verdict_release(struct verdict *v)
{
	free(v->by_peak);
	free(v->by_time);
	*v = (struct verdict){ .runs = NULL };
}
