// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * sample.c - MODE=Sample: totals of every call stack, estimated from samples.
 *
 * A thread counts bytes down to the next sample (chance.h).  With SAMPLE_CALLS
 * gaps are uniform from 1 to 2N - 1 calls, and p is 1/N.  A thread begins
 * within a gap, so that those with few calls have their share of samples, too.
 *
 * A free of any other block reads one byte: each live sample is counted in a
 * table of bytes by its address, before the program receives the address.
 * Only if that byte is not 0, the table of live samples (live.h) is searched.
 * It needs no lock.
 */

#define LANE_CELL	 struct mprof_sample_cell
#define LANE_CELL_KIND	 MPROF_EXTENT_SAMPLES
#define LANE_CELLS_BYTES (MPROF_CELLS * sizeof(struct mprof_sample_cell))
#define LANE_MORE	 uint64_t random, since; /* since: the previous sample */
#include <mprof/chance.h>
#include <mprof/lanes.h>

#define FILTER_BITS 14
#define FILTER_FULL 255u /* once full, it stays full */

static uint8_t filter[1u << FILTER_BITS];
static double period;
static uint32_t by_calls;
static uint64_t seeds;
static const uint64_t *dump_due;

/* ---- gaps and weights ---- */

/* Bytes or calls to the next sample. */
static int64_t sample_draw(struct lane *l)
{
	return by_calls ? chance_even(&l->random, (uint64_t)period)
			: chance_gap(&l->random, period);
}

/* The same in a new thread. */
static int64_t sample_draw_first(struct lane *l)
{
	return by_calls ? chance_rest(&l->random, (uint64_t)period) : sample_draw(l);
}

static struct weight sample_weight_of(uint64_t size)
{
	return chance_weight(by_calls ? 1 / period : chance_of((double)size / period), size);
}

/* ---- live samples ---- */

/*
 * Neighbouring blocks share a cache line of the table, which thus takes little of the cache. Arenas
 * are at the same offset from large powers of two, so higher bits of the address count, too.
 */
MPROF_HOT uint8_t *sample_filter_of(const void *ptr)
{
	const uintptr_t at = (uintptr_t)ptr;

	return &filter[(at >> 5 ^ at >> 15 ^ at >> 25) & (sizeof(filter) - 1)];
}

/* by: 1 or -1. */
static void sample_filter_change(const void *ptr, int by)
{
	uint8_t *place = sample_filter_of(ptr), had = __atomic_load_n(place, RLX);

	while (had != FILTER_FULL &&
	       !__atomic_compare_exchange_n(place, &had, (uint8_t)(had + by), 0, RLX, RLX))
		;
}

/* A sample has ended. */
static void sample_settle(struct lane *l, struct live_entry e, uint64_t now)
{
	const uint32_t id = live_id(e);
	const uint64_t size = live_size(e), age = live_age(e, now);
	const struct weight w = sample_weight_of(size);
	struct accumulator *s;
	struct figures f;

	/* The parent's block: counted there. */
	if (mprof_unlikely(((e.b - began) & LIVE_TICKS) >> 55))
		return;
	s = accumulator_of(l, id);
	if (!s) {
		no_room();
		return;
	}
	f = figures_of(s, id);
	chance_add(&f.cell->freed, &w);
	if (!(age >> 55))
		f.cell->lifetime += (double)age * w.calls;
	change_site(f.site, -chance_whole(w.bytes), -chance_whole(w.calls));
	change_heap(-chance_whole(w.bytes), -chance_whole(w.calls), now, 0);
}

static void sample_keep(struct lane *l, uint32_t id, void *ptr, uint64_t size, uint64_t elapsed)
{
	const size_t usable = mprof_usable(ptr);
	const uint64_t now = mprof_ticks();
	const struct weight w = sample_weight_of(size);
	struct accumulator *s = accumulator_of(l, id);
	struct live_entry before;
	struct figures f;

	sample_filter_change(ptr, 1);
	if (!s || live_put(&map, &l->room, ptr, usable, live_entry_of(id, size, now), 0, &before)) {
		sample_filter_change(ptr, -1);
		no_room();
		return;
	}
	if (before.a) {
		l->disk->missed++;
		sample_filter_change(ptr, -1);
		sample_settle(l, before, now);
	}
	f = figures_of(s, id);
	chance_add(&f.cell->made, &w);
	f.cell->elapsed += elapsed;
	chance_note_heaviest(f.cell, &w);
	note_range(&f.cell->size_least, &f.cell->size_most, size);
	change_site(f.site, chance_whole(w.bytes), chance_whole(w.calls));
	change_heap(chance_whole(w.bytes), chance_whole(w.calls), now, id);
}

/* ---- calls ---- */

/* What a call takes from the countdown, which is positive once it has started. */
MPROF_HOT uint64_t sample_cost(uint64_t size)
{
	return mprof_unlikely(by_calls) ? 1 : size;
}

/* Sums of calls are those of the cells, which count samples. */
static void sample_sums(int past)
{
	if (past)
		note_past();
}

/*
 * The countdown has expired or has not started.  The call site comes as three arguments, because a
 * struct of three words is passed in memory.
 */
static MPROF_COLD void sample_sampled(void *ptr, uint64_t size, uintptr_t pc, uintptr_t sp,
				      uintptr_t fp)
{
	const struct mprof_place at = { pc, sp, fp };
	const uint64_t now = mprof_ticks();
	struct mprof_thread *t;
	struct lane *l = begin(&t);

	if (!l)
		return;
	if (!l->random)
		l->random = chance_start(seeds, mprof_ticks(), l->number);
	if (!t->countdown)
		t->countdown = (uint64_t)sample_draw_first(l);
	if (sample_cost(size) < t->countdown) {
		t->countdown -= sample_cost(size);
	} else {
		/*
		 * Further gaps that end in this block do not matter: the next gap is independent.
		 */
		t->countdown = (uint64_t)sample_draw(l);
		if (now >= __atomic_load_n(dump_due, RLX))
			host->dump(now, heap, sample_sums);
		if (!lane_paused(l))
			sample_keep(l, stack_of(t, at, size), ptr, size, now - l->since);
		l->since = mprof_ticks(); /* this time does not belong to the program */
	}
	end(t);
}

/* [hot] Where the call came from is read only if it is sampled. */
MPROF_HOT void sample_look(void *ptr, uint64_t size)
{
	struct mprof_thread *t = mprof_self;
	const uint64_t cost = sample_cost(size);

	if (mprof_likely(cost < t->countdown)) {
		t->countdown -= cost;
	} else {
		const struct mprof_place at = mprof_caller();

		sample_sampled(ptr, size, at.pc, at.sp, at.fp);
	}
}

/* Called before a sampled block ends. */
static void sample_step(uint64_t now)
{
	if (now >= __atomic_load_n(dump_due, RLX))
		host->step(now, heap, sample_sums);
}

static MPROF_COLD void sample_maybe_freed(void *ptr)
{
	struct mprof_thread *t;
	struct lane *l = ptr ? begin(&t) : NULL;
	struct live_entry e;
	uint64_t now;

	if (!l)
		return;
	lane_paused(l);
	now = mprof_ticks();
	sample_step(now);
	e = live_take(&map, &l->room, ptr, mprof_usable(ptr), 0);
	if (e.a) {
		sample_filter_change(ptr, -1);
		sample_settle(l, e, now);
	}
	end(t);
}

/* Before a realloc: another thread that gets the address afterwards must not find this sample. */
static MPROF_COLD void sample_maybe_resized(void *ptr)
{
	struct mprof_thread *t;
	struct lane *l = begin(&t);

	if (!l)
		return;
	lane_paused(l);
	l->old_usable = mprof_usable(ptr);
	l->old_ticks = mprof_ticks();
	sample_step(l->old_ticks);
	l->old = live_take(&map, &l->room, ptr, l->old_usable, 0);
	if (l->old.a)
		sample_filter_change(ptr, -1);
	end(t);
}

/* After a realloc. */
static MPROF_COLD void sample_old_ended(void *old, int failed)
{
	struct mprof_thread *t;
	struct lane *l = begin(&t);
	struct live_entry none;

	if (!l)
		return;
	if (!failed) {
		sample_settle(l, l->old, l->old_ticks);
	} else {
		sample_filter_change(old, 1);
		if (live_put(&map, &l->room, old, l->old_usable, l->old, 0, &none))
			sample_filter_change(old, -1);
	}
	l->old.a = 0;
	end(t);
}

MPROF_HOT int sample_is_sampled(const void *ptr)
{
	return mprof_unlikely(__atomic_load_n(sample_filter_of(ptr), RLX));
}

MPROF_HOT void on_alloc(unsigned fn, void *ptr, size_t size, size_t arg)
{
	sample_look(ptr, mprof_bytes(fn, size, arg));
}
MPROF_HOT void on_fail(unsigned fn, size_t size, size_t arg, unsigned error)
{
	(void)fn, (void)size, (void)arg, (void)error;
}
MPROF_HOT void on_free(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)fn, (void)size, (void)arg;
	if (sample_is_sampled(ptr))
		sample_maybe_freed(ptr);
}
MPROF_HOT void on_realloc_begin(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)fn, (void)size, (void)arg;
	if (sample_is_sampled(ptr))
		sample_maybe_resized(ptr);
}
MPROF_HOT void on_realloc_end(unsigned fn, void *old, void *ptr, size_t size, size_t arg)
{
	struct lane *l = mprof_self->data;

	size = mprof_bytes(fn, size, arg);
	if (mprof_unlikely(l && l->old.a))
		sample_old_ended(old, !ptr && size);
	if (ptr)
		sample_look(ptr, size);
}
static void note_map(unsigned fn, uint64_t ticks, const uint64_t value[4], unsigned error)
{
	(void)fn, (void)ticks, (void)value, (void)error;
}
static void note_control(unsigned what, uint64_t value)
{
	(void)what, (void)value;
}

#include <mprof/template.h>

static int sample_start(const struct mprof_host *h)
{
	int error;

	by_calls = h->config->sample_calls != 0;
	period = (double)(by_calls ? h->config->sample_calls : h->config->sample_bytes);
	seeds = h->config->seed;
	error = lanes_start(h, MPROF_MAGIC_PROFILE, h->config->profile_path);
	dump_due = h->dump_due();
	return error;
}

static void sample_thread_start(struct mprof_thread *t)
{
	lane_start(t);
	t->countdown = 0;
	if (t->data)
		((struct lane *)t->data)->since = mprof_ticks();
	if (heap) {
		heap->sample_period = (uint64_t)period;
		heap->sample_unit = by_calls ? MPROF_SAMPLE_CALLS : MPROF_SAMPLE_BYTES;
	}
}

const struct mprof_mode_ops mprof_mode_sample MPROF_SHARED = {
	.abi = MPROF_MODULE_ABI,
	.api = &mode_api,
	.start = sample_start,
	.thread_start = sample_thread_start,
	.thread_exit = lane_exit,
	.forked = lanes_forked,
	.thread_keep = lane_keep,
};
