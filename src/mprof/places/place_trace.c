// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * place_trace.c - places of the recorded run: the heap's notes, made into
 * births and ends of one process's own blocks.
 */
#include "place_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../heap/beside.h"
#include "../heap/event_run.h"
#include "../pass/array.h"
#include "../pass/walk.h"
#include "../util/alloc.h"
#include "../util/large.h"
#include "place_sinks.h"

#define STEADY 100 /* a reading of pages is valid while R moves by at most this part */

/* ---- the walk ---- */

/*
 * Pages in memory, read while the program ran.  They are passed on when the reading is over, and
 * only if the size of the heap hardly changed meanwhile: otherwise they are useless.
 */
struct held {
	struct place_range *range; /* NULL if none is held */
	size_t n;
	struct place_sample sample;
	uint64_t until; /* ticks */
};

/* The last block that a thread passed to realloc. */
struct resized {
	struct place_block block; /* addr 0 = unknown */
	uint32_t number;
};

struct recorded {
	const struct place_sink *to;
	struct place_plan plan;
	struct walk *walk;
	struct trace *trace;
	struct trace_program of;
	uint64_t first_ns;
	struct beside at;   /* for each live block, an index of block[] */
	struct large block; /* struct place_block; addr of an unused one: the next one + 1 */
	size_t blocks;
	uint64_t unused; /* index + 1; 0 = none */
	uint64_t op, next_frame;
	uint64_t ticks;	      /* of the event that is applied */
	uint32_t image;	      /* the running image */
	struct array resized; /* struct resized, by thread of the heap */
	const struct mprof_sample *sample;
	size_t samples, next_sample;
	uint64_t next_ticks;	  /* no earlier event makes a sample or a held reading due */
	struct place_sample last; /* sample */
	uint64_t live, low, high; /* bytes asked for; the least and the most of the held reading */
	struct held held;
	uint8_t *ones; /* least and most requested bytes during the held reading; live ones now */
	size_t ones_room;
};

static uint64_t ns_at(const struct recorded *r, uint64_t ticks)
{
	const int64_t ns = trace_ns(r->trace, ticks), first = (int64_t)r->first_ns;

	return ns > first ? (uint64_t)ns - (uint64_t)first : 0;
}

static struct place_block *block_at(const struct recorded *r, uint32_t index)
{
	return (struct place_block *)r->block.item + index;
}

static struct place_block *new_block(struct recorded *r, uint32_t *index)
{
	if (r->unused) {
		*index = (uint32_t)r->unused - 1;
		r->unused = block_at(r, *index)->addr;
		__builtin_prefetch(block_at(r, (uint32_t)r->unused - 1), 1);
		return block_at(r, *index);
	}
	*index = (uint32_t)r->blocks++;
	return large_at(&r->block, *index, sizeof(struct place_block));
}

static void lives(struct recorded *r, uint64_t bytes)
{
	r->live = bytes;
	if (bytes < r->low)
		r->low = bytes;
	if (bytes > r->high)
		r->high = bytes;
}

static void end_at(struct recorded *r, uint32_t index)
{
	struct place_block *b = block_at(r, index);

	PLACES_TELL(r->to, end, b, r->op, ns_at(r, r->ticks));
	lives(r, r->live - b->size);
	b->addr = r->unused;
	r->unused = index + 1ull;
}

/* Ends the block with this number of the heap, unless it has ended already. */
static void ends(struct recorded *r, uint32_t number, uint64_t addr)
{
	const uint32_t index = beside_take(&r->at, number, addr);

	if (index != BESIDE_NONE)
		end_at(r, index);
}

static void begins(struct recorded *r, uint32_t number, const struct place_block *from)
{
	struct place_block *b;
	uint32_t index;

	ends(r, number, from->addr);
	b = new_block(r, &index);
	beside_put(&r->at, number, from->addr, index);
	*b = *from;
	b->slot = index;
	PLACES_TELL(r->to, begin, b);
	lives(r, r->live + b->size);
}

/* index: of the heap */
static uint32_t thread_of(const struct recorded *r, uint32_t index)
{
	const uint32_t number = r->walk->heap.thread[index].number;

	return number ? number - 1 : 0;
}

static struct place_block place_of(const struct recorded *r, const struct event *e, uint32_t thread)
{
	return (struct place_block){
		.addr = e->addr,
		.size = e->size,
		.usable = e->usable > e->size ? e->usable : e->size,
		.op = r->op,
		.ns = ns_at(r, e->ticks),
		.site = e->stack,
		.thread = thread,
	};
}

/* Ends the block, but keeps it, because realloc may fail. */
static void realloc_begins(struct recorded *r, const struct event *e, const struct note *n)
{
	struct resized *kept = array_at(&r->resized, n->thread, sizeof(*kept));
	const uint32_t index = beside_take(&r->at, n->taken, e->addr);

	kept->block.addr = 0;
	if (index == BESIDE_NONE)
		return;
	kept->block = *block_at(r, index);
	kept->number = n->taken;
	end_at(r, index);
}

static void restored(struct recorded *r, const struct note *n)
{
	const struct resized *kept = array_at(&r->resized, n->thread, sizeof(*kept));

	if (kept->block.addr == n->old.addr)
		begins(r, kept->number, &kept->block);
}

static void apply(struct recorded *r, const struct event *e, const struct note *n)
{
	struct place_block b;

	r->ticks = e->ticks;
	if (e->kind == EVENT_REALLOC_BEGIN) {
		realloc_begins(r, e, n);
		return;
	}
	if (n->did & NOTE_DROPPED) {
		ends(r, n->taken, e->addr);
		r->op++;
	}
	if (e->kind == EVENT_CALL && (n->did & NOTE_ENDED))
		ends(r, n->ended, n->old.addr);
	if (n->did & NOTE_BEGAN) {
		b = place_of(r, e, thread_of(r, n->thread));
		begins(r, e->block, &b);
	}
	if ((n->did & NOTE_RESTORED) && !(n->did & NOTE_ENDED))
		restored(r, n);
	r->op += program_ops(e, n) - ((n->did & NOTE_DROPPED) != 0);
}

/* ---- samples and frames ---- */

static void give_samples(struct recorded *r, uint64_t ticks)
{
	const struct mprof_sample *s;

	for (; r->next_sample < r->samples; r->next_sample++) {
		s = &r->sample[r->next_sample];
		if (s->ticks > ticks)
			return;
		r->last = (struct place_sample){
			.op = r->op,
			.ns = ns_at(r, s->ticks),
			.rss = s->rss,
			.anon = s->rss_anon,
		};
		PLACES_TELL(r->to, sample, &r->last);
	}
}

static void give_frames(struct recorded *r, uint64_t ticks)
{
	struct place_sample s;

	while (r->op >= r->next_frame) {
		s = r->last;
		s.op = r->next_frame;
		s.ns = ns_at(r, ticks);
		r->next_frame = place_next_frame(&r->plan, r->of.ops, r->of.peak_op, r->next_frame);
		PLACES_TELL(r->to, frame, &s, NULL, 0);
	}
}

static void give_held(struct recorded *r)
{
	struct held *h = &r->held;

	h->sample.op = r->op;
	if (h->range && r->high - r->low <= r->high / STEADY)
		PLACES_TELL(r->to, frame, &h->sample, h->range, h->n);
	free(h->range);
	h->range = NULL;
}

/* Gives what is due before an event at this time. */
static __attribute__((noinline)) void give_due(struct recorded *r, uint64_t ticks)
{
	if (r->held.range && ticks > r->held.until)
		give_held(r);
	give_samples(r, ticks);
	r->next_ticks = r->next_sample < r->samples ? r->sample[r->next_sample].ticks : UINT64_MAX;
	if (r->held.range && r->held.until < r->next_ticks)
		r->next_ticks = r->held.until + 1;
}

/* Events: by then, memory has responded. */
#define AHEAD	    8u
#define AHEAD_FIRST 16u

/* first, then: the numbers of blocks that may end then; 0: none */
PREFETCHES look_ahead(const struct recorded *r, uint32_t first, uint32_t then)
{
	uint32_t index;

	beside_prefetch(&r->at, first);
	index = then ? beside_word(&r->at, then) : BESIDE_NONE;
	if (index == BESIDE_NONE)
		return;
	__builtin_prefetch(block_at(r, index), 1);
	PLACES_TELL(r->to, soon, index);
}

static void recorded_batch(void *self, const struct batch *b)
{
	struct recorded *r = self;
	const struct event *e = b->event;
	const struct note *n = b->note;
	size_t i;

	for (i = 0; i < b->count; i++, e++, n++) {
		if (e->process != r->of.number || r->image != r->of.image)
			continue;
		look_ahead(r, i + AHEAD_FIRST < b->count ? n[AHEAD_FIRST].ended : 0,
			   i + AHEAD < b->count ? n[AHEAD].ended : 0);
		if (e->ticks >= r->next_ticks)
			give_due(r, e->ticks);
		apply(r, e, n);
		give_frames(r, e->ticks);
	}
}

/* Does what apply() does, without a note.  False if the event needs a decision. */
ALWAYS_INLINE bool take_event(struct recorded *r, struct run *run, const struct event *e,
			      uint32_t thread)
{
	struct place_block b;
	struct run_did d;
	struct note n;

	r->ticks = e->ticks;
	switch (effect_of(e)) {
	case EFFECT_ALLOC:
		if (!run_allocates(run, e))
			return false;
		b = place_of(r, e, thread);
		begins(r, e->block, &b);
		r->op++;
		return true;
	case EFFECT_FREE:
		if (!run_frees(run, e, &d))
			return false;
		if (!d.ends)
			return true;
		run_over(run, &d);
		ends(r, d.ended, d.old.addr);
		r->op++;
		return true;
	default:
		if (!run_event(run, e, &d))
			return false;
		n.thread = run->thread;
		n.did = (uint16_t)d.did;
		n.ended = d.ended;
		n.taken = d.taken;
		apply(r, e, &n);
		return true;
	}
}

/* The events of a run of the chosen program.  Returns the first one that is not. */
static const struct event *take_chosen(struct recorded *r, struct run *run, const struct event *e,
				       const struct event *end)
{
	const struct window *w = &r->walk->window;
	const uint32_t thread = thread_of(r, run->thread);
	const bool far = run->p->own.n >= RUN_NEAR;

	for (; e < end && run_is_of(run, e); e++, run->number++) {
		if (far) {
			run_look_ahead(run->p, w, e);
			look_ahead(r, window_after(w, e, AHEAD_FIRST)->block,
				   window_after(w, e, AHEAD)->block);
		}
		if (__builtin_expect(e->ticks >= r->next_ticks, 0))
			give_due(r, e->ticks);
		if (!take_event(r, run, e, thread))
			break;
		if (__builtin_expect(r->op >= r->next_frame, 0))
			give_frames(r, e->ticks);
	}
	return e;
}

/* The events of a run of another program, whose heap must be known for its children's. */
static const struct event *take_other(struct run *run, const struct event *e,
				      const struct event *end)
{
	struct run_did d;

	for (; e < end && run_is_of(run, e) && run_event(run, e, &d); e++, run->number++)
		if (d.ends)
			run_over(run, &d);
	return e;
}

static size_t take_run(void *recorded, struct walk *w, size_t first, size_t n)
{
	struct recorded *r = recorded;
	const struct event *const from = window_at(&w->window, first), *end = from + n, *e;
	struct live rest;
	struct run run;

	if (!run_begin(&run, &w->heap, from, &rest))
		return 0;
	run.pages = false; /* a constant for the compiler */
	e = from->process == r->of.number && r->image == r->of.image
		? take_chosen(r, &run, from, end)
		: take_other(&run, from, end);
	run_end(&run, &rest);
	return (size_t)(e - from);
}

/* Most events are in runs (event_run.h); recorded_batch() gets the others. */
static size_t take_runs(void *recorded, struct walk *w, size_t first, size_t n)
{
	return walk_take_runs(take_run, recorded, w, first, n);
}

static void recorded_gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
			  uint64_t ticks)
{
	struct recorded *r = self;

	if (h->process[process]->number == r->of.number)
		give_held(r);
	r->image += why == GONE_EXEC && h->process[process]->number == r->of.number;
}

/* Limits the pages of a run, so that a damaged trace cannot request unlimited memory. */
#define PAGES_MAX (1ull << 26)

static uint64_t pages_of(const struct mprof_page_run *run, uint64_t factor)
{
	return run->count < PAGES_MAX / factor ? run->count * factor : PAGES_MAX;
}

/* Makes enough bits for every run of pages. */
static void make_ones(struct recorded *r, const struct trace_residency *sampled, uint64_t factor)
{
	uint64_t most = 0, i;

	for (i = 0; i < sampled->runs; i++)
		if (pages_of(&sampled->run[i], factor) > most)
			most = pages_of(&sampled->run[i], factor);
	most = most / 8 + 1;
	if (most <= r->ones_room)
		return;
	GROW(r->ones, most, r->ones_room);
	memset(r->ones, 0xff, r->ones_room);
}

static void recorded_residency(void *self, const struct heap *h, uint32_t process,
			       const struct trace_residency *sampled)
{
	struct recorded *r = self;
	const uint64_t factor = h->page_size > 4096 ? h->page_size / 4096 : 1;
	struct place_range *range;
	struct place_sample s = r->last;
	uint64_t pages = 0, i;

	if (h->process[process]->number != r->of.number || r->image != r->of.image ||
	    !sampled->runs || r->plan.only_planned)
		return;
	give_held(r); /* its bitmap may move */
	make_ones(r, sampled, factor);
	range = must_calloc(sampled->runs, sizeof(*range));
	for (i = 0; i < sampled->runs; i++) {
		range[i] = (struct place_range){
			.addr = sampled->run[i].first * factor * 4096,
			.pages = pages_of(&sampled->run[i], factor),
			.resident = r->ones,
		};
		pages += range[i].pages;
	}
	s.ns = ns_at(r, sampled->head->ticks_before);
	s.rss = sampled->head->rss;
	s.anon = pages * 4096;
	r->low = r->high = r->live;
	r->held = (struct held){ range, sampled->runs, s, sampled->head->ticks_after };
	r->next_ticks = 0;
}

/* ---- the whole ---- */

static void tell_progress(void *context, const struct walk *w)
{
	struct recorded *r = context;

	r->plan.progress(r->plan.progress_context, r->op, r->of.ops);
}

static bool has_residency(struct trace *t, uint32_t process)
{
	const struct trace_residency *sampled;
	size_t n = trace_residencies(t, &sampled), i;

	for (i = 0; i < n; i++)
		if (sampled[i].process == process && sampled[i].runs)
			return true;
	return false;
}

static bool is_forked(const struct trace *t, uint32_t process)
{
	const struct trace_fact *fact;
	const size_t n = trace_facts(t, &fact);

	for (size_t i = 0; i < n; i++)
		if (fact[i].process == process && fact[i].fact->what == MPROF_FACT_START)
			return fact[i].fact->fork_ticks != 0;
	return false;
}

static void tell_start(struct recorded *r, struct trace *t)
{
	const struct place_start s = {
		.title = "recorded",
		.ops = r->of.ops,
		.ns = ns_at(r, r->of.last_ticks),
		.begin_ns = (int64_t)r->first_ns,
		.peak_op = r->of.peak_bytes ? r->of.peak_op : UINT64_MAX,
		.peak_bytes = r->of.peak_bytes,
		.has_residency = has_residency(t, r->of.number),
		.earlier =
		    trace_header(t)->dropped_ticks || (!r->of.image && is_forked(t, r->of.number)),
	};

	PLACES_TELL(r->to, start, &s);
}

static void recorded_release(struct recorded *r)
{
	beside_release(&r->at);
	large_release(&r->block);
	array_release(&r->resized);
	free(r->ones);
	free(r->held.range);
}

static void recorded_start(void *self, struct walk *w)
{
	struct recorded *r = self;

	r->walk = w;
	w->cancel = r->plan.cancel;
	w->fused = r->plan.one_by_one ? NULL : take_runs;
	w->fused_self = r;
	r->first_ns = (uint64_t)trace_ns(r->trace, r->of.first_ticks);
	r->samples = trace_samples(r->trace, r->of.number, &r->sample);
	/* Pass only samples of its own time, and for the first program those before its first
	 * call. */
	while (r->of.image && r->next_sample < r->samples &&
	       r->sample[r->next_sample].ticks < r->of.first_ticks)
		r->next_sample++;
	r->next_frame = place_next_frame(&r->plan, r->of.ops, r->of.peak_op, 0);
	tell_start(r, r->trace);
}

static const struct pass_ops recorded_ops = {
	.name = "places",
	.start = recorded_start,
	.batch = recorded_batch,
	.gone = recorded_gone,
	.residency = recorded_residency,
};

int place_trace_program(struct trace *t, const struct trace_program *of,
			const struct place_plan *plan, const struct place_sink *to,
			struct error *err)
{
	struct recorded r = {
		.trace = t,
		.of = *of,
		.to = to,
		.plan = plan ? *plan : (struct place_plan){ .at = PLACE_NOWHERE },
	};
	int code;

	if (!of->ops)
		return fail(err, -ENOENT, "'%s': no block was allocated or freed", trace_path(t));
	code = walk_trace(t, &(struct walk_pass){ &recorded_ops, &r },
			  r.plan.progress ? tell_progress : NULL, &r, err);
	if (!code) {
		give_held(&r);
		give_samples(&r, r.of.end_ticks);
		PLACES_TELL(r.to, finish);
	}
	recorded_release(&r);
	return code;
}

int place_trace(struct trace *t, uint32_t process, const struct place_plan *plan,
		const struct place_sink *to, struct error *err)
{
	struct trace_program of;
	const int code = programs_pick(t, process, &of, err);

	return code ? code : place_trace_program(t, &of, plan, to, err);
}
