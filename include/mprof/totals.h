/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * totals.h - exact totals of every call stack: what MODEs do when a block is allocated or freed.
 *
 * A call adds to the cell of its thread and stack, a cache line in the mapped file that no other
 * thread writes; a free adds to the freeing thread's cell of the stack that allocated, which live.h
 * finds.  So frees in other threads are exact without an atomic, and the sums are in the file
 * however the process ends.
 *
 * The live blocks of a stack, of all threads, and those at the peak, are in the stack's site.
 * While the process has one thread, each call changes cell and site, and the peak is exact.  With
 * more, a thread folds its changes into the site when they reach `fold` bytes: then the error of
 * the peak is at most lanes * fold, which the file records.
 *
 * Call all functions between begin() and end() of lanes.h.
 */
#ifndef MPROF_TOTALS_H
#define MPROF_TOTALS_H

#define LANE_CELL	 struct mprof_cell
#define LANE_CELL_KIND	 MPROF_EXTENT_CELLS
#define LANE_CELLS_BYTES sizeof(struct mprof_cells)
#include <mprof/lanes.h>

#define FOLD_LEAST 1024u /* bytes */
#define FOLD_MOST  65536u
#define PEAK_PART  1024u /* the bound is at most this fraction of a large peak */

static int64_t fold; /* bytes that a thread may keep unfolded */
static const uint64_t *dump_due;
static uint32_t site_sizes; /* SITE_SIZES */

/* ---- the peak ---- */

/* [hot] For a process with one thread: no atomics. */
MPROF_HOT void profile_change_alone(struct mprof_site_live *s, uint32_t id, int64_t bytes,
				    int64_t calls, uint64_t now)
{
	note_peak(s);
	s->live_bytes += bytes;
	s->live_calls += calls;
	if (s->live_bytes > s->local_bytes) {
		s->local_bytes = s->live_bytes;
		s->local_calls = s->live_calls;
	}
	heap->live_bytes += bytes;
	heap->live_calls += calls;
	if (heap->live_bytes <= heap->step_bytes)
		return;
	heap->step_bytes = heap->live_bytes;
	heap->step_calls = heap->live_calls;
	heap->step_ticks = now;
	heap->step_stack = id;
	if (heap->live_bytes > heap->peak_bytes) {
		heap->peak_bytes = heap->live_bytes;
		heap->peak_calls = heap->live_calls;
		heap->peak_ticks = now;
	}
}

/* Sets `fold` and the error bound of the peak, which follows from it. */
static void profile_set_fold(void)
{
	uint32_t n = __atomic_load_n(&lanes_owned, RLX);
	int64_t bytes = __atomic_load_n(&heap->peak_bytes, RLX) / (PEAK_PART * (n ? n : 1));

	bytes = bytes < FOLD_LEAST ? FOLD_LEAST : bytes > FOLD_MOST ? FOLD_MOST : bytes;
	/* Every call of every thread reads it: a store would take its line from the other cores. */
	if (__atomic_load_n(&fold, RLX) != bytes)
		__atomic_store_n(&fold, bytes, RLX);
	rise((int64_t *)&heap->peak_bound, bytes * n);
}

/* A block that ended before its thread folded is in no sum; its stack had it nevertheless. */
static void note_own_peak(const struct figures *f)
{
	if (rise(&f->site->local_bytes, (int64_t)mprof_unrounded(f->cell->size_most)))
		__atomic_store_n(&f->site->local_calls, 1, RLX);
}

/* Sites first: until the heap total rises, their old values belong to the previous peak. */
static void profile_fold_lane(struct lane *l, uint64_t now, uint32_t id)
{
	for (uint32_t i = 0; i < l->touched_count; i++) {
		struct figures *f = &l->touched[i];

		note_own_peak(f);
		if (!f->cell->unfolded_bytes && !f->cell->unfolded_calls)
			continue;
		change_site(f->site, f->cell->unfolded_bytes, f->cell->unfolded_calls);
		f->cell->unfolded_bytes = f->cell->unfolded_calls = 0;
	}
	l->touched_count = 0;
	if (l->unfolded_bytes || l->unfolded_calls)
		change_heap(l->unfolded_bytes, l->unfolded_calls, now, id);
	l->unfolded_bytes = l->unfolded_calls = 0;
	profile_set_fold();
}

/* [hot] Is v at least most, or at most -most?  most is positive. */
MPROF_HOT int profile_is_beyond(int64_t v, int64_t most)
{
	return (uint64_t)(v + most - 1) >= 2 * (uint64_t)most - 1;
}

/* A change that is too large to be kept in the cell. */
static MPROF_COLD void profile_change_now(struct lane *l, struct figures f, uint32_t id,
					  int64_t bytes, int64_t calls, uint64_t now)
{
	profile_fold_lane(l, now, 0);
	change_site(f.site, bytes, calls);
	change_heap(bytes, calls, now, id);
}

/* The cell has its first change since the lane was folded. */
static __attribute__((noinline)) void profile_touch(struct lane *l, struct figures f, uint64_t now)
{
	if (l->touched_count == LANE_TOUCHED)
		profile_fold_lane(l, now, 0);
	l->touched[l->touched_count++] = f;
}

/*
 * [hot] A cell is folded as early as the lane: where two threads free each other's blocks, cells
 * of opposite signs would grow without limit although the lane's sum remains small.
 */
MPROF_HOT void profile_change_among(struct lane *l, struct figures f, uint32_t id, int64_t bytes,
				    int64_t calls, uint64_t now)
{
	const int64_t most = __atomic_load_n(&fold, RLX);

	if (mprof_unlikely(profile_is_beyond(bytes, most))) {
		profile_change_now(l, f, id, bytes, calls, now);
		return;
	}
	if (!f.cell->unfolded_bytes && !f.cell->unfolded_calls)
		profile_touch(l, f, now);
	f.cell->unfolded_bytes += (int32_t)bytes;
	f.cell->unfolded_calls += (int32_t)calls;
	l->unfolded_bytes += bytes;
	l->unfolded_calls += calls;
	if (profile_is_beyond(l->unfolded_bytes, most) ||
	    profile_is_beyond(f.cell->unfolded_bytes, most))
		profile_fold_lane(l, now, id);
}

MPROF_HOT void profile_change(struct lane *l, struct figures f, uint32_t id, int64_t bytes,
			      int64_t calls, uint64_t now)
{
	if (mprof_likely(!several))
		profile_change_alone(f.site, id, bytes, calls, now);
	else
		profile_change_among(l, f, id, bytes, calls, now);
}

static struct mprof_cell_more *profile_more_of(struct lane *l, struct accumulator *s, uint32_t id)
{
	if (mprof_unlikely(!s->more))
		s->more = (struct mprof_cell_more *)some(MPROF_EXTENT_MORE, l, id & -MPROF_CELLS,
							 MPROF_CELLS * sizeof(*s->more));
	return s->more ? &s->more[id % MPROF_CELLS] : NULL;
}

/* ---- one block ---- */

MPROF_HOT unsigned profile_bin_of(uint64_t size)
{
	unsigned bin = size ? 64 - (unsigned)__builtin_clzll(size) : 0;

	return bin < MPROF_SIZE_BINS ? bin : MPROF_SIZE_BINS - 1;
}

/* Called with SITE_SIZES.  NULL if there is no space. */
static __attribute__((noinline)) struct mprof_cell_sizes *
profile_sizes_of(struct lane *l, struct accumulator *s, uint32_t id)
{
	if (!s->sizes)
		s->sizes = (struct mprof_cell_sizes *)some(
		    MPROF_EXTENT_CELL_SIZES, l, id & -MPROF_CELLS, MPROF_CELLS * sizeof(*s->sizes));
	return s->sizes ? &s->sizes[id % MPROF_CELLS] : NULL;
}

static void profile_note_size(struct lane *l, struct accumulator *s, uint32_t id, uint64_t size,
			      int freed)
{
	struct mprof_cell_sizes *sizes = profile_sizes_of(l, s, id);
	const unsigned bin = profile_bin_of(size);

	if (!sizes)
		return;
	if (freed) {
		sizes->bin[bin].freed_calls++;
		sizes->bin[bin].freed_bytes += size;
	} else {
		sizes->bin[bin].calls++;
		sizes->bin[bin].bytes += size;
	}
}

/* [hot] Ends a block.  temporary: its thread's last call returned it. */
MPROF_HOT void profile_settle_one(struct lane *l, struct live_entry e, uint64_t now, int temporary)
{
	const uint32_t id = live_id(e);
	const uint64_t size = live_size(e), age = live_age(e, now);
	struct accumulator *s;
	struct figures f;
	struct mprof_cell_more *more;

	/* The parent's block is counted there. */
	if (mprof_unlikely(((e.b - began) & LIVE_TICKS) >> 55))
		return;
	s = accumulator_of(l, id);
	if (mprof_unlikely(!s)) {
		no_room();
		return;
	}
	f = figures_of(s, id);
	f.cell->freed_calls++;
	f.cell->freed_bytes += size;
	/* Another thread's clock may be slightly ahead. */
	if (mprof_likely(!(age >> 55))) {
		f.cell->lifetime += age;
		note_range(&f.cell->lifetime_least, &f.cell->lifetime_most, age);
	} else {
		note_range(&f.cell->lifetime_least, &f.cell->lifetime_most, 0);
	}
	l->disk->freed_sizes[profile_bin_of(size)]++;
	if (mprof_unlikely(site_sizes))
		profile_note_size(l, s, id, size, 1);
	profile_change(l, f, id, -(int64_t)size, -1, now);
	if (!temporary)
		return;
	more = profile_more_of(l, s, id);
	if (more) {
		more->temporary_calls++;
		more->temporary_bytes += size;
	}
}

/* Ends a block where that is rare, or part of a realloc. */
static __attribute__((noinline)) void profile_settle(struct lane *l, struct live_entry e,
						     uint64_t now)
{
	profile_settle_one(l, e, now, 0);
}

MPROF_HOT void profile_count(struct lane *l, unsigned fn, uint64_t bytes, unsigned failed)
{
	l->counts->fn[fn].calls++;
	l->counts->fn[fn].bytes += bytes;
	l->counts->fn[fn].failed += failed;
}

/*
 * [hot] Counts a new block.  s: the accumulator of its stack, or NULL.  mark: 0, or one of live.h.
 * Returns s, or NULL if its figures do not fit.
 */
MPROF_HOT struct accumulator *profile_settle_at(struct lane *l, struct accumulator *s, uint32_t id,
						uint32_t mark, void *ptr, uint64_t size,
						size_t usable, uint64_t now)
{
	struct live_entry before;
	struct figures f;

	if (mprof_unlikely(now >= __atomic_load_n(dump_due, RLX)))
		host->dump(now, heap, note_sums);
	if (mprof_unlikely(!s ||
			   live_put(&map, &l->room, ptr, usable,
				    live_entry_of(id | mark, size, now), !several, &before))) {
		no_room();
		return NULL;
	}
	if (mprof_unlikely(before.a)) {
		l->disk->missed++;
		profile_settle(l, before, now);
	}
	f = figures_of(s, id);
	f.cell->calls++;
	f.cell->bytes += size;
	/* Where eight stacks share a cache line, unlike cells. */
	((struct mprof_cells *)s->cell)->waste[id % MPROF_CELLS] +=
	    mprof_likely(usable > size) ? usable - size : 0;
	note_range(&f.cell->size_least, &f.cell->size_most, size);
	l->disk->sizes[profile_bin_of(size)]++;
	if (mprof_unlikely(site_sizes))
		profile_note_size(l, s, id, size, 0);
	profile_change(l, f, id, (int64_t)size, 1, now);
	l->last = ptr;
	return s;
}

MPROF_HOT struct accumulator *profile_settle_in(struct lane *l, uint32_t id, void *ptr,
						uint64_t size, size_t usable, uint64_t now)
{
	return profile_settle_at(l, accumulator_of(l, id), id, 0, ptr, size, usable, now);
}

/* ---- realloc ---- */

/* Is the block a separate mapping, which glibc moves without a copy (see the reader's heap.h)? */
static int profile_is_own_mapping(const void *ptr, size_t usable)
{
	const uintptr_t page = *host->page_bytes;

	return ((uintptr_t)ptr & (page - 1)) == 16 && ((usable + 16) & (page - 1)) == 0;
}

static void profile_note_resize(struct lane *l, struct accumulator *s, uint32_t id, const void *old,
				const void *ptr, uint64_t size)
{
	struct mprof_cell_more *more = s ? profile_more_of(l, s, id) : NULL;
	const uint64_t before = live_size(l->old);

	/* A block of the parent does not replace one of ours. */
	if (!more || ((l->old.b - began) & LIVE_TICKS) >> 55)
		return;
	more->reallocs++;
	more->realloc_grown += (int64_t)(size - before);
	if (old == ptr)
		return;
	more->realloc_moved++;
	if (!profile_is_own_mapping(old, l->old_usable) ||
	    !profile_is_own_mapping(ptr, mprof_usable((void *)(uintptr_t)ptr)))
		more->realloc_bytes += size < before ? size : before;
}

static void profile_put_back(struct lane *l, void *old)
{
	struct live_entry none;

	live_put(&map, &l->room, old, l->old_usable, l->old, !several, &none);
}

/* [hot] Called before a block ends, so that the step that is over has it, and when memory was
 * mapped. */
MPROF_HOT void profile_look(uint64_t now)
{
	if (mprof_unlikely(now >= __atomic_load_n(dump_due, RLX)))
		host->step(now, heap, note_sums);
}

/*
 * The old block is removed at once, because from then on another thread may get its address; its
 * figures change after the call, because until then it is live.
 */
MPROF_HOT void profile_resize_begins(struct lane *l, void *ptr, size_t usable, uint64_t now)
{
	profile_look(now);
	l->old_usable = usable;
	l->old_ticks = now;
	l->old = live_take(&map, &l->room, ptr, usable, !several);
	l->disk->strange += !l->old.a;
}

/* Called when realloc has returned.  Returns the block that ended; its `a` is 0 if none did, or
 * an unknown one. */
MPROF_HOT struct live_entry profile_resize_ends(struct lane *l, unsigned fn, void *old, void *ptr,
						uint64_t size)
{
	struct live_entry e = l->old;

	if (!old) { /* so profile_resize_begins() was not called */
		e.a = 0;
		profile_look(mprof_ticks());
	}
	profile_count(l, fn, ptr ? size : 0, !ptr && size);
	l->last = NULL;
	if (mprof_unlikely(!ptr && size && e.a))
		profile_put_back(l, old);
	else if (e.a)
		profile_settle(l, e, l->old_ticks);
	return e;
}

/* ---- the end of a block ---- */

/* Returns the block that ended; its `a` is 0 if none did, or an unknown one. */
MPROF_HOT struct live_entry profile_settle_out(struct lane *l, unsigned fn, void *ptr,
					       size_t usable, uint64_t now)
{
	struct live_entry e = { 0, 0 };

	profile_count(l, fn, 0, 0);
	profile_look(now);
	if (ptr) {
		e = live_take(&map, &l->room, ptr, usable, !several);
		if (mprof_likely(e.a))
			profile_settle_one(l, e, now, l->last == ptr);
		else
			l->disk->strange++;
	}
	l->last = NULL;
	return e;
}

/* ---- the mmap family ---- */

/* Is memory mapped?  Unmapping is not attributed to a stack. */
static int profile_is_growth(unsigned fn, const uint64_t value[4], unsigned error)
{
	return !error && fn != MPROF_FN_MUNMAP && (fn < MPROF_FN_BRK || value[0] > value[2]);
}

/* mremap counts as an unmapping and as a mapping. */
static void profile_count_unmap(struct lane *l, unsigned fn, const uint64_t value[4])
{
	uint64_t bytes = fn == MPROF_FN_MREMAP ? value[3] : value[1];

	if (fn == MPROF_FN_MUNMAP || (fn == MPROF_FN_MREMAP && bytes) ||
	    (fn >= MPROF_FN_BRK && value[0] < value[2])) {
		l->disk->unmap_calls++;
		l->disk->unmap_bytes += bytes;
	}
}

/* id: the stack, if memory grows. */
static void profile_count_map(struct lane *l, unsigned fn, uint64_t now, const uint64_t value[4],
			      unsigned error, uint32_t id)
{
	struct mprof_cell_more *more;
	struct accumulator *s;

	profile_look(now);
	profile_count(l, fn, error ? 0 : value[1], error != 0);
	if (!error)
		profile_count_unmap(l, fn, value);
	if (!profile_is_growth(fn, value, error))
		return;
	s = accumulator_of(l, id);
	more = s ? profile_more_of(l, s, id) : NULL;
	if (more) {
		more->map_calls++;
		more->map_bytes += value[1];
	} else {
		no_room();
	}
}

/* ---- processes and threads ---- */

/* Called by start().  0 or -errno, with a note to the user. */
static int profile_start_in(const struct mprof_host *h, const char *magic, const char *path)
{
	int error;

	fold = FOLD_LEAST;
	site_sizes = (uint32_t)h->config->site_sizes;
	error = lanes_start(h, magic, path);
	dump_due = h->dump_due();
	return error;
}

static void profile_forked(void)
{
	fold = FOLD_LEAST;
	lanes_forked();
}

/* Called before the second thread starts. */
static void profile_note_control(unsigned what)
{
	if (what != MPROF_CONTROL_THREAD_CREATE || several)
		return;
	__atomic_store_n(&several, 1, RLX);
	if (heap)
		heap->several = 1;
}

/* Folds what the calling thread has not folded yet. */
static void profile_flush(struct mprof_thread *t)
{
	if (t->data && several)
		profile_fold_lane((struct lane *)t->data, mprof_ticks(), 0);
}

static void profile_thread_exit(struct mprof_thread *t)
{
	profile_flush(t);
	lane_exit(t);
}

#endif
