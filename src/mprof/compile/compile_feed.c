// SPDX-License-Identifier: LGPL-3.0-or-later
/* compile_feed.c - compiles the events of a walk as the heap interprets them. */
#include "compile_feed.h"

#include <mprof/functions.h>
#include <stdlib.h>

#include "../heap/beside.h"
#include "../heap/event_run.h"
#include "../pass/array.h"
#include "../trace/functions.h"
#include "compile_parts.h"
#include "compile_resident.h"

#define AHEAD 8 /* events: prefetched memory has arrived by then */

/* By index of the heap. */
struct feed_process {
	uint32_t image;	     /* which it is running */
	uint32_t thread;     /* that called last; 0: none */
	uint64_t inversions; /* before this image */
	struct beside block; /* the compiler's block for each live block */
};

/* A realloc that has begun. */
struct feed_thread {
	uint64_t touched;
	bool has_touched;
	bool given; /* its block may have been freed: it was valid */
};

struct feed {
	struct walk *walk;
	struct compile *to;
	const struct compile_options *options;
	uint32_t image;
	uint32_t page_size;
	struct array process, thread;  /* struct feed_process, struct feed_thread */
	uint64_t start_ticks, ns_mult; /* ns = (ticks - start) * mult / 2^32 */
	struct mprof_play_summary found;
};

static inline uint64_t ns_of(const struct feed *f, uint64_t ticks)
{
	const uint64_t span = ticks > f->start_ticks ? ticks - f->start_ticks : 0;

	return (uint64_t)((unsigned __int128)span * f->ns_mult >> 32);
}

static inline bool is_wanted(const struct feed *f, uint32_t number, const struct feed_process *p)
{
	return f->options->process == COMPILE_ALL ||
	       (number == f->options->process && p->image == f->image);
}

static const uint8_t shape_of[MPROF_FN_MAX] = {
#define MPROF_SHAPED(id, code, name, class, shape) [code] = MPROF_SHAPE_##shape,
#include <mprof/functions.def>
};

static uint64_t align_of(const struct feed *f, const struct event *e)
{
	switch (shape_of[e->fn]) {
	case MPROF_SHAPE_PLAIN:
	case MPROF_SHAPE_COUNT:
	case MPROF_SHAPE_RESIZE:
	case MPROF_SHAPE_RESIZE_COUNT:
		return 0;
	case MPROF_SHAPE_PAGE:
	case MPROF_SHAPE_PAGES:
		return f->page_size;
	default:
		return e->arg;
	}
}

/* ---- calls ---- */

/* Filled where it is: a copy of what was just written makes the processor wait. */
static inline void set_call(struct compile_call *call, const struct feed *f, const struct event *e)
{
	*call = (struct compile_call){
		.ns = ns_of(f, e->ticks),
		.thread = e->thread,
		.process = e->process,
		.fn = e->fn,
	};
}

/* A FREE that the program did not make. */
static __attribute__((noinline)) void mend(struct feed *f, const struct event *e, uint32_t block)
{
	struct compile_call call;

	set_call(&call, f, e);
	call.fn = MPROF_FN_FREE;
	call.mended = true;
	if (block != BESIDE_NONE)
		compile_call(f->to, &call, block, false);
}

/* Allocates a block, and frees `old` unless it is COMPILE_NONE. */
static inline void begins(struct feed *f, struct feed_process *p, const struct event *e,
			  struct compile_call *call, uint32_t old)
{
	call->size = e->size;
	call->site = e->stack;
	call->align = align_of(f, e);
	beside_put(&p->block, e->block, e->addr, compile_call(f->to, call, old, true));
}

ALWAYS_INLINE void allocated(struct feed *f, struct feed_process *p, const struct event *e)
{
	struct compile_call call;

	set_call(&call, f, e);
	begins(f, p, e, &call, COMPILE_NONE);
}

/* The block with this number, or else at this address, was freed. */
ALWAYS_INLINE void freed(struct feed *f, struct feed_process *p, const struct event *e,
			 uint32_t number, uint64_t addr)
{
	const uint32_t block = beside_take(&p->block, number, addr);
	struct compile_call call;

	if (__builtin_expect(block == BESIDE_NONE, 0))
		return;
	set_call(&call, f, e);
	call.has_touched = event_touched(e, &call.touched);
	compile_call(f->to, &call, block, false);
}

static void freed_nothing(struct feed *f, const struct event *e, const struct note *n)
{
	if (!e->addr)
		f->found.null_frees++;
	else if (n->problem != HEAP_UNMATCHED_FREE + 1)
		f->found.inherited_frees++;
}

static void realloc_begins(struct feed_thread *t, const struct event *e, const struct note *n)
{
	t->has_touched = event_touched(e, &t->touched);
	t->given = e->addr && !n->problem;
}

static void realloc_ends(struct feed *f, struct feed_process *p, struct feed_thread *t,
			 const struct event *e, const struct note *n)
{
	struct compile_call call;
	uint32_t old = BESIDE_NONE;

	set_call(&call, f, e);
	if (n->did & NOTE_INHERITED || (t->given && !(n->did & NOTE_HAD_OLD)))
		f->found.inherited_frees++;
	t->given = false;
	f->found.failed += !e->addr && e->size;
	if (n->did & NOTE_ENDED) {
		old = beside_take(&p->block, n->ended, n->old.addr);
		if (n->did & NOTE_RESTORED) {
			mend(f, e, old);
			return;
		}
		call.touched = t->touched;
		call.has_touched = t->has_touched;
		call.copied = heap_copied(&n->old, e, f->page_size) > 0;
	}
	if (n->did & NOTE_BEGAN)
		begins(f, p, e, &call, old);
	else if (old != BESIDE_NONE)
		compile_call(f->to, &call, old, false);
}

static void one_call(struct feed *f, struct feed_process *p, struct feed_thread *t,
		     const struct event *e, const struct note *n)
{
	const unsigned class = e->fn < MPROF_FN_MAX ? function_class[e->fn] : MPROF_CLASS_MAP;

	f->found.unknown_frees += n->problem == HEAP_UNMATCHED_FREE + 1;
	f->found.double_allocations += n->problem == HEAP_DOUBLE_ALLOCATION + 1;
	if (n->did & NOTE_DROPPED)
		mend(f, e, beside_take(&p->block, n->taken, e->addr));
	if (class == MPROF_CLASS_FREE) {
		if (n->did & NOTE_ENDED)
			freed(f, p, e, n->ended, n->old.addr);
		else
			freed_nothing(f, e, n);
	} else if (class == MPROF_CLASS_ALLOC) {
		f->found.failed += !e->addr;
		if (n->did & NOTE_BEGAN)
			allocated(f, p, e);
	} else if (class == MPROF_CLASS_REALLOC) {
		if (e->kind == EVENT_REALLOC_BEGIN)
			realloc_begins(t, e, n);
		else
			realloc_ends(f, p, t, e, n);
	}
}

static void control(struct feed *f, const struct event *e)
{
	if (e->control == MPROF_CONTROL_THREAD_CREATE && e->value < UINT32_MAX)
		compile_thread_begin(f->to, (uint32_t)e->value, e->thread);
	else if (e->control == MPROF_CONTROL_THREAD_END)
		compile_thread_end(f->to, e->thread);
}

/* ---- the pass ---- */

static struct feed_process *process_at(struct feed *f, uint32_t index)
{
	return array_at(&f->process, index, sizeof(struct feed_process));
}

static struct feed_thread *thread_at(struct feed *f, uint32_t index)
{
	return array_at(&f->thread, index, sizeof(struct feed_thread));
}

static void batch(void *self, const struct batch *b)
{
	struct feed *f = self;
	const struct heap *h = &f->walk->heap;
	const struct event *e = b->event, *end = e + b->count;
	const struct note *n = b->note;
	struct feed_thread *threads;
	struct feed_process *all, *p;

	(void)process_at(f, (uint32_t)h->processes - 1);
	(void)thread_at(f, (uint32_t)h->threads - 1);
	all = f->process.item;
	threads = f->thread.item;
	for (; e < end; e++, n++) {
		p = &all[n->process];
		p->thread = e->thread;
		if (!is_wanted(f, e->process, p) || h->process[n->process]->state == HEAP_ENDED)
			continue;
		if (e->kind <= EVENT_REALLOC_END)
			one_call(f, p, &threads[n->thread], e, n);
		else if (e->kind == EVENT_CONTROL)
			control(f, e);
	}
}

/* First to where the compiler's block is said, then to what the compiler knows of it. */
PREFETCHES look_ahead(const struct feed *f, const struct feed_process *p,
		      const struct heap_process *of, const struct event *e)
{
	const struct window *w = &f->walk->window;

	run_look_ahead(of, w, e);
	beside_prefetch(&p->block, window_after(w, e, 2 * AHEAD)->block);
	compile_prefetch(f->to, beside_word(&p->block, window_after(w, e, AHEAD)->block));
}

/* One half of a realloc. */
ALWAYS_INLINE bool take_half(struct feed *f, struct feed_process *p, struct feed_thread *t,
			     struct run *r, const struct event *e)
{
	struct run_did d;
	struct note n;

	if (!run_event(r, e, &d))
		return false;
	n.did = (uint16_t)d.did;
	n.problem = 0;
	n.ended = d.ended;
	if (d.ends)
		n.old = d.old;
	else
		n.old.addr = 0;
	if (!p)
		return true;
	if (e->kind == EVENT_REALLOC_BEGIN)
		realloc_begins(t, e, &n);
	else
		realloc_ends(f, p, t, e, &n);
	return true;
}

/* Applies an event of a run and does what one_call does.  p: NULL if it is not wanted. */
ALWAYS_INLINE bool take_event(struct feed *f, struct feed_process *p, struct feed_thread *t,
			      struct run *r, const struct event *e)
{
	struct run_did d;

	switch (effect_of(e)) {
	case EFFECT_ALLOC:
		if (!run_allocates(r, e))
			return false;
		if (p)
			allocated(f, p, e);
		return true;
	case EFFECT_FREE:
		if (!run_frees(r, e, &d))
			return false;
		if (d.ends)
			run_over(r, &d);
		if (p && d.ends)
			freed(f, p, e, d.ended, d.old.addr);
		else if (p)
			f->found.null_frees++;
		return true;
	default:
		return take_half(f, p, t, r, e);
	}
}

/* Most events are in runs (event_run.h); batch() gets the others. */
static size_t take_run(void *feed, struct walk *w, size_t first, size_t n)
{
	struct feed *f = feed;
	const struct event *e = window_at(&w->window, first), *const from = e, *const end = e + n;
	struct feed_process *its, *p;
	struct feed_thread *t;
	struct live rest;
	struct run r;
	bool far;

	if (!run_begin(&r, &w->heap, e, &rest))
		return 0;
	r.pages = false; /* a constant for the compiler */
	its = process_at(f, r.t->process);
	p = is_wanted(f, e->process, its) ? its : NULL;
	t = thread_at(f, r.thread);
	far = r.p->own.n >= RUN_NEAR;
	for (; e < end && run_is_of(&r, e); e++, r.number++) {
		if (far)
			look_ahead(f, its, r.p, e);
		if (!take_event(f, p, t, &r, e))
			break;
	}
	run_end(&r, &rest);
	if (e > from)
		its->thread = from->thread;
	return (size_t)(e - from);
}

static size_t take_runs(void *feed, struct walk *w, size_t first, size_t n)
{
	return walk_take_runs(take_run, feed, w, first, n);
}

static void forked(void *self, const struct heap *h, uint32_t parent, uint32_t child)
{
	struct feed *f = self;
	const struct feed_process *of = process_at(f, parent);
	const uint32_t forker = of->thread ? of->thread : UINT32_MAX;
	const struct feed_process *p = process_at(f, child);

	if (is_wanted(f, h->process[child]->number, p))
		compile_process_forked(f->to, h->process[child]->number, forker);
}

/* Says how much of a large block was resident before its process ended. */
static void left(struct feed *f, const struct heap_process *from, const struct block *b,
		 uint32_t block, uint64_t ticks)
{
	uint64_t bytes;

	if (f->options->touch && b->size >= MPROF_PLAY_LARGE &&
	    compile_resident(&f->walk->input, from->number, b, ticks, &bytes))
		compile_left(f->to, block, bytes);
}

/* Takes the blocks that the program did not free into block[].  Returns their number. */
static size_t take_left(struct feed *f, const struct heap_process *from, struct feed_process *p,
			uint64_t ticks, uint32_t *block)
{
	struct heap_round round = { 0 };
	const struct block *b;
	size_t n = 0;

	while ((b = heap_next_block(from, &round)) && n < from->live.blocks) {
		if (b->owner & BLOCK_INHERITED)
			continue;
		block[n] = beside_take(&p->block, round.number, b->addr);
		if (block[n] != BESIDE_NONE)
			left(f, from, b, block[n++], ticks);
	}
	return n;
}

static void gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	struct feed *f = self;
	const struct heap_process *from = h->process[process];
	struct feed_process *p = process_at(f, process);
	const bool wanted = is_wanted(f, from->number, p);
	const bool sweeps = f->options->process == COMPILE_ALL && !f->walk->over;
	uint32_t *block = NULL;
	size_t n = 0;

	if (wanted)
		f->found.inversions += from->inversions - p->inversions;
	if (sweeps || (wanted && f->options->touch)) {
		block = must_calloc(from->live.blocks + 1, sizeof(*block));
		n = take_left(f, from, p, ticks, block);
	}
	if (sweeps)
		compile_process_gone(f->to, from->number, p->thread, block, n);
	free(block);
	p->inversions = from->inversions;
	p->image += why == GONE_EXEC;
	beside_release(&p->block);
}

static void start(void *self, struct walk *w)
{
	struct feed *f = self;

	f->walk = w;
	f->start_ticks = w->input.header->start_ticks;
	f->ns_mult = f->options->untimed ? 0 : w->ns_mult;
	f->page_size = w->input.header->page_size;
}

static void release(void *self)
{
	struct feed *f = self;
	size_t i;

	for (i = 0; i < f->process.count; i++)
		beside_release(&((struct feed_process *)f->process.item)[i].block);
	array_release(&f->process);
	array_release(&f->thread);
}

static const struct pass_ops feed_ops = {
	.name = "compile",
	.start = start,
	.batch = batch,
	.forked = forked,
	.gone = gone,
	.release = release,
};

/* ---- the whole ---- */

static void tell_damage(struct feed *f, const struct trace_damage *d)
{
	uint64_t lost = 0;
	int i;

	for (i = 0; i < MPROF_LOST_REASONS; i++)
		if (i != MPROF_LOST_STACK)
			lost += d->lost[i];
	f->found.lost = lost;
	f->found.damaged = d->chunks_bad + d->chunks_missing + d->words_bad + d->sizes_bad +
			   d->lines_bad + (d->bytes_skipped > 0);
}

int compile_feed(const struct walk_input *in, const struct compile_options *o, uint32_t image,
		 const struct trace_damage *damage, struct mprof_play_summary *sum,
		 struct error *err)
{
	struct feed f = { .options = o, .image = image };
	const struct walk_pass pass = { &feed_ops, &f };
	struct walk *w = must_malloc(sizeof(*w)); /* it has two batches of events in it */
	int ret = compile_new(&f.to, o, err);

	if (ret) {
		free(w);
		return ret;
	}
	walk_init(w, in, &pass, 1);
	w->no_pages = true;
	w->fused = take_runs;
	w->fused_self = &f;
	w->progress = o->progress;
	w->progress_context = o->progress_context;
	ret = walk_run(w, err);
	walk_release(w);
	free(w);
	if (ret) {
		compile_abandon(f.to);
		return ret;
	}
	if (damage)
		tell_damage(&f, damage);
	if (o->process != COMPILE_ALL)
		f.found.peak_rss_bytes = compile_peak_rss(in, o->process);
	compile_found(f.to, &f.found,
		      damage && (damage->bytes_missing || damage->bytes_cut ||
				 damage->chunks_unseen || damage->lines_cut));
	return compile_finish(f.to, sum, err);
}
