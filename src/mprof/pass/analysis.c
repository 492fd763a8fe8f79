// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * analysis.c - all passes over one walk, and one loop over the events instead of one for each pass.
 *
 * The loop takes runs (heap/event_run.h), and calls the same functions as the batch() of each pass,
 * so the results are the same.  Most events only change counters. Everything else is behind one
 * comparison each: with the latest peak, and with the next time of interest.
 */
#include "analysis.h"

#include <string.h>

#include "milestones.h"
#include "page_run.h"
#include "rss.h"
#include "site_totals.h"
#include "sites_count.h"

/* ---- the loop ---- */

/*
 * While a program grows, each allocation is a new peak.  If it has more bytes and more blocks than
 * the one before, that one need not be known: it is told once a block ends.
 */
struct peak_of_loop {
	const struct event *event; /* NULL: there is none */
	uint64_t number;
	struct live own; /* of the process */
};

/* A run, with cached data of its thread and process. */
struct loop {
	struct run run;
	struct walk *w;
	struct analysis *a; /* NULL = only sites */
	bool full;	    /* not brief */
	bool usual;	    /* struct work.usual is set */
	struct sites *s;
	struct work *k;			  /* of s */
	uint32_t process;		  /* its index */
	struct live rest;		  /* of the other processes */
	uint64_t bytes_most, blocks_most; /* more than this in the process is a new peak */
	uint64_t moment; /* blocks that began later were not live at any moment of interest */
	struct peak_of_loop peak; /* not yet told to anyone */
	uint64_t next; /* the first ticks that end an epoch, or the time before the greatest RSS */
	bool of_rss, before; /* this process has the greatest RSS; that is yet to come */
	uint64_t rss_bytes;  /* fewer live bytes do not change figures at the greatest RSS */
	struct totals_thread *totals;
	struct totals_process *of_totals;   /* of the process */
	struct totals_swing swing;	    /* the same as there */
	struct compactness_of *compactness; /* of the process, if `full` */
	struct resident_areas *areas;	    /* of the process; NULL if they are not needed */
	struct maps *maps;		    /* NULL unless blocks in what it mapped matter */
	const struct analysis_page *page;   /* NULL = none */
	struct page_run of_page;
	struct growth_handed *handed;
	struct growth_open *grown; /* of the process */
	struct large *resized;	   /* chains of resizes, for the process */
	/*
	 * The thread's latest call: `nothing` if it returned no block; `other` if growth does not
	 * count it.
	 */
	const struct event *last;
};

static const struct event nothing;

/* ---- beginning and end ---- */

static inline uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

ALWAYS_INLINE void set_moment(struct loop *l)
{
	l->moment = l->s->peak.ticks;
	if (l->a)
		l->moment = most(
		    l->moment, most(l->a->compactness.moment.ticks, l->a->residency.moment.ticks));
}

ALWAYS_INLINE void set_next(struct loop *l)
{
	l->next = l->k->epoch_ends;
	if (l->before)
		l->next = least(l->next, l->k->rss.from_ticks + 1);
}

/* After the time of the greatest RSS, only higher values matter. */
static uint64_t rss_bytes(const struct work *k, uint64_t ticks)
{
	const uint64_t mapped = k->rss_mapped + k->rss_break;

	if (ticks <= k->rss.to_ticks || k->rss_near || k->rss_later < mapped)
		return 0;
	return k->rss_later - mapped + 1;
}

ALWAYS_INLINE void set_rss(struct loop *l, uint64_t ticks)
{
	l->rss_bytes = l->of_rss && !l->before ? rss_bytes(l->k, ticks) : UINT64_MAX;
}

ALWAYS_INLINE bool begin(struct loop *l, const struct event *e, struct event *other)
{
	struct heap *h = &l->w->heap;
	uint32_t process, thread;

	if (!run_begin(&l->run, h, e, &l->rest) || h->count_pages != l->full)
		return false;
	l->run.pages = l->full; /* a constant for the compiler */
	l->process = process = l->run.t->process;
	thread = l->run.thread;
	l->bytes_most = least(l->run.p->most_bytes, h->most_bytes - l->rest.bytes);
	l->blocks_most = least(l->run.p->most_blocks, h->most_blocks - l->rest.blocks);
	set_moment(l);
	l->of_rss = l->k->rss.rss && e->process == l->k->rss.process;
	l->before = l->of_rss && e->ticks <= l->k->rss.from_ticks;
	set_rss(l, e->ticks);
	set_next(l);
	l->last = other;
	*other = (struct event){ .addr = sites_recent(l->s, thread)->addr[0] };
	page_begin(&l->of_page, l->page, process, e->ticks);
	if (!l->a)
		return true;
	l->totals = totals_thread(&l->a->totals, e, thread);
	l->of_totals = totals_process(&l->a->totals, process);
	l->swing = l->of_totals->swing;
	if (l->full)
		l->compactness = compactness_process(&l->a->compactness, process);
	l->areas = resident_areas_of(&l->a->resident_parts, process);
	l->maps = l->a->maps.wrapped && l->run.p->space.mapped.count ? &l->a->maps : NULL;
	l->grown = growth_open(&l->a->growth, process);
	l->resized = resizes_open(&l->a->resizes, process);
	l->handed = growth_last(&l->a->growth, thread);
	if (!l->handed->valid || l->handed->process != process)
		return true;
	other->size = l->handed->size;
	other->stack = l->handed->stack;
	other->block = l->handed->number;
	return true;
}

/* ---- peaks ---- */

static __attribute__((noinline)) void tell_peak(struct analysis *a, struct sites *s,
						uint32_t process, struct peak_of_loop peak,
						struct live rest)
{
	const struct event *e = peak.event;
	struct heap *h = &s->walk->heap;
	struct live own = peak.own, all;

	own.needed = live_needed(&own, &h->process[process]->pages);
	all = live_sum(&own, &rest, &(const struct live){ .bytes = 0 });
	heap_note_most(h, h->process[process], &rest, own.bytes, own.blocks);
	note_peak(s, e, &own, &all, peak.number);
	if (!a)
		return;
	peak_look(&a->peak, process, &own, &all, e, peak.number);
	if (a->compactness.brief)
		compactness_brief(&a->compactness, &all, e->ticks, peak.number);
}

/* Call it before anything that depends on the latest peak. */
ALWAYS_INLINE void settle_peak(struct loop *l)
{
	if (!l->peak.event)
		return;
	tell_peak(l->a, l->s, l->process, l->peak, l->rest);
	l->peak.event = NULL;
	set_moment(l);
}

/* A block began with which the process has more bytes or blocks than ever before, or the run. */
ALWAYS_INLINE void new_peak(struct loop *l, const struct event *e)
{
	const struct live *own = &l->run.own;

	if (own->bytes <= l->peak.own.bytes || own->blocks <= l->peak.own.blocks)
		settle_peak(l);
	l->peak.event = e;
	l->peak.number = l->run.number;
	l->peak.own = *own;
	l->bytes_most = most(l->bytes_most, own->bytes);
	l->blocks_most = most(l->blocks_most, own->blocks);
}

/* Notes that all events so far were before the time of the greatest RSS. */
ALWAYS_INLINE void note_before(struct loop *l)
{
	l->k->rss_live = l->run.own.bytes;
	sites_rss_moment(l->s, 0, 0, false);
	l->before = false;
}

/* last: the last one of its events. */
ALWAYS_INLINE void finish(struct loop *l, const struct event *last)
{
	sites_recent(l->s, l->run.thread)->addr[0] = l->last->addr;
	page_end(&l->of_page, l->page, &l->run, last->ticks, l->last->addr);
	settle_peak(l);
	if (l->before)
		note_before(l);
	else if (l->of_rss)
		l->k->rss_live = l->run.own.bytes;
	run_end(&l->run, &l->rest);
	if (!l->a)
		return;
	l->totals->last_ticks = last->ticks;
	l->of_totals->swing = l->swing;
	*l->handed = growth_handed(last, l->process, l->last == last ? NOTE_BEGAN : 0);
}

/* ---- a block ends; resize: in a realloc ---- */

ALWAYS_INLINE void end_growth(struct loop *l, const struct event *e, const struct run_did *d,
			      bool resize)
{
	struct growth *g = &l->a->growth;
	const struct event *last = l->last;
	const struct block *old = &d->old;

	if (resize)
		growth_resized(g, l->grown, e, BLOCK_APART(old), d->ended);
	else
		growth_freed(g, l->grown,
			     (struct growth_block){ last->size, last->stack, last->block },
			     (struct growth_block){ old->size, old->stack, d->ended });
}

ALWAYS_INLINE void end_at_moment(struct analysis *a, unsigned shift, uint32_t process,
				 const struct block *old)
{
	moment_ended(&a->compactness.moment, shift, process, old);
	if (process == a->residency.process)
		moment_ended(&a->residency.moment, shift, process, old);
}

ALWAYS_INLINE void end_block(struct loop *l, const struct event *e, const struct run_did *d,
			     bool resize)
{
	const struct block *old = &d->old;
	/* Otherwise no realloc returned it, and the same thread frees it. */
	const bool odd = old->owner != (l->run.thread & BLOCK_THREAD);
	struct end end = {
		.block = old,
		.process = l->process,
		.number = e->process,
		.ticks = e->ticks,
		.how = FREED,
		.ns = walk_lifetime_ns(l->w, old, e->ticks),
		.foreign = odd && (old->owner & BLOCK_THREAD) != l->run.thread,
		.resized = resize,
		.temporary = !resize && l->last->addr == old->addr,
		.of_no_rss = l->rss_bytes == UINT64_MAX,
	};

	settle_peak(l);
	end.of_no_peak = old->start > l->moment;
	/* Do this first, while all values are in registers. */
	if (l->a)
		lifetimes_add(&l->a->lifetimes, end.ns, end.foreign);
	block_ends(l->s, &end, l->usual);
	if (!l->a)
		return;
	if (l->areas)
		resident_ended(l->areas, old);
	if (!l->full && !end.of_no_peak)
		end_at_moment(l->a, l->run.p->pages.shift, l->process, old);
	if (!resize && odd && old->owner & BLOCK_RESIZED)
		resizes_ended(&l->a->resizes, l->process, BLOCK_APART(old), d->ended);
	end_growth(l, e, d, resize);
}

/* ---- a block begins ---- */

ALWAYS_INLINE void begin_block(struct loop *l, const struct event *e, const struct block *resized)
{
	const struct run *r = &l->run;

	block_begins(l->s, e, l->process, r->thread, resized, l->usual);
	if (l->a && !l->full)
		sizes_brief(&l->a->sizes, e->size, r->slack);
	if (l->full)
		sizes_add(&l->a->sizes, e->size, r->slack);
	if (l->a && l->areas)
		resident_began(l->areas, e);
	if (l->a && __builtin_expect(l->maps != NULL, 0))
		maps_began(l->maps, l->process, e);
	if (__builtin_expect(r->own.bytes > l->bytes_most || r->own.blocks > l->blocks_most, 0))
		new_peak(l, e);
}

/* ---- one event ---- */

ALWAYS_INLINE void count_call(struct loop *l, const struct event *e, uint64_t bytes)
{
	struct totals_fn *f;

	if (!l->a)
		return;
	f = &l->totals->sum.fn[e->fn];
	f->calls++;
	f->bytes += bytes;
}

static __attribute__((noinline)) uint64_t look_at_rss(struct sites *s, uint64_t bytes,
						      uint64_t ticks, uint64_t number)
{
	struct work *k = s->work;

	k->rss_live = bytes;
	note_rss(s, ticks, number);
	return rss_bytes(k, ticks);
}

/* Called after a block began or ended. */
ALWAYS_INLINE void look_at_live(struct loop *l, const struct event *e)
{
	struct live own = l->run.own, all;

	if (l->a)
		totals_swing(&l->swing, own.bytes);
	if (l->full) {
		own.needed = live_needed(&own, &l->run.p->pages);
		compactness_look(l->compactness, &own, e->ticks);
	}
	if (l->full && l->a->compactness.apart) {
		all = live_sum(&own, &l->rest, &(const struct live){ .bytes = 0 });
		compactness_look(&l->a->compactness.all, &all, e->ticks);
	}
	if (__builtin_expect(own.bytes >= l->rss_bytes, 0))
		l->rss_bytes = look_at_rss(l->s, own.bytes, e->ticks, l->run.number);
}

/* Was the block that ends returned by the same thread's last call? */
ALWAYS_INLINE bool is_temporary(const struct loop *l, const struct block *old)
{
	return l->last->addr == old->addr && (old->owner & BLOCK_THREAD) == l->run.thread;
}

/* Called after look_at_live(), while l->last is still the call before. */
ALWAYS_INLINE void tell_page(struct loop *l, const struct event *e, bool began,
			     const struct block *old, bool temporary)
{
	struct cells_event x = {
		.event = e,
		.old = old,
		.process = l->process,
		.began = began,
		.temporary = temporary,
		.counted = true,
		.number = l->run.number,
	};

	if (!l->page)
		return;
	x.all = live_sum(&l->run.own, &l->rest, &(const struct live){ .bytes = 0 });
	page_call(&l->of_page, l->page, &l->run, &x);
}

ALWAYS_INLINE bool allocates(struct loop *l, const struct event *e)
{
	if (!run_allocates(&l->run, e))
		return false;
	count_call(l, e, e->size);
	begin_block(l, e, NULL);
	l->last = e;
	look_at_live(l, e);
	tell_page(l, e, true, NULL, false);
	return true;
}

ALWAYS_INLINE bool frees(struct loop *l, const struct event *e)
{
	struct run_did d;

	if (!run_frees(&l->run, e, &d))
		return false;
	count_call(l, e, d.ends ? d.old.size : 0);
	if (d.ends) {
		end_block(l, e, &d, false);
		if (l->a)
			totals_freed(&l->totals->sum, &d.old);
		look_at_live(l, e);
		run_over(&l->run, &d);
	} else if (l->a) {
		l->totals->sum.null_frees++;
	}
	tell_page(l, e, false, d.ends ? &d.old : NULL, d.ends && is_temporary(l, &d.old));
	l->last = &nothing;
	return true;
}

ALWAYS_INLINE bool resizes(struct loop *l, const struct event *e, struct event *other)
{
	struct run_did d;

	if (!run_event(&l->run, e, &d))
		return false;
	if (e->kind == EVENT_REALLOC_BEGIN) {
		*other = (struct event){ .addr = l->last->addr };
		l->last = other;
		return true;
	}
	count_call(l, e, e->size);
	if (l->a && d.ends)
		resizes_call(&l->a->resizes, e, l->process, BLOCK_APART(&d.old), d.ended);
	else if (l->a)
		resizes_of_nothing(&l->a->resizes);
	if (d.ends)
		end_block(l, e, &d, true);
	begin_block(l, e, d.ends ? BLOCK_APART(&d.old) : NULL);
	*other = (struct event){ .addr = e->addr };
	l->last = other;
	look_at_live(l, e);
	tell_page(l, e, true, d.ends ? &d.old : NULL, false);
	return true;
}

/* Takes an event that was not applied yet. */
ALWAYS_INLINE bool take_event(struct loop *l, const struct event *e, struct event *other)
{
	if (__builtin_expect(e->ticks >= l->next, 0)) {
		if (e->ticks >= l->k->epoch_ends)
			sites_next_epoch(l->s, e->ticks);
		if (l->before && e->ticks > l->k->rss.from_ticks) {
			note_before(l);
			set_rss(l, e->ticks);
		}
		set_next(l);
	}
	switch (effect_of(e)) {
	case EFFECT_ALLOC:
		return allocates(l, e);
	case EFFECT_FREE:
		return frees(l, e);
	default:
		return resizes(l, e, other);
	}
}

/* With many stacks, most of the time is spent waiting for memory. */
PREFETCHES look_ahead(const struct loop *l, const struct event *e)
{
	const struct own_blocks *own = &l->run.p->own;

	if (effect_of(e) == EFFECT_ALLOC)
		site_accumulator_prefetch(&l->k->accumulators, e->stack, 1);
	else if (e->block - 1 < own->n)
		site_accumulator_prefetch(&l->k->accumulators, own->block[e->block - 1].stack, 2);
}

#define CHAINS_NEAR 131072u /* fewer blocks' chains stay in the second cache */

/* The block that an event ends, if a realloc returned it. */
ALWAYS_INLINE bool was_resized(const struct loop *l, const struct event *e)
{
	const struct own_blocks *own = &l->run.p->own;

	return e->block - 1 < own->n && own->block[e->block - 1].owner & BLOCK_RESIZED;
}

/* Prefetches the chains of two events: by the time of the nearer one, its number is in the cache.
 */
PREFETCHES look_for_chains(const struct loop *l, const struct event *e)
{
	const struct event *far = window_after(&l->w->window, e, RUN_AHEAD);
	const struct event *near = window_after(&l->w->window, e, RUN_AHEAD / 2);

	growth_prefetch(l->grown, far->block);
	growth_prefetch_chain(&l->a->growth, l->grown, near->block);
	if (__builtin_expect(was_resized(l, near), 0))
		resizes_prefetch(l->resized, near->block);
}

ALWAYS_INLINE size_t take_run(struct analysis *a, struct sites *s, bool full, bool usual,
			      const struct analysis_page *page, struct walk *w, size_t first,
			      size_t n)
{
	const struct event *e = window_at(&w->window, first);
	struct loop l = {
		.w = w, .a = a, .full = full, .usual = usual, .page = page, .s = s, .k = s->work
	};
	const bool ahead = l.k->accumulators.count >= ACCUMULATOR_NEAR;
	const struct event *const from = e, *const end = e + n;
	struct event other;
	bool far, chains;

	if (!begin(&l, e, &other))
		return 0;
	far = ahead || l.run.p->own.n >= RUN_NEAR; /* so it is if there are chains */
	chains = a && l.grown->chain.bytes >= CHAINS_NEAR * sizeof(uint32_t);
	for (; e < end && run_is_of(&l.run, e); e++, l.run.number++) {
		if (far) {
			run_look_ahead(l.run.p, &w->window, e);
			if (ahead)
				look_ahead(&l, window_after(&w->window, e, SITES_AHEAD));
			if (chains)
				look_for_chains(&l, e);
		}
		if (!take_event(&l, e, &other))
			break;
	}
	if (e > from)
		finish(&l, e - 1);
	return (size_t)(e - from);
}

/* Runs loop after loop; nothing stays in registers between them. */
#define TAKE_RUNS(a, s, full, usual, page)                                                      \
	do {                                                                                    \
		size_t i = 0, now = 1;                                                          \
                                                                                                \
		for (; i < n && now; i += now)                                                  \
			now = take_run((a), (s), (full), (usual), (page), w, first + i, n - i); \
		return i;                                                                       \
	} while (0)

static size_t fused_brief(void *analysis, struct walk *w, size_t first, size_t n)
{
	struct analysis *a = analysis;

	TAKE_RUNS(a, &a->sites, false, true, NULL);
}

static size_t fused_full(void *analysis, struct walk *w, size_t first, size_t n)
{
	struct analysis *a = analysis;

	TAKE_RUNS(a, &a->sites, true, true, NULL);
}

size_t analysis_fused_page(void *analysis_page, struct walk *w, size_t first, size_t n)
{
	const struct analysis_page *page = analysis_page;

	TAKE_RUNS(page->analysis, &page->analysis->sites, true, true, page);
}

static size_t filtered_sites(struct sites *s, struct walk *w, size_t first, size_t n)
{
	TAKE_RUNS(NULL, s, false, false, NULL);
}

static size_t usual_sites(struct sites *s, struct walk *w, size_t first, size_t n)
{
	TAKE_RUNS(NULL, s, false, true, NULL);
}

size_t analysis_fused_sites(void *sites, struct walk *w, size_t first, size_t n)
{
	struct sites *s = sites;
	const struct work *k = s->work;

	return k->usual ? usual_sites(s, w, first, n) : filtered_sites(s, w, first, n);
}

/* ---- the passes ---- */

#define PASS(field)                                             \
	{                                                       \
		&field##_pass, offsetof(struct analysis, field) \
	}

static const struct {
	const struct pass_ops *ops;
	size_t offset;
} all_passes[] = {
	PASS(totals),	      PASS(peak),      PASS(never_freed), PASS(sizes),
	PASS(resizes),	      PASS(lifetimes), PASS(compactness), PASS(residency),
	PASS(resident_parts), PASS(maps),      PASS(sites),	  PASS(growth),
};

_Static_assert(sizeof(all_passes) / sizeof(all_passes[0]) == ANALYSIS_PASSES,
	       "analysis.h has the number");
#define OF_STACKS 2 /* the last ones, which need call stacks */

#define UNTOUCHED_TOLD (1u << 20) /* bytes of the peak that were not resident */

void analysis_source_of(struct analysis_source *source, struct trace *t)
{
	*source = (struct analysis_source){
		.damage = trace_damage(t),
		.path = trace_path(t),
		.file_bytes = trace_bytes(t),
		.of_other_tool = trace_source(t) != NULL,
		.untimed = trace_source(t) && !trace_source(t)->timed,
	};
	source->time_error_ns =
	    (uint64_t)(trace_ns(t, trace_header(t)->start_ticks + trace_header(t)->time_error) -
		       trace_ns(t, trace_header(t)->start_ticks));
	walk_input_from_trace(&source->input, t);
	source->input.stacks = trace_stacks(t);
	if (trace_has_totals(t))
		source->whole = t;
}

/* Adds what only events know.  Both arrays may be in any order. */
static void add_epochs(struct sites *to, const struct sites *from)
{
	struct hash index = { 0 };
	size_t i;

	for (i = 0; i < from->count; i++)
		*hash_at(&index, from->brief[i].key) = i + 1;
	for (i = 0; i < to->count; i++) {
		const uint64_t at = hash_get(&index, to->site[i].key);
		struct site site;

		if (!at)
			continue;
		sites_site(from, at - 1, &site);
		memcpy(to->site[i].v.epoch_bytes, site.v.epoch_bytes, sizeof(site.v.epoch_bytes));
		to->site[i].v.left_ticks = site.v.left_ticks;
	}
	hash_release(&index);
}

static void read_whole(struct analysis *a, const struct trace *t)
{
	if (!t)
		return;
	a->whole.options = (struct sites_options){ .filter = SITE_FILTER_ALL };
	a->whole.walk = &a->walk;
	site_totals_read(&a->whole, t, &a->tree);
	if (a->walk.input.reduced_count)
		add_epochs(&a->whole, &a->sites);
	sites_make_brief(&a->whole);
	a->of_totals = !trace_has_events(t);
	if (!a->of_totals)
		return;
	a->never_freed.all = (struct never_freed_process){
		.blocks = a->whole.total.live_calls,
		.bytes = a->whole.total.live_bytes,
		.exec_blocks = a->whole.totals.exec_blocks,
		.exec_bytes = a->whole.totals.exec_bytes,
	};
}

size_t analysis_begin(struct analysis *a, const struct analysis_source *source,
		      struct walk_pass list[static ANALYSIS_PASSES])
{
	const struct stacks *stacks = source->input.stacks;
	size_t i, n;

	memset(a, 0, sizeof(*a));
	a->path = source->path;
	a->file_bytes = source->file_bytes;
	a->time_error_ns = source->time_error_ns;
	a->of_other_tool = source->of_other_tool;
	a->untimed = source->untimed;
	a->damage = source->damage;
	a->has_stacks = stacks && stacks->definitions > 0;
	a->sizes.brief = a->compactness.brief = a->residency.brief = source->brief;
	a->sites.options = (struct sites_options){ .filter = SITE_FILTER_ALL, .brief = true };
	n = a->has_stacks ? ANALYSIS_PASSES : ANALYSIS_PASSES - OF_STACKS;
	for (i = 0; i < n; i++)
		list[i] = (struct walk_pass){ all_passes[i].ops, (char *)a + all_passes[i].offset };
	return n;
}

static void sum_up(struct analysis *a, const struct analysis_source *source)
{
	a->calls = a->totals.all.calls;
	a->threads = a->totals.thread.count;
	tree_make(&a->tree, &source->input, a->walk.last_ticks, a->damage->lost);
	read_whole(a, source->whole);
}

void analysis_end(struct analysis *a, const struct analysis_source *source, const struct walk *w)
{
	a->walk = *w;
	a->walk_is_copy = true;
	sum_up(a, source);
}

int analysis_make(struct analysis *a, const struct analysis_source *source, struct error *err)
{
	struct walk_pass list[ANALYSIS_PASSES];
	const size_t n = analysis_begin(a, source, list);
	struct milestones *milestones;
	int ret;

	walk_init(&a->walk, &source->input, list, n);
	a->walk.no_pages = source->brief;
	if (a->has_stacks && !source->one_by_one) {
		a->walk.fused = source->brief ? fused_brief : fused_full;
		a->walk.fused_self = a;
	}
	a->walk.progress = source->progress;
	a->walk.progress_context = source->progress_context;
	milestones =
	    a->has_stacks && source->milestones ? milestones_open(source->milestones) : NULL;
	milestones_walk(milestones, &a->walk, &a->sites, false);
	if (milestones && !a->walk.resume) {
		a->sites.options.group = source->group;
		a->sites.options.group_context = source->group_context;
	}
	ret = walk_run(&a->walk, err);
	milestones_close(milestones, !ret);
	a->walk.passes = 0; /* the list is ours */
	if (!ret)
		sum_up(a, source);
	return ret;
}

void analysis_release(struct analysis *a)
{
	size_t i;

	for (i = 0; i < ANALYSIS_PASSES; i++)
		pass_release(all_passes[i].ops, (char *)a + all_passes[i].offset);
	if (a->whole.totals.read)
		sites_pass.release(&a->whole);
	if (!a->walk_is_copy)
		walk_release(&a->walk);
	tree_release(&a->tree);
}

/* Returns how much of it was in memory, at most; 0: unknown.  Of a child that was killed, only its
 * parent may know: it can grow after the last sample.  What a parent knows is also that of the
 * child's children, which count themselves. */
static uint64_t most_resident(const struct tree_process *p)
{
	if (p->said_end && p->images < 2 && p->peak_rss_bytes)
		return p->peak_rss_bytes;
	if (p->end == TREE_KILLED && p->parent && !p->waited_rss_bytes)
		return 0;
	return p->waited_rss_bytes > p->peak_rss_bytes ? p->waited_rss_bytes : p->peak_rss_bytes;
}

uint64_t analysis_untouched(const struct analysis *a, uint64_t bytes)
{
	uint64_t rss = rss_swapped(&a->walk.input);

	for (size_t i = 0; i < a->tree.processes; i++) {
		const uint64_t most = most_resident(&a->tree.process[i]);

		if (!most)
			return 0;
		rss += most;
	}
	return rss && bytes > rss + rss / 8 && bytes - rss >= UNTOUCHED_TOLD ? bytes - rss : 0;
}

const struct sites *analysis_sites(const struct analysis *a)
{
	const bool missing = a->of_totals || a->walk.input.reduced_count;

	return missing && a->whole.totals.read ? &a->whole : &a->sites;
}

bool analysis_interrupted(const struct analysis *a)
{
	return tree_left_open(&a->tree, &a->walk.heap, 0);
}

bool analysis_is_cut(const struct analysis *a)
{
	return a->tree.lost_all || a->tree.deepbinds || trace_lacks_events(a->damage);
}

bool analysis_knows_rounding(const struct analysis *a)
{
	return !a->of_other_tool && a->sizes.total.waste;
}

bool analysis_knows_live(const struct analysis *a)
{
	return !a->of_totals && !a->walk.input.reduced_count &&
	       !a->walk.input.header->dropped_ticks;
}
