// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * sites.c - counts figures for every call stack.
 *
 * The peak of the run moves with nearly every call of a growing program, so a
 * site's share of it is not copied when it moves: peaks are numbered, and each
 * share stores the number of its peak; a later number means that nothing of the
 * site was counted yet.  A block that ends was live at the latest peak if it
 * began no later; blocks that outlive the walk end with it.
 *
 * Epochs are kept as differences until finish.
 */
#include "../util/order.h"
#include "../util/alloc.h"
#include "../util/rank.h"
#include "sites_count.h"

#include <stdlib.h>

/* ---- before the walk ---- */

/*
 * A program that allocates nothing more still runs: growth ends there, but not
 * the run. A program that exits records the time: the time until its parent has
 * waited for it does not count.
 */
static uint64_t end_of_run(const struct walk *w)
{
	uint64_t end = walk_end_ticks(&w->input, &w->until);
	const struct mprof_fact *f;
	size_t i;

	for (i = 0; i < w->input.fact_count; i++) {
		f = w->input.facts[i].fact;
		if (f->ticks > end && (f->what != MPROF_FACT_WAITED || f->signal))
			end = f->ticks;
	}
	return w->until.set && w->until.ticks < end ? w->until.ticks : end;
}

static void divide_run(struct sites *s, const struct walk *w)
{
	const struct mprof_file_header *h = w->input.header;
	const uint64_t start =
	    h->dropped_ticks > h->start_ticks ? h->dropped_ticks : h->start_ticks;
	const uint64_t end = end_of_run(w);
	struct work *k = s->work;
	const unsigned __int128 span = end > start ? end - start : 0;

	for (size_t i = 0; i <= SITE_EPOCHS; i++)
		s->epoch_ticks[i] = start + (uint64_t)(span * i / SITE_EPOCHS);
	if (span > SITE_EPOCHS)
		k->epoch_share = (uint64_t)(((unsigned __int128)SITE_EPOCHS << 64) / span);
}

static uint64_t look_back(const struct sites_options *o)
{
	const uint64_t events = o->temporary_events ? o->temporary_events : SITE_TEMPORARY_EVENTS;

	return events < SITE_TEMPORARY_MOST ? events : SITE_TEMPORARY_MOST;
}

bool sites_are_usual(const struct sites_options *o)
{
	const struct site_filter *f = &o->filter;

	return site_filter_is_plain(f) && !f->lifetime_min_ns && f->lifetime_max_ns == UINT64_MAX &&
	       o->part == SITE_WHOLE && look_back(o) == 1 && !o->temporary_ns;
}

static void start(void *self, struct walk *w)
{
	struct sites *s = self;
	struct site_filter *f = &s->options.filter;
	struct work *k = must_calloc(1, sizeof(*k));

	s->walk = w;
	s->work = k;
	site_accumulators_init(&k->accumulators, &s->options,
			       w->input.stacks ? w->input.stacks->nodes : 0);
	k->plain = site_filter_is_plain(f);
	k->all_lifetimes = !f->lifetime_min_ns && f->lifetime_max_ns == UINT64_MAX;
	k->look_back = look_back(&s->options);
	k->usual = sites_are_usual(&s->options);
	if (k->look_back > 1) /* the fused loop knows only the last call */
		w->fused = NULL;
	if (!s->options.until.set && f->process)
		rss_find_process(&k->rss, &w->input, f->process);
	else if (!s->options.until.set)
		rss_find(&k->rss, &w->input);
	s->rss = (struct site_snapshot){ .ticks = k->rss.from_ticks,
					 .rss = k->rss.rss,
					 .process = k->rss.process };
	divide_run(s, w);
	k->epoch_ends = s->epoch_ticks[1];
}

/* ---- which blocks count ---- */

bool site_filter_passes(const struct site_filter *f, const struct walk *w, const struct block *b,
			uint32_t process)
{
	const struct heap *h = &w->heap;
	int64_t ns;

	if (f->process && h->process[process]->number != f->process)
		return false;
	if (!walk_chooses(&w->input, &f->thread, h->thread[b->owner & BLOCK_THREAD].number))
		return false;
	if (b->size < f->size_min || b->size > f->size_max)
		return false;
	if (f->functions && !(f->functions >> (b->fn & 31) & 1))
		return false;
	ns = walk_ns(w, b->start);
	return ns >= f->from_ns && ns <= f->to_ns;
}

uint64_t sites_part(const struct sites *s, const struct block *b)
{
	switch (s->options.part) {
	case SITE_BY_THREAD:
		return s->walk->heap.thread[b->owner & BLOCK_THREAD].number;
	case SITE_BY_PROCESS:
		return s->walk->heap.process[s->walk->heap.thread[b->owner & BLOCK_THREAD].process]
		    ->number;
	case SITE_BY_SIZE:
		return b->size;
	default:
		return 0;
	}
}

/* ---- a block ends ---- */

/* The epoch of a time; after all of them, the last one.  A search would be slow, as each step of it
 * waits for the one before. */
static inline uint64_t epoch_of(const struct sites *s, uint64_t ticks)
{
	const struct work *k = s->work;
	const uint64_t since = ticks > s->epoch_ticks[0] ? ticks - s->epoch_ticks[0] : 0;
	uint64_t epoch = (uint64_t)((unsigned __int128)since * k->epoch_share >> 64);

	epoch = epoch < SITE_EPOCHS ? epoch : SITE_EPOCHS - 1;
	while (epoch + 1 < SITE_EPOCHS && ticks >= s->epoch_ticks[epoch + 1])
		epoch++; /* seldom: the share is rounded */
	return epoch;
}

static __attribute__((noinline)) void add_first_epochs(const struct sites *s,
						       struct accumulator *accumulator,
						       uint64_t began, uint64_t bytes,
						       enum ending how)
{
	site_accumulator_new_rare(&((struct work *)s->work)->accumulators, accumulator);
	sites_add_epochs(s, accumulator, began, bytes, how);
}

/* Adds to the epochs at whose ends the block was live.  It calls another function only at its end,
 * so it need not save registers. */
void sites_add_epochs(const struct sites *s, struct accumulator *accumulator, uint64_t began,
		      uint64_t bytes, enum ending how)
{
	const struct work *k = s->work;
	struct accumulator_rare *rare;

	if (how == GONE_WITH_EXEC || (how != NEVER_FREED && began >= s->epoch_ticks[k->epoch]))
		return;
	if (__builtin_expect(!accumulator->rare, 0)) {
		add_first_epochs(s, accumulator, began, bytes, how);
		return;
	}
	rare = &k->accumulators.rare[accumulator->rare - 1];
	rare->epoch_bytes[epoch_of(s, began)] += bytes;
	if (how != NEVER_FREED)
		rare->epoch_bytes[k->epoch] -= bytes;
}

void sites_add_remains(struct work *k, struct accumulator *accumulator, const struct block *b,
		       enum ending how)
{
	struct accumulator_rare *rare = site_accumulator_rare(&k->accumulators, accumulator);

	if (how == GONE_WITH_EXEC) {
		rare->exec_calls++;
		rare->exec_bytes += b->size;
	} else {
		rare->live_calls++;
		rare->live_bytes += b->size;
		if (!rare->left_ticks || b->start < rare->left_ticks)
			rare->left_ticks = b->start;
	}
}

/* ---- one event ---- */

void sites_next_epoch(const struct sites *s, uint64_t ticks)
{
	struct work *k = s->work;

	while (ticks >= k->epoch_ends && k->epoch + 1 < SITE_EPOCHS)
		k->epoch_ends = s->epoch_ticks[++k->epoch + 1];
	if (ticks >= k->epoch_ends)
		k->epoch_ends = UINT64_MAX; /* the last epoch has no end */
}

struct recent *sites_recent(struct sites *s, uint32_t thread)
{
	struct work *k = s->work;

	return array_at(&k->recent, thread,
			sizeof(struct recent) + k->look_back * sizeof(uint64_t));
}

/* Notes that a realloc replaced one block by another. */
void sites_resized(struct sites *s, struct accumulator *a, const struct event *e,
		   const struct block *old)
{
	struct work *k = s->work;
	struct accumulator_rare *rare = site_accumulator_rare(&k->accumulators, a);

	rare->reallocs++;
	if (old->addr == e->addr)
		return;
	rare->realloc_moved++;
	rare->realloc_bytes += heap_copied(old, e, s->walk->heap.page_size);
}

/*
 * Notes what is live or mapped when the time of the greatest RSS begins, and whenever it reaches
 * that again within it: until then, as far as is known, memory only grew.
 */
void sites_rss_moment(struct sites *s, uint64_t ticks, uint64_t number, bool within)
{
	struct work *k = s->work;

	k->rss_most = k->rss_live + k->rss_mapped + k->rss_break;
	s->rss.mapped = k->rss_mapped;
	s->rss.arena = k->rss_break;
	if (!within)
		return;
	if (ticks <= k->rss.to_ticks)
		k->rss_near = k->rss_most + rss_lag(k->rss.rss);
	k->rss_number++;
	k->rss_event = number;
	s->rss.ticks = ticks;
	s->rss.calls = s->rss.bytes = 0;
}

/*
 * Notes what is live or mapped after the time of the greatest RSS.  The kernel's mark does not show
 * the last few pages, so what still grows when that time ends, by no more than these, belongs to
 * it.
 */
void sites_rss_later(struct sites *s, uint64_t ticks, uint64_t number, uint64_t now)
{
	struct work *k = s->work;

	if (now > k->rss_later)
		k->rss_later = now;
	if (now < k->rss_most || now > k->rss_near)
		k->rss_near = 0;
	else if (now > k->rss_most)
		sites_rss_moment(s, ticks, number, true);
}

static inline bool is_of_rss(const struct sites *s, uint32_t process)
{
	const struct work *k = s->work;

	return k->rss.rss && process == k->rss.process;
}

/* Counts a call of the mmap family. */
static void map_call(struct sites *s, const struct event *e, const struct note *n, uint64_t number)
{
	const struct block b = {
		.size = e->size,
		.start = e->ticks,
		.owner = n->thread & BLOCK_THREAD,
		.stack = e->stack,
		.fn = e->fn,
	};
	struct work *k = s->work;
	struct accumulator *accumulator;
	struct accumulator_rare *rare;

	if (e->error || e->kind != EVENT_CALL)
		return;
	if (n->did & NOTE_MAPPED && is_of_rss(s, e->process)) {
		/* Memory mapped without access may have become accessible since. */
		k->rss_mapped = n->space.bytes[SPACE_MEMORY] + n->space.bytes[SPACE_RESERVED];
		k->rss_break = n->space.moved_break > 0 ? (uint64_t)n->space.moved_break : 0;
		note_rss(s, e->ticks, number);
	}
	if (e->fn == MPROF_FN_MUNMAP || (e->fn >= MPROF_FN_BRK && e->addr <= e->usable) ||
	    !passes(s, &b, n->process, false))
		return;
	accumulator = accumulator_of(s, &b, false);
	site_accumulator_called(accumulator, e->ticks);
	rare = site_accumulator_rare(&k->accumulators, accumulator);
	rare->map_calls++;
	rare->map_bytes += e->size;
}

/* With many stacks, most of the time is spent waiting for memory. */
PREFETCHES look_ahead(const struct work *k, const struct batch *b, size_t i)
{
	const struct note *n = &b->note[i];

	if (n->did & NOTE_ENDED)
		site_accumulator_prefetch(&k->accumulators, n->old.stack, 2);
	else if (n->did & NOTE_BEGAN)
		site_accumulator_prefetch(&k->accumulators, b->event[i].stack, 1);
}

static void batch(void *self, const struct batch *b)
{
	struct sites *s = self;
	struct work *k = s->work;
	struct recent *recent = NULL;
	const uint32_t of_rss = k->rss.rss ? k->rss.process : 0; /* processes count from 1 */
	const bool ahead = k->accumulators.count >= ACCUMULATOR_NEAR;
	const struct event *e = b->event;
	const struct note *n = b->note;
	uint32_t thread = 0;
	struct live all;
	size_t i;

	for (i = 0; i < b->count; i++, e++, n++) {
		if (ahead && i + SITES_AHEAD < b->count)
			look_ahead(k, b, i + SITES_AHEAD);
		if (e->ticks >= k->epoch_ends)
			sites_next_epoch(s, e->ticks);
		if (!b->plain && !event_is_call(e)) {
			if (mprof_fn_maps(e->fn))
				map_call(s, e, n, b->number + i);
			continue;
		}
		if (!recent || n->thread != thread) {
			thread = n->thread;
			recent = sites_recent(s, thread);
		}
		if (n->did & (NOTE_ENDED | NOTE_DROPPED))
			block_ends(
			    s,
			    &(struct end){ .block = &n->old,
					   .process = n->process,
					   .number = e->process,
					   .ticks = e->ticks,
					   .how = FREED,
					   .ns = walk_lifetime_ns(s->walk, &n->old, e->ticks),
					   .foreign = (n->old.owner & BLOCK_THREAD) != n->thread,
					   .resized = e->kind != EVENT_CALL,
					   .temporary = e->kind == EVENT_CALL &&
							is_recent(k, recent, &n->old) },
			    false);
		note_call(k, recent, n->did & NOTE_BEGAN ? e->addr : 0);
		if (n->did & NOTE_BEGAN) {
			block_begins(s, e, n->process, n->thread,
				     n->did & NOTE_HAD_OLD ? &n->old : NULL, false);
			if (b->grew) {
				all = note_all(n);
				note_peak(s, e, &n->own, &all, b->number + i);
			}
		}
		if (of_rss == e->process && n->did & (NOTE_BEGAN | NOTE_ENDED)) {
			k->rss_live = n->own.bytes;
			note_rss(s, e->ticks, b->number + i);
		}
	}
}

/* Counts blocks that are live where the walk ends: they were live at the requested time. */
static void at_moment(struct sites *s, const struct heap_process *p)
{
	const uint32_t process = s->options.filter.process;
	struct work *k = s->work;

	k->peak_number = 1;
	k->peak_event = s->walk->events;
	s->peak.ticks = s->walk->last_ticks;
	if (process && process != p->number)
		return;
	s->peak.bytes += p->live.bytes;
	s->peak.calls += p->live.blocks;
}

static enum ending ending_of(struct sites *s, enum process_gone why, uint64_t ticks)
{
	const struct work *k = s->work;

	if (why == GONE_EXEC)
		return GONE_WITH_EXEC;
	if (why == GONE_ENDED && ticks >= k->epoch_ends)
		sites_next_epoch(s, ticks);
	return why == GONE_ENDED && k->epoch + 1 < SITE_EPOCHS ? LEFT : NEVER_FREED;
}

static void gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	struct sites *s = self;
	struct work *k = s->work;
	struct heap_round round = { 0 };
	const struct block *b;
	const enum ending how = k ? ending_of(s, why, ticks) : NEVER_FREED;

	if (k && s->options.until.set && why == GONE_TRACE_ENDS)
		at_moment(s, h->process[process]);
	while (k && (b = heap_next_block(h->process[process], &round)))
		if (!(b->owner & BLOCK_INHERITED))
			block_ends(s,
				   &(struct end){
				       .block = b,
				       .process = process,
				       .number = h->process[process]->number,
				       .ticks = why == GONE_EXEC ? ticks : UINT64_MAX,
				       .how = how,
				       .ns = UINT64_MAX,
				   },
				   false);
	if (why == GONE_EXEC && is_of_rss(s, h->process[process]->number))
		k->rss_live = k->rss_mapped = k->rss_break = 0;
}

/* ---- after the walk ---- */

uint64_t sites_kept_until(const struct walk *w, uint32_t stack)
{
	const struct trace_reduced *r = w->input.reduced;
	const size_t at = FIRST_WHERE(i, w->input.reduced_count, r[i].node >= stack);
	int64_t ns;

	if (at == w->input.reduced_count || r[at].node != stack)
		return 0;
	ns = walk_ns(w, r[at].ticks);
	return ns > 0 ? (uint64_t)ns : 1;
}

/* What decides the order of sites, apart from their figures, which are ten times as long. */
struct place {
	uint64_t bytes, part;
	uint32_t stack;
};

/* Returns the indices of places by descending bytes, then by stack and part. */
static struct ranked *order(const struct place *place, size_t n)
{
	struct ranked *r = must_malloc((n + 1) * sizeof(*r));
	size_t i;

	for (i = 0; i < n; i++)
		r[i] = (struct ranked){ place[i].part, i };
	rank(r, n);
	for (i = 0; i < n; i++)
		r[i].key = place[r[i].item].stack;
	rank(r, n);
	for (i = 0; i < n; i++)
		r[i].key = ~place[r[i].item].bytes;
	rank(r, n);
	return r;
}

#define ROWS_AHEAD 4u

PREFETCHES prefetch(const struct accumulator *a)
{
	for (size_t line = 0; line < ACCUMULATOR_LINES; line++)
		__builtin_prefetch((const char *)a + line * ACCUMULATOR_LINE);
}

void sites_make_rows(struct sites *s)
{
	struct work *k = s->work;
	const struct site_accumulators *t = &k->accumulators;
	const struct accumulator *a = t->accumulator;
	const size_t n = t->count;
	struct place *place = must_malloc((n + 1) * sizeof(*place));
	uint32_t *from = must_malloc((n + 1) * sizeof(*from));
	struct ranked *ranked;

	k->has_rows = true;
	for (size_t i = 0; i < n; i++) {
		if (!a[i].calls && !(a[i].rare && t->rare[a[i].rare - 1].map_calls))
			continue;
		place[s->count] = (struct place){ a[i].bytes, a[i].part, a[i].stack };
		from[s->count++] = (uint32_t)i;
	}
	ranked = order(place, s->count);
	free(place);
	site_rows_room(&k->rows, s->count);
	if (s->options.brief)
		s->brief = must_malloc((s->count + 1) * sizeof(*s->brief));
	for (size_t i = 0; i < s->count; i++) {
		const struct accumulator *x = &a[from[ranked[i].item]];
		const size_t ahead = i + ROWS_AHEAD < s->count ? i + ROWS_AHEAD : i;
		struct site site = { .key = x->stack,
				     .group = x->group & ~GROUP_SHARED,
				     .part = x->part };

		prefetch(&a[from[ranked[ahead].item]]);
		site_accumulator_values(t, x, k->peak_number, k->rss_number, &site.v);
		site.v.kept_until_ns = sites_kept_until(s->walk, site.key);
		site_values_add(&s->total, &site.v);
		site_rows_add(&k->rows, i, &site);
		if (s->brief)
			site_brief_fill(&s->brief[i], &site);
	}
	free(ranked);
	free(from);
}

/* If the walk began at the end of another one, its rows have that one's groups. */
static inline uint32_t group_of(const struct work *k, const struct site *site)
{
	const uint32_t *by_stack = k->groups.item;

	if (!k->groups.count)
		return site->group;
	return site->key < k->groups.count ? by_stack[site->key] : 0;
}

/* Marks groups that options.only does not leave out; NULL: all. */
static bool *wanted(const struct sites *s, const struct work *k)
{
	bool *of = s->options.only ? must_calloc(s->groups + 1, sizeof(*of)) : NULL;
	struct site site;

	for (size_t i = 0; of && i < s->count; i++)
		if (site_rows_has(&k->rows, i, s->options.only - 1, &site))
			of[group_of(k, &site)] = true;
	return of;
}

/* Makes all sites, unless few of them are needed. */
static void put_sites(struct sites *s, struct work *k)
{
	struct site site;
	bool *of;
	size_t n = 0;

	if (s->options.brief)
		return;
	of = wanted(s, k);
	s->bytes = (s->count + 1) * sizeof(*s->site);
	s->site = large_realloc(NULL, 0, s->bytes);
	for (size_t i = 0; i < s->count; i++) {
		site_rows_has(&k->rows, i, 0, &site);
		if (of && !of[group_of(k, &site)])
			continue;
		site_rows_get(&k->rows, i, &s->site[n]);
		s->site[n++].group = group_of(k, &site);
	}
	s->count = n;
	free(of);
	array_release(&k->groups);
	site_rows_release(&k->rows);
	free(k->saved);
	k->saved = NULL;
}

void sites_site(const struct sites *s, size_t i, struct site *site)
{
	const struct work *k = s->work;

	if (s->site)
		*site = s->site[i];
	else
		site_rows_get(&k->rows, i, site);
}

void sites_take_moments(struct sites *to, const struct sites *from)
{
	const struct sites_options options = to->options;

	*to = *from;
	to->options = options;
	to->site = NULL;
	to->brief = NULL;
	to->local = NULL;
	to->work = NULL;
	to->bytes = 0;
}

void sites_make_brief(struct sites *s)
{
	free(s->brief);
	s->brief = must_malloc((s->count + 1) * sizeof(*s->brief));
	for (size_t i = 0; i < s->count; i++)
		site_brief_fill(&s->brief[i], &s->site[i]);
}

static void finish_rss(struct sites *s, const struct walk *w)
{
	const struct work *k = s->work;
	const struct rss_moment *r = &k->rss;

	if (!r->rss)
		return;
	/* Nothing was allocated in that time: it grew because pages were written to. */
	if (!k->rss_number && r->to_ticks != UINT64_MAX && !r->sampled)
		s->rss.ticks = r->to_ticks;
	s->rss.ns = walk_ns(w, s->rss.ticks);
	s->rss.from_ns = r->from_ticks ? walk_ns(w, r->from_ticks) : 0;
	s->rss.to_ns = r->to_ticks == UINT64_MAX
			   ? INT64_MAX
			   : walk_ns(w, s->rss.ticks > r->to_ticks ? s->rss.ticks : r->to_ticks);
	s->rss.sampled = r->sampled;
	s->rss.unseen = k->rss_later > k->rss_most ? k->rss_later - k->rss_most : 0;
	s->rss.cpu_ns = r->cpu_ns;
	if (r->arena_known)
		s->rss.arena = r->arena;
}

void sites_make_local(struct sites *s)
{
	const struct site_accumulators *t = &((const struct work *)s->work)->accumulators;
	struct accumulator_count c;

	if (s->local)
		return;
	s->groups = t->groups;
	if (!t->count)
		return;
	s->local = must_calloc(t->groups + 1, sizeof(*s->local));
	for (size_t i = 0; i < t->groups; i++) {
		c = site_accumulators_count(t, (uint32_t)i);
		s->local[i] = (struct site_local){ c.most_calls, c.most_bytes };
	}
}

static void finish(void *self, struct walk *w)
{
	struct sites *s = self;
	struct work *k = s->work;

	if (!k->has_rows)
		sites_make_rows(s);
	sites_make_local(s);
	site_accumulators_release(&k->accumulators);
	put_sites(s, k);
	if (w->last_ticks > s->epoch_ticks[SITE_EPOCHS]) /* a program that still runs */
		s->epoch_ticks[SITE_EPOCHS] = w->last_ticks;
	s->peak.ns = s->peak.ticks ? walk_ns(w, s->peak.ticks) : 0;
	finish_rss(s, w);
}

static void release(void *self)
{
	struct sites *s = self;
	struct work *k = s->work;

	if (k) {
		site_accumulators_release(&k->accumulators);
		site_rows_release(&k->rows);
		free(k->saved);
		array_release(&k->recent);
		array_release(&k->groups);
	}
	free(k);
	large_free(s->site, s->bytes);
	free(s->brief);
	free(s->local);
	s->work = NULL;
	s->site = NULL;
	s->brief = NULL;
	s->bytes = 0;
	s->local = NULL;
}

const struct pass_ops sites_pass = {
	.name = "sites",
	.start = start,
	.batch = batch,
	.gone = gone,
	.finish = finish,
	.release = release,
};
