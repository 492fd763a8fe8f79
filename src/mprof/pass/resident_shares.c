// SPDX-License-Identifier: LGPL-3.0-or-later
/* resident_shares.c - see resident_shares.h. */
#include "resident_shares.h"

#include <math.h>
#include <stdlib.h>

#include "../util/alloc.h"
#include "resident_pages.h"

struct shared_pages {
	const struct trace_residency *residency;
	uint64_t *before; /* by run: pages of the runs before it */
	uint32_t *live; /* by resident page, in the order of the runs: bytes of live blocks on it */
	unsigned shift;
	uint64_t near; /* the run where the last search began */
};

/* Handles the bytes of a block on one resident page. */
typedef void on_page(void *to, uint32_t *live, uint32_t bytes);

static void each_page(struct shared_pages *s, const struct block *b, on_page *does, void *to)
{
	const struct trace_residency *r = s->residency;
	const uint64_t end = b->addr + b->size;
	const uint64_t first = b->addr >> s->shift, last = (end - 1) >> s->shift;
	uint64_t i = s->near = resident_run(r, first, s->near), k, low, high;

	if (first == last) { /* most blocks are within one page */
		if (i < r->runs && r->run[i].first <= first)
			does(to, &s->live[s->before[i] + first - r->run[i].first],
			     (uint32_t)b->size);
		return;
	}
	for (; i < r->runs; i++) {
		const uint64_t from = r->run[i].first, to_page = from + r->run[i].count - 1;

		if (from > last)
			return;
		for (k = from > first ? from : first; k <= to_page && k <= last; k++) {
			low = k << s->shift > b->addr ? k << s->shift : b->addr;
			high = (k + 1) << s->shift < end ? (k + 1) << s->shift : end;
			does(to, &s->live[s->before[i] + k - from], (uint32_t)(high - low));
		}
	}
}

static void add_live(void *to, uint32_t *live, uint32_t bytes)
{
	*live += bytes;
}

struct taking {
	double page, bytes;
};

static void take_share(void *to, uint32_t *live, uint32_t bytes)
{
	struct taking *t = to;

	t->bytes += t->page * bytes / *live;
}

static bool counts(const struct block *b)
{
	return !(b->owner & BLOCK_INHERITED) && b->size && b->size <= UINT64_MAX - b->addr;
}

static void add_block(struct resident_shares *all, struct shared_pages *s, const struct block *b)
{
	struct taking t = { .page = (double)(1ull << s->shift) };

	if (!counts(b))
		return;
	each_page(s, b, take_share, &t);
	if (t.bytes > 0)
		*(double *)array_at(&all->stack, b->stack, sizeof(double)) += t.bytes;
}

static void divide(struct resident_shares *all, struct shared_pages *s, const struct heap *h,
		   uint32_t process)
{
	struct heap_live_round live = { .thread = 0 }, again = { .thread = 0 };
	const struct block *b;

	while ((b = heap_next_live(h, process, &live)))
		if (counts(b))
			each_page(s, b, add_live, NULL);
	while ((b = heap_next_live(h, process, &again)))
		add_block(all, s, b);
}

static void add_share(struct array *to, uint32_t sample, uint32_t stack, double bytes)
{
	if (llround(bytes) > 0)
		*(struct resident_share *)array_at(to, to->count, sizeof(struct resident_share)) =
		    (struct resident_share){ sample, stack, (uint64_t)llround(bytes) };
}

/* Keeps large shares by stack, and returns the sum of all. */
static double keep_large(struct resident_shares *all, uint32_t sample)
{
	double *bytes = all->stack.item, sum = 0, rest = 0;
	size_t i;

	for (i = 0; i < all->stack.count; i++)
		sum += bytes[i];
	for (i = 0; i < all->stack.count; i++)
		if (bytes[i] * RESIDENT_PART >= sum)
			add_share(&all->share, sample, (uint32_t)i, bytes[i]);
		else
			rest += bytes[i];
	add_share(&all->share, sample, RESIDENT_REST, rest);
	return sum;
}

static void keep_all(struct resident_shares *all, uint32_t sample, uint32_t process,
		     const struct trace_residency *r, double sum)
{
	const double *bytes = all->stack.item;
	size_t i;

	all->process = process;
	all->ticks = r->head->ticks_before;
	all->rss = r->head->rss;
	all->bytes = (uint64_t)llround(sum);
	all->largest.count = 0;
	for (i = 0; i < all->stack.count; i++)
		add_share(&all->largest, sample, (uint32_t)i, bytes[i]);
}

void resident_shares_add(struct resident_shares *all, uint32_t sample, const struct heap *h,
			 uint32_t process, const struct trace_residency *r)
{
	const struct heap_process *p = h->process[process];
	struct shared_pages s = { .residency = r, .shift = p->pages.shift };
	uint64_t i, pages = 0;
	double sum;

	s.before = must_calloc(r->runs + 1, sizeof(*s.before));
	for (i = 0; i < r->runs; i++, pages += r->run[i - 1].count)
		s.before[i] = pages;
	s.live = must_calloc(pages + 1, sizeof(*s.live));
	divide(all, &s, h, process);
	sum = keep_large(all, sample);
	if (r->head->rss > all->rss)
		keep_all(all, sample, p->number, r, sum);
	if (all->stack.count)
		memset(all->stack.item, 0, all->stack.count * sizeof(double));
	all->samples = sample + 1;
	free(s.before);
	free(s.live);
}
