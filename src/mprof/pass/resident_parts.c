// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * resident_parts.c - see resident_parts.h.
 *
 * Every resident page has a byte that says what is on it, in the order of the runs.
 */
#include "resident_parts.h"

#include <stdlib.h>

#include "../util/alloc.h"
#include "resident_pages.h"
#include "tree.h"

#define LARGE (256u << 10) /* a block that may be written to little by little */

enum { PAGE_LIVE = 1, PAGE_MAPPED = 2, PAGE_NEAR = 4, PAGE_INHERITED = 8 };

struct pages_found {
	const struct trace_residency *residency;
	uint64_t *before;    /* by run: pages of the runs before it */
	unsigned char *page; /* by resident page: what is on it */
	unsigned shift;
	uint64_t near;	    /* the run where the last search began */
	uint64_t inherited; /* bytes of inherited blocks on the pages of others */
};

/* ---- pages ---- */

static void open_pages(struct pages_found *f)
{
	const struct trace_residency *r = f->residency;
	uint64_t i, pages = 0;

	f->before = must_calloc(r->runs + 1, sizeof(*f->before));
	for (i = 0; i < r->runs; i++) {
		f->before[i] = pages;
		pages += r->run[i].count;
	}
	f->page = must_calloc(pages + 1, 1);
}

/* Marks the resident pages of [start, end).  Returns its bytes on pages with PAGE_LIVE. */
static uint64_t mark(struct pages_found *f, uint64_t start, uint64_t end, unsigned char what)
{
	const struct trace_residency *r = f->residency;
	uint64_t first = start >> f->shift, last = (end - 1) >> f->shift, from, to, i, k, bytes = 0;
	unsigned char *page;

	if (end <= start)
		return 0;
	i = f->near = resident_run(r, first, f->near);
	if (first == last) { /* as that of most blocks */
		if (i == r->runs || r->run[i].first > first)
			return 0;
		page = &f->page[f->before[i] + first - r->run[i].first];
		*page |= what;
		return *page & PAGE_LIVE ? end - start : 0;
	}
	for (; i < r->runs; i++) {
		from = r->run[i].first > first ? r->run[i].first : first;
		to = r->run[i].first + r->run[i].count - 1;
		to = to < last ? to : last;
		if (r->run[i].first > last)
			break;
		for (k = from; k <= to; k++) {
			page = &f->page[f->before[i] + k - r->run[i].first];
			*page |= what;
			if (*page & PAGE_LIVE)
				bytes += (k < last ? (k + 1) << f->shift : end) -
					 (k > first ? k << f->shift : start);
		}
	}
	return bytes;
}

/* ---- areas with blocks ---- */

static void add_area(struct resident_areas *a, uint64_t key)
{
	uint64_t *recent = &a->recent[key % RESIDENT_AREAS_RECENT];

	if (*recent == key + 1)
		return;
	*recent = key + 1;
	*hash_at(&a->area, key) = 1;
}

/* An aligned block begins anywhere in glibc's mapping, but ends where that does: see
 * heap_is_own_mapping().  No block of glibc's heap ends at a page; those of other allocators do. */
static bool is_own_mapping(const struct resident_areas *a, uint64_t addr, uint64_t usable,
			   unsigned fn)
{
	const uint64_t last = (addr + usable) & (RESIDENT_PAGE - 1);

	return heap_is_own_mapping(addr, usable, RESIDENT_PAGE) ||
	       (a->c_library && heap_aligns(fn) && (!last || last == RESIDENT_PAGE - 8));
}

void resident_began_apart(struct resident_areas *a, const struct event *e)
{
	if (is_own_mapping(a, e->addr, e->usable, e->fn))
		return;
	add_area(a, e->addr >> RESIDENT_AREA_SHIFT);
	add_area(a, (e->addr + e->size - (e->size != 0)) >> RESIDENT_AREA_SHIFT);
}

/* One block after another is often at the same place. */
void resident_ended_large(struct resident_areas *a, const struct block *old)
{
	const uint64_t usable = old->size + old->slack;
	const struct map_range r = { .start = old->addr, .end = old->addr + usable };
	const struct map_range *known = map_set_at(&a->large, r.start);

	if (usable < old->size || is_own_mapping(a, r.start, usable, old->fn) ||
	    (known && known->end >= r.end))
		return;
	map_set_add(&a->large, &r, NULL);
}

static void find_largest(struct resident_parts *all, const struct walk *w)
{
	const struct trace_residency *r = w->input.residencies;

	for (size_t i = 0; i < w->input.residency_count; i++) {
		uint64_t *most = hash_at(&all->most, r[i].process);

		if (!*most || resident_all(&r[i]) > resident_all(&r[*most - 1]))
			*most = i + 1;
	}
}

static void start(void *self, struct walk *w)
{
	struct resident_parts *all = self;
	const struct trace_residency *r = w->input.residencies;

	find_largest(all, w);
	all->c_library = true;
	for (size_t i = 0; i < w->input.fact_count; i++)
		if (tree_is_image(&w->input.facts[i]))
			all->c_library &= tree_has_c_library(&w->input.facts[i]);
	for (size_t i = 0; i < w->input.residency_count && !all->used; i++)
		all->used = all->every || all->largest ||
			    resident_all(&r[i]) >= RESIDENT_FREED / w->input.header->page_size;
}

static void start_largest(void *self, struct walk *w)
{
	struct resident_parts *all = self;

	all->largest = true;
	start(self, w);
}

static bool is_largest(const struct resident_parts *all, const struct trace_residency *r)
{
	return hash_get(&all->most, r->process) == (uint64_t)(r - all->walk->input.residencies) + 1;
}

static void batch(void *self, const struct batch *b)
{
	struct resident_parts *all = self;

	for (size_t i = 0; all->used && i < b->count; i++) {
		const struct note *n = &b->note[i];
		struct resident_areas *a = resident_areas_of(all, n->process);

		if (n->did & NOTE_ENDED)
			resident_ended(a, &n->old);
		if (n->did & NOTE_BEGAN)
			resident_began(a, &b->event[i]);
	}
}

/* Forgets areas: a program that exec starts has none. */
static void gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	struct resident_parts *all = self;
	struct resident_areas *a = process < all->process.count
				       ? (struct resident_areas *)all->process.item + process
				       : NULL;

	if (!a || why != GONE_EXEC)
		return;
	hash_release(&a->area);
	map_set_release(&a->large);
	*a = (struct resident_areas){ .c_library = all->c_library };
}

/* ---- a sample ---- */

static void add_alignment(struct resident_parts_sample *s, const struct block *b, unsigned shift)
{
	const uint64_t page = 1ull << shift, alignment = b->addr & -b->addr;
	const uint64_t most = 1ull << RESIDENT_AREA_SHIFT;

	s->aligned_blocks++;
	s->aligned += alignment < page ? alignment : page;
	s->aligned_most += alignment < most ? alignment : most;
}

/* Blocks that fork copied keep pages in memory, and parts of the pages of other blocks. */
static void add_inherited(struct pages_found *f, const struct block *b)
{
	f->inherited += mark(f, b->addr, b->addr + b->size + b->slack, PAGE_INHERITED);
}

static void add_block(struct resident_parts_sample *s, struct pages_found *f, const struct block *b,
		      bool inherited, uint64_t *near)
{
	if (!(b->owner & BLOCK_INHERITED) == inherited || !b->size ||
	    b->size > UINT64_MAX - b->addr)
		return;
	if (inherited) {
		add_inherited(f, b);
		return;
	}
	s->live += resident_bytes(f->residency, f->shift, b->addr, b->addr + b->size, near);
	mark(f, b->addr, b->addr + b->size, PAGE_LIVE);
	if (heap_aligns(b->fn))
		add_alignment(s, b, f->shift);
}

/* Inherited blocks come after all others, whose pages they must know. */
static void add_blocks(struct resident_parts_sample *s, struct pages_found *f, const struct heap *h,
		       uint32_t process, bool inherited)
{
	struct heap_live_round round = { .thread = 0 };
	const struct block *b;
	uint64_t near = 0;

	if (inherited)
		round = heap_without_own(h->process[process]);
	while ((b = heap_next_live(h, process, &round)))
		add_block(s, f, b, inherited, &near);
}

static void add_areas(struct pages_found *f, const struct resident_areas *a)
{
	const struct hash_slot *at;

	for (at = a->area.slot; at < a->area.slot + a->area.slots; at++)
		if (at->value)
			mark(f, at->key << RESIDENT_AREA_SHIFT,
			     (at->key + 1) << RESIDENT_AREA_SHIFT, PAGE_NEAR);
	for (size_t i = 0; i < a->large.count; i++)
		mark(f, a->large.range[i].start, a->large.range[i].end, PAGE_NEAR);
}

static void add_mapped(struct pages_found *f, const struct map_set *set)
{
	const struct map_range *range;

	for (range = set->range; range < set->range + set->count; range++)
		if (range->kind == SPACE_MEMORY || range->kind == SPACE_RESERVED)
			mark(f, range->start, range->end, PAGE_MAPPED);
}

static void add_up(struct resident_parts_sample *s, const struct pages_found *f, uint64_t slack)
{
	const uint64_t page = 1ull << f->shift, pages = resident_all(f->residency);
	const uint64_t own = f->residency->own << f->shift;
	uint64_t under_live = 0, private = (pages << f->shift) + own, free_bytes, inherited, i;

	for (i = 0; i < pages; i++)
		if (f->page[i] & PAGE_LIVE)
			under_live += page;
		else if (f->page[i] & PAGE_INHERITED)
			s->other += page;
		else if (f->page[i] & PAGE_MAPPED)
			s->mapped += page;
		else if (f->page[i] & PAGE_NEAR)
			s->retained += page;
		else
			s->other += page;
	free_bytes = under_live - s->live;
	inherited = f->inherited < free_bytes ? f->inherited : free_bytes;
	free_bytes -= inherited;
	s->other += own + inherited;
	s->rounding = slack < free_bytes ? slack : free_bytes;
	s->gaps = free_bytes - s->rounding;
	s->files = s->rss > private ? s->rss - private : 0;
}

/* Returns the bytes of large live blocks that are not in memory. */
static uint64_t untouched(const struct heap *h, uint32_t process, const struct trace_residency *r)
{
	struct heap_live_round round = { .round.least = LARGE };
	const struct block *b;
	uint64_t near = 0, sum = 0;

	while ((b = heap_next_live(h, process, &round)))
		if (b->size >= LARGE && b->size <= UINT64_MAX - b->addr &&
		    !(b->owner & BLOCK_INHERITED))
			sum += b->size - resident_bytes(r, h->process[process]->pages.shift,
							b->addr, b->addr + b->size, &near);
	return sum;
}

/*
 * Live bytes on resident pages are at most these pages, without those that the program mapped (an
 * allocator in the program itself maps arenas that are recorded; that of the C library does not).
 * A program with clearly more live bytes reserves memory and does not write to it: what it has in
 * memory is seen when the parts are found.
 */
static bool may_be_freed(const struct resident_parts *all, const struct heap *h, uint32_t process,
			 const struct trace_residency *r)
{
	const struct heap_process *p = h->process[process];
	const uint64_t private = resident_all(r) << p->pages.shift;
	const uint64_t mapped = all->c_library ? resident_mapped(r, p) : 0;
	const uint64_t heap = private > mapped ? private - mapped : 0;
	uint64_t live = p->live.bytes, out;

	if (heap < RESIDENT_FREED)
		return false;
	if (live > private + private / 8)
		return true;
	if (live > heap / 2 && is_largest(all, r)) {
		out = untouched(h, process, r);
		live -= out < live ? out : live;
	}
	return heap >= live + RESIDENT_FREED && live <= heap / 2;
}

static void find_parts(struct resident_parts_sample *s, const struct heap *h, uint32_t process,
		       struct resident_areas *areas, const struct trace_residency *r)
{
	const struct heap_process *p = h->process[process];
	struct pages_found f = { .residency = r, .shift = p->pages.shift };

	s->found = true;
	s->ended = areas->ended;
	open_pages(&f);
	add_blocks(s, &f, h, process, false);
	add_blocks(s, &f, h, process, true);
	add_mapped(&f, &p->space.mapped);
	add_areas(&f, areas);
	add_up(s, &f, p->live.slack);
	free(f.before);
	free(f.page);
}

static void residency(void *self, const struct heap *h, uint32_t process,
		      const struct trace_residency *r)
{
	struct resident_parts *all = self;
	const struct heap_process *p = h->process[process];
	struct resident_parts_sample *s = array_at(&all->sample, all->sample.count, sizeof(*s));
	struct resident_areas *areas;

	s->process = p->number;
	s->ticks = r->head->ticks_before;
	s->rss = r->head->rss;
	if (all->largest ? !is_largest(all, r) : !all->every && !may_be_freed(all, h, process, r))
		return;
	areas = resident_areas_of(all, process);
	find_parts(s, h, process, areas, r);
	if (all->largest ||
	    (!all->every && (!resident_is_freed(s) || resident_freed(s) <= areas->freed)))
		return;
	areas->freed = resident_freed(s);
	resident_shares_add(&all->shares, (uint32_t)all->sample.count - 1, h, process, r);
}

uint64_t resident_own(const struct resident_parts_sample *s, const struct tree_process *p)
{
	return p && p->self_bytes < s->other ? p->self_bytes : p ? s->other : 0;
}

static const struct pass_part areas[] = {
	{ PASS_FREED(struct resident_areas, area) },
	{ PASS_FREED(struct resident_areas, large) },
	{ .bytes = 0 },
};

static const struct pass_part parts[] = {
	{ PASS_ARRAY(struct resident_parts, sample, struct resident_parts_sample) },
	{ PASS_ARRAY(struct resident_parts, shares.share, struct resident_share) },
	{ PASS_ARRAY(struct resident_parts, shares.largest, struct resident_share) },
	{ PASS_FREED(struct resident_parts, shares.stack) },
	{ PASS_FREED(struct resident_parts, most) },
	{ PASS_FREED_ARRAYS(struct resident_parts, process, struct resident_areas, areas) },
	{ .bytes = 0 },
};

const struct pass_ops resident_parts_pass = {
	.name = "resident parts",
	.bytes = sizeof(struct resident_parts),
	.part = parts,
	.start = start,
	.batch = batch,
	.gone = gone,
	.residency = residency,
};

const struct pass_ops resident_largest_pass = {
	.name = "resident parts, largest",
	.bytes = sizeof(struct resident_parts),
	.part = parts,
	.start = start_largest,
	.batch = batch,
	.gone = gone,
	.residency = residency,
};
