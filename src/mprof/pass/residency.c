// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * residency.c - live blocks against pages in memory.
 *
 * Pages that blocks share are taken from the heap's page counters, pages that
 * a block covers wholly from the blocks: a page is never both.
 */
#include "residency.h"

#include "resident_pages.h"

static void add_block(struct residency_sample *s, unsigned shift, const struct block *b,
		      const struct trace_residency *r, uint64_t *near)
{
	uint64_t first, end;

	if (b->owner & BLOCK_INHERITED || b->size > UINT64_MAX - b->addr)
		return;
	s->live_resident_bytes += resident_bytes(r, shift, b->addr, b->addr + b->size, near);
	if (pages_whole(shift, b->addr, b->size, &first, &end))
		s->under_live +=
		    resident_bytes(r, shift, first << shift, end << shift, near) >> shift;
}

static void add_blocks(struct residency_sample *s, const struct heap *h, uint32_t process,
		       const struct trace_residency *r)
{
	const unsigned shift = h->process[process]->pages.shift;
	struct heap_live_round round = { .thread = 0 };
	const struct block *b;
	uint64_t near = 0;

	while ((b = heap_next_live(h, process, &round)))
		add_block(s, shift, b, r, &near);
}

static void add_shared_pages(struct residency_sample *s, const struct pages *p,
			     const struct trace_residency *r)
{
	const struct pages_region *region;
	uint64_t page, run = 0;
	size_t at = 0, i;

	while ((region = pages_next(p, &at))) {
		page = region->key << PAGES_REGION_SHIFT;
		run = resident_run(r, page, run);
		for (i = 0; i < PAGES_REGION && run < r->runs; i++, page++) {
			if (page >= r->run[run].first + r->run[run].count && ++run == r->runs)
				break;
			s->under_live += region->count[i] && page >= r->run[run].first;
		}
	}
}

/* Makes the fullest sample so far the moment; its pages are counted as blocks end. */
static void brief_sample(struct residency *all, const struct heap *h, uint32_t process,
			 const struct trace_residency *r)
{
	const struct heap_process *p = h->process[process];
	struct residency_sample *s = array_at(&all->sample, all->sample.count, sizeof(*s));

	*s = (struct residency_sample){ .process = p->number,
					.ticks = r->head->ticks_before,
					.live_bytes = p->live.bytes,
					.resident = resident_all(r),
					.rss = r->head->rss };
	if (!p->live.bytes || p->live.bytes < all->fullest.live_bytes || !r->runs)
		return;
	all->fullest = *s;
	all->process = process;
	all->moment.within = r;
	moment_begin(&all->moment, r->head->ticks_before, h->number);
}

static void batch(void *self, const struct batch *b)
{
	struct residency *all = self;
	size_t i;

	for (i = 0; all->moment.number && i < b->ends; i++) {
		const struct note *n = &b->note[b->end[i]];

		if (n->process == all->process && n->did & (NOTE_ENDED | NOTE_DROPPED))
			moment_ended(&all->moment, all->walk->heap.process[n->process]->pages.shift,
				     n->process, &n->old);
	}
}

static void gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	struct residency *all = self;

	if (all->moment.number && process == all->process)
		moment_gone(&all->moment, h, process);
}

static void residency(void *self, const struct heap *h, uint32_t process,
		      const struct trace_residency *r)
{
	struct residency *all = self;
	const struct heap_process *p = h->process[process];
	struct residency_sample *s;

	if (all->brief) {
		brief_sample(all, h, process, r);
		return;
	}
	s = array_at(&all->sample, all->sample.count, sizeof(*s));
	s->process = p->number;
	s->ticks = r->head->ticks_before;
	s->live_bytes = p->live.bytes;
	s->rss = r->head->rss;
	s->resident = resident_all(r);
	add_blocks(s, h, process, r);
	add_shared_pages(s, &p->pages, r);
	s->needed = (s->live_resident_bytes + h->page_size - 1) >> p->pages.shift;
	if (s->under_live)
		s->compactness = (double)s->needed / (double)s->under_live;
}

static void finish(void *self, struct walk *w)
{
	struct residency *all = self;
	const struct residency_sample *s = all->sample.item;
	double sum = 0;
	size_t i;

	for (i = 0; i < all->sample.count; i++) {
		if (!s[i].under_live)
			continue;
		if (!all->compared++ || s[i].compactness < all->min)
			all->min = s[i].compactness;
		if (s[i].compactness > all->max)
			all->max = s[i].compactness;
		if (s[i].live_bytes >= all->fullest.live_bytes)
			all->fullest = s[i];
		sum += s[i].compactness;
	}
	if (all->brief) {
		all->fullest.under_live = all->moment.pages;
		all->compared = all->moment.pages > 0;
	}
	all->mean = all->compared ? sum / (double)all->compared : 0;
}

static const struct pass_part parts[] = {
	{ PASS_ARRAY(struct residency, sample, struct residency_sample) },
	{ PASS_UNUSED(struct residency, moment.within) },
	{ PASS_FREED(struct residency, moment.region) },
	{ PASS_UNUSED(struct residency, moment.recent) },
	{ PASS_FREED(struct residency, moment.places) },
	{ .bytes = 0 },
};

const struct pass_ops residency_pass = {
	.name = "residency",
	.bytes = sizeof(struct residency),
	.part = parts,
	.batch = batch,
	.gone = gone,
	.residency = residency,
	.finish = finish,
};
