/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * late.h - samples that follow exact totals, if these take too much time.
 *
 * After late_begin(), a new block is counted only for its function, unless it is sampled
 * (chance.h): then it is added to the struct mprof_sample_cell of its stack.  Every block in the
 * table of live ones is marked as exact or sampled, so its end is counted the same way, and threads
 * may change over at different times.  The end of a block searches the table without changing it;
 * only a block that is found is removed.
 *
 * For MODEs with totals.h, whose LANE_MORE begins with LATE_LANE.
 */
#ifndef MPROF_LATE_H
#define MPROF_LATE_H

#include <mprof/format.h>

#define LATE_LANE                                                                        \
	struct mprof_sample_cell ***late; /* ROWS, of ROW_CELLS; NULL: not yet needed */ \
	int64_t late_left;		  /* bytes to the next sample */                 \
	uint64_t late_random;
#ifndef LANE_MORE
#define LANE_MORE LATE_LANE
#endif
#include <mprof/chance.h>
#include <mprof/totals.h>

static double late_period;
static uint32_t late; /* 1 = take samples */

/* ---- cells ---- */

/* NULL if there is no space. */
static struct mprof_sample_cell *late_cell_of(struct lane *l, uint32_t id)
{
	struct mprof_sample_cell **cells;

	if (!l->late)
		l->late = (struct mprof_sample_cell ***)host->memory(ROWS * sizeof(*l->late), 4096);
	if (!l->late)
		return NULL;
	if (!l->late[id / ROW_IDS])
		l->late[id / ROW_IDS] =
		    (struct mprof_sample_cell **)host->memory(ROW_CELLS * sizeof(*cells), 4096);
	if (!l->late[id / ROW_IDS])
		return NULL;
	cells = &l->late[id / ROW_IDS][id / MPROF_CELLS % ROW_CELLS];
	if (!*cells)
		*cells = (struct mprof_sample_cell *)some(
		    MPROF_EXTENT_SAMPLES, l, id & -MPROF_CELLS, MPROF_CELLS * sizeof(**cells));
	return *cells ? &(*cells)[id % MPROF_CELLS] : NULL;
}

static struct mprof_site_live *late_site_of(uint32_t id)
{
	struct mprof_site_live *site = site_new(id & -MPROF_CELLS);

	return site ? &site[id % MPROF_CELLS] : NULL;
}

/* ---- samples ---- */

static struct weight late_weight_of(uint64_t size)
{
	return chance_weight(chance_of((double)size / late_period), size);
}

/* by: 1 to add, -1 to subtract. */
static void late_change(uint32_t id, const struct weight *w, int by, uint64_t now)
{
	struct mprof_site_live *site = late_site_of(id);
	const int64_t bytes = by * chance_whole(w->bytes), calls = by * chance_whole(w->calls);

	if (!site)
		return;
	change_site(site, bytes, calls);
	change_heap(bytes, calls, now, by > 0 ? id : 0);
}

static void late_settle_sample(struct lane *l, struct live_entry e, uint64_t now)
{
	const uint32_t id = live_id(e);
	const uint64_t age = live_age(e, now);
	const struct weight w = late_weight_of(live_size(e));
	struct mprof_sample_cell *c;

	/* The parent's block is counted there. */
	if (((e.b - began) & LIVE_TICKS) >> 55)
		return;
	c = late_cell_of(l, id);
	if (!c) {
		no_room();
		return;
	}
	chance_add(&c->freed, &w);
	if (!(age >> 55))
		c->lifetime += (double)age * w.calls;
	late_change(id, &w, -1, now);
}

/* Ends a block, exact or sampled. */
static void late_settle(struct lane *l, struct live_entry e, uint64_t now)
{
	if (live_is(e, LIVE_SAMPLED))
		late_settle_sample(l, e, now);
	else
		profile_settle(l, e, now);
}

static void late_keep(struct lane *l, uint32_t id, void *ptr, uint64_t size, uint64_t now)
{
	const struct live_entry e = live_entry_of(id | LIVE_SAMPLED, size, now);
	const struct weight w = late_weight_of(size);
	struct mprof_sample_cell *c = late_cell_of(l, id);
	struct live_entry before;

	if (!c || live_put(&map, &l->room, ptr, mprof_usable(ptr), e, !several, &before)) {
		no_room();
		return;
	}
	if (before.a) {
		l->disk->missed++;
		late_settle(l, before, now);
	}
	chance_add(&c->made, &w);
	chance_note_heaviest(c, &w);
	note_range(&c->size_least, &c->size_most, size);
	late_change(id, &w, 1, now);
}

/* Called when the countdown has expired or has not started yet. */
static MPROF_COLD void late_sampled(void *ptr, uint64_t size, struct mprof_place at)
{
	const uint64_t now = mprof_ticks();
	struct mprof_thread *t;
	struct lane *l = begin(&t);
	uint32_t id;

	if (!l)
		return;
	if (!l->late_random) {
		l->late_random = chance_start(host->config->seed, now, l->number);
		l->late_left = chance_gap(&l->late_random, late_period) - (int64_t)size;
	}
	if (l->late_left <= 0) {
		/*
		 * Further gaps that end in this block do not matter: the next gap is independent.
		 */
		l->late_left = chance_gap(&l->late_random, late_period);
		if (now >= __atomic_load_n(dump_due, RLX))
			host->dump(now, heap, note_sums);
		id = mprof_core.capture ? mprof_core.capture(t, at.pc, at.sp, at.fp) : 0;
		late_keep(l, id < LIVE_IDS ? id : 0, ptr, size, now);
	}
	end(t);
}

/* ---- calls ---- */

/* [hot] An add to memory is one instruction, which no signal handler can split. */
MPROF_HOT void late_count(struct lane *l, unsigned fn, uint64_t bytes, unsigned failed)
{
	if (mprof_likely(l))
		profile_count(l, fn, bytes, failed);
}

/* [hot] */
MPROF_HOT void late_look(void *ptr, uint64_t size, struct mprof_place at)
{
	struct lane *l = (struct lane *)mprof_self->data;

	if (mprof_likely(l)) {
		l->late_left -= (int64_t)(size < 1ull << 60 ? size : 1ull << 60);
		if (mprof_likely(l->late_left > 0))
			return;
	}
	late_sampled(ptr, size, at);
}

/* [hot] Is the block in the table?  If so, the caller of this thread's call owns it. */
MPROF_HOT int late_knows(void *ptr)
{
	const struct live_kind *k = &map.kind[live_kind_of(&map, mprof_usable(ptr))];
	const uint64_t *word = live_word(k, (uintptr_t)ptr);
	const uint64_t had = word ? __atomic_load_n(word, __ATOMIC_ACQUIRE) : 0;

	return had && __atomic_load_n(&live_in_leaf(k, had, (uintptr_t)ptr)->a, RLX);
}

static MPROF_COLD void late_end_known(void *ptr)
{
	struct mprof_thread *t;
	struct lane *l = begin(&t);
	struct live_entry e;
	uint64_t now;

	if (!l)
		return;
	now = mprof_ticks();
	profile_look(now);
	e = live_take(&map, &l->room, ptr, mprof_usable(ptr), !several);
	if (e.a)
		late_settle(l, e, now);
	end(t);
}

MPROF_HOT void late_alloc(unsigned fn, void *ptr, uint64_t bytes, struct mprof_place at)
{
	late_count((struct lane *)mprof_self->data, fn, bytes, 0);
	late_look(ptr, bytes, at);
}

MPROF_HOT void late_free(unsigned fn, void *ptr)
{
	late_count((struct lane *)mprof_self->data, fn, 0, 0);
	if (ptr && mprof_unlikely(late_knows(ptr)))
		late_end_known(ptr);
}

/* Called before a realloc: another thread that gets the address afterwards must not find this
 * block. */
static MPROF_COLD void late_resize_known(void *ptr)
{
	struct mprof_thread *t;
	struct lane *l = begin(&t);

	if (!l)
		return;
	l->old_usable = mprof_usable(ptr);
	l->old_ticks = mprof_ticks();
	profile_look(l->old_ticks);
	l->old = live_take(&map, &l->room, ptr, l->old_usable, !several);
	end(t);
}

MPROF_HOT void late_resize_begins(void *ptr)
{
	if (mprof_unlikely(late_knows(ptr)))
		late_resize_known(ptr);
}

static MPROF_COLD void late_old_ended(void *old, int failed)
{
	struct mprof_thread *t;
	struct lane *l = begin(&t);

	if (!l)
		return;
	if (failed)
		profile_put_back(l, old);
	else
		late_settle(l, l->old, l->old_ticks);
	l->old.a = 0;
	end(t);
}

MPROF_HOT void late_resize_ends(unsigned fn, void *old, void *ptr, uint64_t size,
				struct mprof_place at)
{
	struct lane *l = (struct lane *)mprof_self->data;

	late_count(l, fn, ptr ? size : 0, !ptr && size);
	if (mprof_unlikely(l && l->old.a))
		late_old_ended(old, !ptr && size);
	if (ptr)
		late_look(ptr, size, at);
}

/* ---- the change ---- */

/* Announces in the process's heap totals, before the first sample, that samples follow. */
static void late_describe(void)
{
	if (!heap)
		return;
	heap->sample_period = (uint64_t)late_period;
	heap->sample_unit = MPROF_SAMPLE_BYTES;
}

static MPROF_COLD void late_begin(void)
{
	late_describe();
	__atomic_store_n(&late, 1, __ATOMIC_RELEASE);
}

#endif
