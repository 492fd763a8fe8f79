// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * profile.c - MODE=Profile: totals of every call stack, no events.
 *
 * A call adds to the cell of its thread and stack, a cache line in the mapped file
 * that nobody else writes; a free adds to the freeing thread's cell of the stack that
 * allocated, which live.h tells.  So frees in other threads are exact without an atomic,
 * and what was added is in the file, whatever becomes of the process.
 *
 * What lives of a stack, of all threads, and what lived at the peak, is in the stack's
 * site.  While the process has one thread, each call changes cell and site, and the peak
 * is exact.  With more, a thread folds what it has gathered when it comes to `fold`
 * bytes: then the peak is within lanes * fold, which the file says.
 *
 * Cells belong to a lane: one thread's, and another one's when that has ended, so that
 * any number of threads fits.  t->busy is as in log_mmap.c.
 */
#include <errno.h>
#include <mprof/live.h>
#include <mprof/module.h>

#define RLX __ATOMIC_RELAXED

#define SEATS	   256u /* runs of MPROF_CELLS stacks in a row */
#define ROW_IDS	   (SEATS * MPROF_CELLS)
#define ROWS	   (LIVE_IDS / ROW_IDS)
#define ROWS_NEAR  16u
#define TOUCHED	   32u
#define LANES_KEPT 256u /* before one is used again, so that threads stay apart */
#define FOLD_LEAST 256u /* bytes */
#define FOLD_MOST  65536u
#define PEAK_PART  1024u /* the bound is at most this part of the peak, if it is large enough */

/* Where MPROF_CELLS stacks have their figures. */
struct seat {
	struct mprof_cell *cell;
	struct mprof_site_live *site;
	struct mprof_cell_more *more; /* NULL: not yet needed */
	uint64_t pad;
};

struct figures {
	struct mprof_cell *cell;
	struct mprof_site_live *site;
};

/* A lane's memory that is not in the file. */
struct lane {
	struct mprof_lane *disk;
	struct mprof_counts *counts;
	struct seat *near[ROWS_NEAR], **far;
	int64_t unfolded_bytes, unfolded_calls;
	void *last; /* the block that the last call handed out */
	struct live_room room;
	/* A block that realloc was given, while it runs. */
	struct live_entry old;
	size_t old_usable;
	uint64_t old_ticks;
	uint32_t number; /* of its first thread */
	uint32_t owned;
	uint32_t touched_count;
	struct figures touched[TOUCHED];
	struct lane *next;
};

static const struct mprof_host *host;
static struct live_map map;
static uint32_t several; /* threads */
static int64_t fold;	 /* bytes that a thread may keep to itself */
static uint64_t began;	 /* blocks from before are the parent's */
static struct mprof_heap_totals *heap;
static struct lane *lanes; /* all there are */
static uint32_t lanes_made, lanes_owned;
static struct mprof_site_live **site_row[ROWS];
static uint32_t site_rows; /* used so far: above there are none */

#define compiler_barrier() __asm__ volatile("" ::: "memory")

/* ---- the peak ---- */

/* Before live figures change: they were so at the last peak, if they have not changed since. */
MPROF_HOT void note_peak(struct mprof_site_live *s)
{
	int64_t peak = __atomic_load_n(&heap->peak_bytes, RLX);

	if (s->stamp == peak)
		return;
	__atomic_store_n(&s->at_peak_bytes, s->live_bytes, RLX);
	__atomic_store_n(&s->at_peak_calls, s->live_calls, RLX);
	__atomic_store_n(&s->stamp, peak, RLX);
}

/* [hot] There is no other thread. */
MPROF_HOT void change_alone(struct mprof_site_live *s, int64_t bytes, int64_t calls, uint64_t now)
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
	if (heap->live_bytes > heap->peak_bytes) {
		heap->peak_bytes = heap->live_bytes;
		heap->peak_calls = heap->live_calls;
		heap->peak_ticks = now;
	}
}

/* 1: v is the most so far. */
static int rise(int64_t *most, int64_t v)
{
	int64_t old = __atomic_load_n(most, RLX);

	while (v > old)
		if (__atomic_compare_exchange_n(most, &old, v, 0, RLX, RLX))
			return 1;
	return 0;
}

static void change_site(struct mprof_site_live *s, int64_t bytes, int64_t calls)
{
	int64_t live;

	note_peak(s);
	calls = __atomic_add_fetch(&s->live_calls, calls, RLX);
	live = __atomic_add_fetch(&s->live_bytes, bytes, RLX);
	if (rise(&s->local_bytes, live))
		__atomic_store_n(&s->local_calls, calls, RLX);
}

static void change_heap(int64_t bytes, int64_t calls, uint64_t now)
{
	int64_t live;

	calls = __atomic_add_fetch(&heap->live_calls, calls, RLX);
	live = __atomic_add_fetch(&heap->live_bytes, bytes, RLX);
	if (!rise(&heap->peak_bytes, live))
		return;
	__atomic_store_n(&heap->peak_calls, calls, RLX);
	__atomic_store_n(&heap->peak_ticks, now, RLX);
}

/* How much a thread may keep to itself, and what that means for the peak. */
static void set_fold(void)
{
	uint32_t n = __atomic_load_n(&lanes_owned, RLX);
	int64_t bytes = __atomic_load_n(&heap->peak_bytes, RLX) / (PEAK_PART * (n ? n : 1));

	bytes = bytes < FOLD_LEAST ? FOLD_LEAST : bytes > FOLD_MOST ? FOLD_MOST : bytes;
	__atomic_store_n(&fold, bytes, RLX);
	rise((int64_t *)&heap->peak_bound, bytes * n);
}

/* Sites first: until the heap has risen, what they were belongs to the peak before. */
static void fold_lane(struct lane *l, uint64_t now)
{
	for (uint32_t i = 0; i < l->touched_count; i++) {
		struct figures *f = &l->touched[i];

		if (!f->cell->unfolded_bytes && !f->cell->unfolded_calls)
			continue;
		change_site(f->site, f->cell->unfolded_bytes, f->cell->unfolded_calls);
		f->cell->unfolded_bytes = f->cell->unfolded_calls = 0;
	}
	l->touched_count = 0;
	if (l->unfolded_bytes || l->unfolded_calls)
		change_heap(l->unfolded_bytes, l->unfolded_calls, now);
	l->unfolded_bytes = l->unfolded_calls = 0;
	set_fold();
}

MPROF_HOT int is_beyond(int64_t v, int64_t most)
{
	return v >= most || v <= -most;
}

static void change_among(struct lane *l, struct figures f, int64_t bytes, int64_t calls,
			 uint64_t now)
{
	int64_t most = __atomic_load_n(&fold, RLX);

	if (is_beyond(bytes, most)) {
		fold_lane(l, now);
		change_site(f.site, bytes, calls);
		change_heap(bytes, calls, now);
		return;
	}
	if (!f.cell->unfolded_bytes && !f.cell->unfolded_calls) {
		if (l->touched_count == TOUCHED)
			fold_lane(l, now);
		l->touched[l->touched_count++] = f;
	}
	f.cell->unfolded_bytes += (int32_t)bytes;
	f.cell->unfolded_calls += (int32_t)calls;
	l->unfolded_bytes += bytes;
	l->unfolded_calls += calls;
	if (is_beyond(l->unfolded_bytes, most))
		fold_lane(l, now);
}

MPROF_HOT void change(struct lane *l, struct figures f, int64_t bytes, int64_t calls, uint64_t now)
{
	if (mprof_likely(!several))
		change_alone(f.site, bytes, calls, now);
	else
		change_among(l, f, bytes, calls, now);
}

/* ---- where the figures are ---- */

static void *some(unsigned kind, const struct lane *l, uint32_t id, size_t bytes)
{
	return host->live(kind, l ? l->number : 0, id, bytes);
}

/* The one of all threads: whoever is first, makes it.  A loser's stays as zeros. */
static struct mprof_site_live *site_new(uint32_t first)
{
	struct mprof_site_live **row, **no_row = NULL, *site, *none = NULL;
	uint32_t r = first / ROW_IDS, had = __atomic_load_n(&site_rows, RLX);

	while (had <= r && !__atomic_compare_exchange_n(&site_rows, &had, r + 1, 0, RLX, RLX))
		;
	row = __atomic_load_n(&site_row[r], __ATOMIC_ACQUIRE);
	if (!row) {
		row = host->memory(SEATS * sizeof(*row), 4096);
		if (row && !__atomic_compare_exchange_n(&site_row[r], &no_row, row, 0,
							__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			row = no_row;
	}
	if (!row)
		return NULL;
	row += first / MPROF_CELLS % SEATS;
	site = __atomic_load_n(row, __ATOMIC_ACQUIRE);
	if (site)
		return site;
	site = some(MPROF_EXTENT_SITES, NULL, first, MPROF_CELLS * sizeof(*site));
	if (site &&
	    !__atomic_compare_exchange_n(row, &none, site, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		site = none;
	return site;
}

static struct seat **row_of(struct lane *l, uint32_t id)
{
	if (mprof_likely(id < ROWS_NEAR * ROW_IDS))
		return &l->near[id / ROW_IDS];
	if (!l->far)
		l->far = host->memory(ROWS * sizeof(*l->far), 4096);
	return l->far ? &l->far[id / ROW_IDS] : NULL;
}

static MPROF_COLD struct seat *seat_new(struct lane *l, uint32_t id)
{
	struct seat **row = row_of(l, id), *s;
	const uint32_t first = id & -MPROF_CELLS;
	struct mprof_cell *cell;

	if (row && !*row)
		*row = host->memory(SEATS * sizeof(**row), 4096);
	if (!row || !*row)
		return NULL;
	s = &(*row)[id / MPROF_CELLS % SEATS];
	s->site = site_new(first);
	if (!s->site)
		return NULL;
	cell = some(MPROF_EXTENT_CELLS, l, first, MPROF_CELLS * sizeof(*cell));
	s->cell = cell;
	return cell ? s : NULL;
}

/* [hot] NULL: no room for them. */
MPROF_HOT struct seat *seat_of(struct lane *l, uint32_t id)
{
	struct seat *row = mprof_likely(id < ROW_IDS)		    ? l->near[0]
			   : mprof_likely(id < ROWS_NEAR * ROW_IDS) ? l->near[id / ROW_IDS]
			   : l->far				    ? l->far[id / ROW_IDS]
								    : NULL;
	struct seat *s = row ? &row[id / MPROF_CELLS % SEATS] : NULL;

	return mprof_likely(s && s->cell) ? s : seat_new(l, id);
}

static struct mprof_cell_more *more_of(struct lane *l, struct seat *s, uint32_t id)
{
	if (mprof_unlikely(!s->more))
		s->more =
		    some(MPROF_EXTENT_MORE, l, id & -MPROF_CELLS, MPROF_CELLS * sizeof(*s->more));
	return s->more ? &s->more[id % MPROF_CELLS] : NULL;
}

MPROF_HOT struct figures figures_of(const struct seat *s, uint32_t id)
{
	return (struct figures){ &s->cell[id % MPROF_CELLS], &s->site[id % MPROF_CELLS] };
}

static MPROF_COLD void no_room(void)
{
	host->lost(MPROF_LOST_MEMORY, 1);
}

/* ---- one block ---- */

MPROF_HOT unsigned bin_of(uint64_t size)
{
	unsigned bin = size ? 64 - (unsigned)__builtin_clzll(size) : 0;

	return bin < MPROF_SIZE_BINS ? bin : MPROF_SIZE_BINS - 1;
}

MPROF_HOT void note_range(uint32_t *least, uint32_t *most, uint64_t v)
{
	uint32_t r = mprof_rounded(v);

	if (mprof_unlikely(~r > *least))
		*least = ~r;
	if (mprof_unlikely(r > *most))
		*most = r;
}

/* A block has ended.  temporary: its thread's last call handed it out. */
static void settle(struct lane *l, struct live_entry e, uint64_t now, int temporary)
{
	const uint32_t id = live_id(e);
	const uint64_t size = live_size(e), age = live_age(e, now);
	struct seat *s;
	struct figures f;
	struct mprof_cell_more *more;

	/* One of the parent's: it counts there. */
	if (mprof_unlikely(((e.b - began) & LIVE_TICKS) >> 55))
		return;
	s = seat_of(l, id);
	if (mprof_unlikely(!s)) {
		no_room();
		return;
	}
	f = figures_of(s, id);
	f.cell->freed_calls++;
	f.cell->freed_bytes += size;
	/* Another thread's clock may be ahead by a little. */
	if (mprof_likely(!(age >> 55))) {
		f.cell->lifetime += age;
		note_range(&f.cell->lifetime_least, &f.cell->lifetime_most, age);
	} else {
		note_range(&f.cell->lifetime_least, &f.cell->lifetime_most, 0);
	}
	l->disk->freed_sizes[bin_of(size)]++;
	change(l, f, -(int64_t)size, -1, now);
	if (!temporary)
		return;
	more = more_of(l, s, id);
	if (more) {
		more->temporary_calls++;
		more->temporary_bytes += size;
	}
}

static void count(struct lane *l, unsigned fn, uint64_t bytes, unsigned failed)
{
	l->counts->fn[fn].calls++;
	l->counts->fn[fn].bytes += bytes;
	l->counts->fn[fn].failed += failed;
}

/* [hot] The stack of a call; ids beyond what an entry holds are not known. */
MPROF_HOT uint32_t stack_of(struct mprof_thread *t, struct mprof_place at)
{
	uint32_t id = mprof_core.capture ? mprof_core.capture(t, at.pc, at.sp, at.fp) : 0;

	return mprof_likely(id < LIVE_IDS) ? id : 0;
}

/* A block is there.  Returns its seat, NULL: there is no room for its figures. */
static struct seat *settle_in(struct lane *l, uint32_t id, void *ptr, uint64_t size)
{
	const size_t usable = mprof_usable(ptr);
	const uint64_t now = mprof_ticks();
	struct live_entry *place = live_place(&map, &l->room, ptr, usable), before;
	struct seat *s = seat_of(l, id);
	struct figures f;

	if (mprof_unlikely(!place || !s)) {
		no_room();
		return NULL;
	}
	before = *place;
	if (mprof_unlikely(before.a)) {
		l->disk->missed++;
		settle(l, before, now, 0);
	}
	live_put(place, live_entry_of(id, size, now));
	f = figures_of(s, id);
	f.cell->calls++;
	f.cell->bytes += size;
	note_range(&f.cell->size_least, &f.cell->size_most, size);
	l->disk->sizes[bin_of(size)]++;
	change(l, f, (int64_t)size, 1, now);
	l->last = ptr;
	return s;
}

/* [hot] This thread's lane, busy from now on; NULL: keep nothing. */
MPROF_HOT struct lane *begin(struct mprof_thread **thread)
{
	struct mprof_thread *t = mprof_self;

	if (mprof_unlikely(!t->data || t->busy)) {
		t = host->enter();
		if (!t)
			return NULL;
		if (!t->data) {
			no_room();
			return NULL;
		}
	}
	t->busy = mprof_stack();
	compiler_barrier();
	*thread = t;
	return t->data;
}

MPROF_HOT void end(struct mprof_thread *t)
{
	compiler_barrier();
	t->busy = 0;
}

static __attribute__((noinline)) void allocated(unsigned fn, void *ptr, uint64_t size,
						struct mprof_place at)
{
	struct mprof_thread *t;
	struct lane *l = begin(&t);

	if (mprof_unlikely(!l))
		return;
	count(l, fn, size, 0);
	settle_in(l, stack_of(t, at), ptr, size);
	end(t);
}

static __attribute__((noinline)) void freed(unsigned fn, void *ptr)
{
	struct mprof_thread *t;
	struct lane *l = begin(&t);
	struct live_entry e;

	if (mprof_unlikely(!l))
		return;
	count(l, fn, 0, 0);
	if (ptr) {
		e = live_take(&map, ptr, mprof_usable(ptr));
		if (mprof_likely(e.a))
			settle(l, e, mprof_ticks(), l->last == ptr);
		else
			l->disk->strange++;
	}
	l->last = NULL;
	end(t);
}

static MPROF_COLD void failed(unsigned fn, uint64_t bytes)
{
	struct mprof_thread *t;
	struct lane *l = begin(&t);

	if (!l)
		return;
	count(l, fn, 0, bytes != 0);
	l->last = NULL;
	end(t);
}

/* ---- realloc ---- */

/*
 * The old block is taken out at once, because from then on another thread may be given
 * its address; its figures change when the call is over, because until then it lives.
 */
static __attribute__((noinline)) void resize_begins(void *ptr)
{
	struct mprof_thread *t;
	struct lane *l = begin(&t);

	if (mprof_unlikely(!l))
		return;
	l->old_usable = mprof_usable(ptr);
	l->old_ticks = mprof_ticks();
	l->old = live_take(&map, ptr, l->old_usable);
	l->disk->strange += !l->old.a;
	end(t);
}

/* A mapping of its own, which glibc moves without a copy (see the reader's heap.h). */
static int is_own_mapping(const void *ptr, size_t usable)
{
	const uintptr_t page = *host->page_bytes;

	return ((uintptr_t)ptr & (page - 1)) == 16 && ((usable + 16) & (page - 1)) == 0;
}

static void note_resize(struct lane *l, struct seat *s, uint32_t id, const void *old,
			const void *ptr, uint64_t size)
{
	struct mprof_cell_more *more = s ? more_of(l, s, id) : NULL;
	const uint64_t before = live_size(l->old);

	/* A block of the parent's is nobody's old one. */
	if (!more || ((l->old.b - began) & LIVE_TICKS) >> 55)
		return;
	more->reallocs++;
	more->realloc_grown += (int64_t)(size - before);
	if (old == ptr)
		return;
	more->realloc_moved++;
	if (!is_own_mapping(old, l->old_usable) ||
	    !is_own_mapping(ptr, mprof_usable((void *)(uintptr_t)ptr)))
		more->realloc_bytes += size < before ? size : before;
}

static void put_back(struct lane *l, void *old)
{
	struct live_entry *place = live_place(&map, &l->room, old, l->old_usable);

	if (place)
		live_put(place, l->old);
}

static __attribute__((noinline)) void resized(unsigned fn, void *old, void *ptr, uint64_t size,
					      struct mprof_place at)
{
	struct mprof_thread *t;
	struct lane *l = begin(&t);
	struct live_entry e;
	uint32_t id;

	if (mprof_unlikely(!l))
		return;
	e = l->old;
	if (!old)
		e.a = 0;
	count(l, fn, ptr ? size : 0, !ptr && size);
	l->last = NULL;
	if (mprof_unlikely(!ptr && size && e.a))
		put_back(l, old);
	else if (e.a)
		settle(l, e, l->old_ticks, 0);
	if (ptr) {
		struct seat *s;

		id = stack_of(t, at);
		s = settle_in(l, id, ptr, size);
		if (e.a)
			note_resize(l, s, id, old, ptr, size);
	}
	l->old.a = 0;
	end(t);
}

/* ---- hooks ---- */

MPROF_HOT void on_alloc(unsigned fn, void *ptr, size_t size, size_t arg)
{
	allocated(fn, ptr, mprof_bytes(fn, size, arg), mprof_caller());
}
MPROF_HOT void on_fail(unsigned fn, size_t size, size_t arg, unsigned error)
{
	(void)error;
	failed(fn, mprof_bytes(fn, size, arg));
}
MPROF_HOT void on_free(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)size, (void)arg;
	freed(fn, ptr);
}
MPROF_HOT void on_realloc_begin(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)fn, (void)size, (void)arg;
	resize_begins(ptr);
}
MPROF_HOT void on_realloc_end(unsigned fn, void *old, void *ptr, size_t size, size_t arg)
{
	resized(fn, old, ptr, mprof_bytes(fn, size, arg), mprof_caller());
}

/* Memory that goes is counted by function only. */
static int is_growth(unsigned fn, const uint64_t value[4], unsigned error)
{
	return !error && fn != MPROF_FN_MUNMAP && (fn < MPROF_FN_BRK || value[0] > value[2]);
}

static void note_map(unsigned fn, uint64_t ticks, const uint64_t value[4], unsigned error)
{
	struct mprof_thread *t;
	struct lane *l = begin(&t);
	struct mprof_cell_more *more;
	struct seat *s;
	uint32_t id;

	(void)ticks;
	if (!l)
		return;
	count(l, fn, error ? 0 : value[1], error != 0);
	if (is_growth(fn, value, error)) {
		id = stack_of(t, mprof_caller());
		s = seat_of(l, id);
		more = s ? more_of(l, s, id) : NULL;
		if (more) {
			more->map_calls++;
			more->map_bytes += value[1];
		} else {
			no_room();
		}
	}
	end(t);
}

static void note_control(unsigned what, uint64_t value)
{
	(void)value;
	/* Before the second thread is there. */
	if (what == MPROF_CONTROL_THREAD_CREATE && !several) {
		__atomic_store_n(&several, 1, RLX);
		if (heap)
			heap->several = 1;
	}
}

#include <mprof/template.h>

/* ---- processes and threads ---- */

static int start(const struct mprof_host *h)
{
	host = h;
	fold = FOLD_LEAST;
	h->stacks_start(); /* without memory for them, there is one site */
	if (live_start(&map, h->memory) < 0) {
		h->note("no memory for the table of live blocks");
		return -ENOMEM;
	}
	began = mprof_ticks();
	return h->file_open(MPROF_MAGIC_PROFILE, h->config->profile_path);
}

/* The child has the table of live blocks, and none of what was mapped from the file. */
static void forked(void)
{
	several = 0;
	fold = FOLD_LEAST;
	heap = NULL;
	lanes = NULL;
	lanes_made = lanes_owned = 0;
	for (uint32_t i = 0; i < site_rows; i++)
		site_row[i] = NULL;
	site_rows = 0;
	began = mprof_ticks();
}

static struct mprof_heap_totals *heap_new(void)
{
	struct mprof_heap_totals *h = some(MPROF_EXTENT_HEAP, NULL, 0, sizeof(*h)), *none = NULL;

	if (!h)
		return NULL;
	h->began_ticks = began;
	h->several = several;
	/* Two threads may come at once where one was made by a raw clone. */
	return __atomic_compare_exchange_n(&heap, &none, h, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
		   ? h
		   : none;
}

/* One whose thread has ended, when there are enough to keep threads apart. */
static struct lane *lane_again(void)
{
	struct lane *l = NULL;

	if (__atomic_load_n(&lanes_made, RLX) < LANES_KEPT ||
	    __atomic_load_n(&lanes_owned, RLX) >= __atomic_load_n(&lanes_made, RLX))
		return NULL;
	for (l = __atomic_load_n(&lanes, __ATOMIC_ACQUIRE); l; l = l->next) {
		uint32_t none = 0;

		if (!__atomic_load_n(&l->owned, RLX) &&
		    __atomic_compare_exchange_n(&l->owned, &none, 1, 0, __ATOMIC_ACQUIRE, RLX))
			break;
	}
	return l;
}

static struct lane *lane_new(struct mprof_thread *t)
{
	struct lane *l = host->memory(sizeof(*l), sizeof(*l));

	if (!l)
		return NULL;
	l->number = t->number;
	l->counts = host->counts_take(t);
	l->disk = some(MPROF_EXTENT_LANE, l, 0, sizeof(*l->disk));
	if (!l->counts || !l->disk)
		return NULL;
	l->owned = 1;
	__atomic_fetch_add(&lanes_made, 1, RLX);
	l->next = __atomic_load_n(&lanes, RLX);
	while (!__atomic_compare_exchange_n(&lanes, &l->next, l, 1, __ATOMIC_RELEASE, RLX))
		;
	return l;
}

static void thread_start(struct mprof_thread *t)
{
	struct lane *l;
	uint32_t owned;

	if (!__atomic_load_n(&heap, __ATOMIC_ACQUIRE) && !heap_new())
		return;
	l = lane_again();
	if (!l)
		l = lane_new(t);
	if (!l)
		return;
	l->disk->threads++;
	l->disk->owned = 1;
	owned = __atomic_add_fetch(&lanes_owned, 1, RLX);
	if (owned > heap->lanes)
		heap->lanes = owned;
	if (owned > 1 && !several) {
		__atomic_store_n(&several, 1, RLX);
		heap->several = 1;
	}
	t->data = l;
}

/* What the thread at hand kept to itself, at an end. */
static void flush(struct mprof_thread *t)
{
	if (t->data && several)
		fold_lane(t->data, mprof_ticks());
}

static void thread_exit(struct mprof_thread *t)
{
	struct lane *l = t->data;

	flush(t);
	t->data = NULL;
	if (!l)
		return;
	l->counts->end_ticks = mprof_ticks();
	l->disk->owned = 0;
	l->last = NULL;
	__atomic_fetch_sub(&lanes_owned, 1, RLX);
	/* Pairs with the acquire in lane_again(): the lane is as its thread left it. */
	__atomic_store_n(&l->owned, 0, __ATOMIC_RELEASE);
}

const struct mprof_mode_ops mprof_mode_profile MPROF_SHARED = {
	.abi = MPROF_MODULE_ABI,
	.name = "Profile",
	.help = "totals of every call stack, in the profile PROFILE_PATH",
	.api = &mode_api,
	.start = start,
	.thread_start = thread_start,
	.thread_exit = thread_exit,
	.flush = flush,
	.forked = forked,
};
