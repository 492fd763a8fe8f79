/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * lanes.h - where MODEs that keep totals store their figures: a cell for each thread and stack, a
 * site for each stack, the heap of the process.
 *
 * Define LANE_CELL, the struct of a cell, and LANE_CELL_KIND, the extents that contain MPROF_CELLS
 * of them in LANE_CELLS_BYTES, then include this file once; LANE_MORE may add fields to a lane.
 * FORMAT.md section 10 explains all of them.
 *
 * Cells belong to a lane: one thread uses it, and another one after that has ended, so the number
 * of threads is unlimited.  Only the thread that owns the lane writes to them, between begin() and
 * end(), where t->busy excludes the calls of its signal handlers.
 */
#ifndef MPROF_LANES_H
#define MPROF_LANES_H

#include <errno.h>
#include <mprof/filters.h>
#include <mprof/live.h>
#include <mprof/module.h>
#include <mprof/program.h>

#ifndef LANE_CELL
#define LANE_CELL	 struct mprof_cell
#define LANE_CELL_KIND	 MPROF_EXTENT_CELLS
#define LANE_CELLS_BYTES sizeof(struct mprof_cells)
#endif

#define RLX __ATOMIC_RELAXED

#define ROW_CELLS    256u /* runs of MPROF_CELLS stacks in a row */
#define ROW_IDS	     (ROW_CELLS * MPROF_CELLS)
#define ROWS	     (LIVE_IDS / ROW_IDS)
#define ROWS_NEAR    16u
#define LANE_TOUCHED 32u
#define LANES_KEPT   256u /* before one is reused, so that threads rarely share one */

/* The figures of MPROF_CELLS stacks. */
struct accumulator {
	LANE_CELL *cell;
	struct mprof_site_live *site;
	struct mprof_cell_more *more;	/* NULL until needed */
	struct mprof_cell_sizes *sizes; /* NULL until needed, and without SITE_SIZES */
};

struct figures {
	LANE_CELL *cell;
	struct mprof_site_live *site;
};

/* The part of a lane outside the file. */
struct lane {
	struct mprof_lane *disk;
	struct mprof_counts *counts;
	struct accumulator *near[ROWS_NEAR], **far;
	int64_t unfolded_bytes, unfolded_calls;
	void *last; /* the block that the last call returned */
	struct live_room room;
	uint32_t epoch;	  /* header.paused when last read; EPOCH_NEVER = check again */
	uint32_t cleared; /* number of clears that this lane has carried out */
	uint32_t ignored; /* 1 if THREADS excludes the thread: count no new blocks */
	uint32_t keep;	  /* enum mprof_keep: the program's choice for this thread */
	/* The block passed to a realloc that is in progress. */
	struct live_entry old;
	size_t old_usable;
	uint64_t old_ticks;
	uint32_t number; /* number of the first thread that used it */
	uint32_t owned;
	uint32_t touched_count; /* cells with changes that are not folded yet */
	struct figures touched[LANE_TOUCHED];
#ifdef LANE_MORE
	LANE_MORE
#endif
	struct lane *next;
};

static const struct mprof_host *host;
static struct live_map map;
static uint32_t several; /* 1 if the process has, or had, several threads */
static uint64_t began;	 /* when recording began; older blocks belong to the parent */
static struct mprof_heap_totals *heap;
static struct lane *lanes; /* all lanes */
static uint32_t lanes_made, lanes_owned;
static struct mprof_site_live ***site_row;	      /* ROWS */
static uint32_t site_rows;			      /* rows in use */
static uint64_t stack_least, stack_span = UINT64_MAX; /* sizes of blocks that get a stack */
static uint32_t threads_seen;
static const uint32_t *word; /* header.paused: 1 paused, plus 2 for each clear */
static uint32_t cleared;     /* the value that this process has noticed ... */
static int notes_past;	     /* is the file a profile? */
static uint32_t cleared_all; /* ... and the value that it has carried out */
#define EPOCH_NEVER UINT32_MAX
#define CLEAR_LOOKS (1u << 17) /* in ticks; a few milliseconds */

#define compiler_barrier() __asm__ volatile("" ::: "memory")

/* ---- the peak ---- */

/* Call it before live figures change.  If the site has not changed since the last peak, its
 * figures are the ones at that peak. */
MPROF_HOT void note_peak(struct mprof_site_live *s)
{
	int64_t peak = __atomic_load_n(&heap->peak_bytes, RLX);

	if (s->stamp == peak)
		return;
	__atomic_store_n(&s->at_peak_bytes, s->live_bytes, RLX);
	__atomic_store_n(&s->at_peak_calls, s->live_calls, RLX);
	__atomic_store_n(&s->stamp, peak, RLX);
}

/* Raises *most to v; 1 if v is a new maximum. */
static inline int rise(int64_t *most, int64_t v)
{
	int64_t old = __atomic_load_n(most, RLX);

	while (v > old)
		if (__atomic_compare_exchange_n(most, &old, v, 0, RLX, RLX))
			return 1;
	return 0;
}

static inline void change_site(struct mprof_site_live *s, int64_t bytes, int64_t calls)
{
	int64_t live;

	note_peak(s);
	calls = __atomic_add_fetch(&s->live_calls, calls, RLX);
	live = __atomic_add_fetch(&s->live_bytes, bytes, RLX);
	if (rise(&s->local_bytes, live))
		__atomic_store_n(&s->local_calls, calls, RLX);
}

/* id: the stack that allocated last, 0 if none. */
static inline void change_heap(int64_t bytes, int64_t calls, uint64_t now, uint32_t id)
{
	int64_t live;

	calls = __atomic_add_fetch(&heap->live_calls, calls, RLX);
	live = __atomic_add_fetch(&heap->live_bytes, bytes, RLX);
	if (rise(&heap->step_bytes, live)) {
		__atomic_store_n(&heap->step_calls, calls, RLX);
		__atomic_store_n(&heap->step_ticks, now, RLX);
		__atomic_store_n(&heap->step_stack, id, RLX);
	}
	if (!rise(&heap->peak_bytes, live))
		return;
	__atomic_store_n(&heap->peak_calls, calls, RLX);
	__atomic_store_n(&heap->peak_ticks, now, RLX);
}

/* ---- dumps, and the course over time ---- */

/* Notes what is live of each stack, so that a reader sees which ones grow. */
static MPROF_COLD void note_past(void)
{
	for (uint32_t r = 0; r < __atomic_load_n(&site_rows, RLX); r++) {
		struct mprof_site_live **row = __atomic_load_n(&site_row[r], __ATOMIC_ACQUIRE);

		for (uint32_t i = 0; row && i < ROW_CELLS * MPROF_CELLS; i++) {
			struct mprof_site_live *s =
			    __atomic_load_n(&row[i / MPROF_CELLS], __ATOMIC_ACQUIRE);
			int64_t live;

			if (!s)
				continue;
			s += i % MPROF_CELLS;
			live = __atomic_load_n(&s->live_bytes, RLX);
			if (live <= 0 && !s->past[1] && !s->past[0])
				continue;
			s->past[0] = s->past[1];
			s->past[1] = mprof_rounded(live > 0 ? (uint64_t)live : 0);
		}
	}
}

/* Stores the sums so far in the heap totals; past: also those of each stack. */
static inline void note_sums(int past)
{
	uint64_t calls = 0, bytes = 0;

	for (const struct lane *l = __atomic_load_n(&lanes, __ATOMIC_ACQUIRE); l; l = l->next) {
		const struct mprof_counts_fn *fn = l->counts->fn;

#define SUM_ALLOC(code)	  calls += fn[code].calls - fn[code].failed, bytes += fn[code].bytes;
#define SUM_REALLOC(code) SUM_ALLOC(code)
#define SUM_FREE(code)
#define SUM_MAP(code)
#define MPROF_FUNCTION(id, code, name, class) SUM_##class(code)
#include <mprof/functions.def>
	}
	heap->calls = calls;
	heap->bytes = bytes;
	if (past && notes_past)
		note_past();
}

/* ---- where the figures are ---- */

static inline void *some(unsigned kind, const struct lane *l, uint32_t id, size_t bytes)
{
	return host->live(kind, l ? l->number : 0, id, bytes);
}

/* Shared by all threads: the first one creates it.  A copy that another thread made meanwhile
 * stays zero. */
static inline struct mprof_site_live *site_new(uint32_t first)
{
	struct mprof_site_live **row, **no_row = NULL, *site, *none = NULL;
	uint32_t r = first / ROW_IDS, had = __atomic_load_n(&site_rows, RLX);

	while (had <= r && !__atomic_compare_exchange_n(&site_rows, &had, r + 1, 0, RLX, RLX))
		;
	row = __atomic_load_n(&site_row[r], __ATOMIC_ACQUIRE);
	if (!row) {
		row = (struct mprof_site_live **)host->memory(ROW_CELLS * sizeof(*row), 4096);
		if (row && !__atomic_compare_exchange_n(&site_row[r], &no_row, row, 0,
							__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			row = no_row;
	}
	if (!row)
		return NULL;
	row += first / MPROF_CELLS % ROW_CELLS;
	site = __atomic_load_n(row, __ATOMIC_ACQUIRE);
	if (site)
		return site;
	site = (struct mprof_site_live *)some(MPROF_EXTENT_SITES, NULL, first,
					      MPROF_CELLS * sizeof(*site));
	if (site &&
	    !__atomic_compare_exchange_n(row, &none, site, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		site = none;
	return site;
}

static inline struct accumulator **row_of(struct lane *l, uint32_t id)
{
	if (mprof_likely(id < ROWS_NEAR * ROW_IDS))
		return &l->near[id / ROW_IDS];
	if (!l->far)
		l->far = (struct accumulator **)host->memory(ROWS * sizeof(*l->far), 4096);
	return l->far ? &l->far[id / ROW_IDS] : NULL;
}

static MPROF_COLD struct accumulator *accumulator_new(struct lane *l, uint32_t id)
{
	struct accumulator **row = row_of(l, id), *s;
	const uint32_t first = id & -MPROF_CELLS;
	LANE_CELL *cell;

	if (row && !*row)
		*row = (struct accumulator *)host->memory(ROW_CELLS * sizeof(**row), 4096);
	if (!row || !*row)
		return NULL;
	s = &(*row)[id / MPROF_CELLS % ROW_CELLS];
	s->site = site_new(first);
	if (!s->site)
		return NULL;
	cell = (LANE_CELL *)some(LANE_CELL_KIND, l, first, LANE_CELLS_BYTES);
	s->cell = cell;
	return cell ? s : NULL;
}

/* [hot] NULL if there is no space for them. */
MPROF_HOT struct accumulator *accumulator_of(struct lane *l, uint32_t id)
{
	struct accumulator *row = mprof_likely(id < ROW_IDS)		   ? l->near[0]
				  : mprof_likely(id < ROWS_NEAR * ROW_IDS) ? l->near[id / ROW_IDS]
				  : l->far				   ? l->far[id / ROW_IDS]
									   : NULL;
	struct accumulator *s = row ? &row[id / MPROF_CELLS % ROW_CELLS] : NULL;

	return mprof_likely(s && s->cell) ? s : accumulator_new(l, id);
}

MPROF_HOT struct figures figures_of(const struct accumulator *s, uint32_t id)
{
	struct figures f = { &s->cell[id % MPROF_CELLS], &s->site[id % MPROF_CELLS] };

	return f;
}

/* Ends recording, unless the disk was full: that has ended it already. */
static MPROF_COLD void no_room(void)
{
	host->stop(MPROF_LOST_MEMORY, "no memory or address space for the recording");
}

MPROF_HOT void note_range(uint32_t *least, uint32_t *most, uint64_t v)
{
	uint32_t r = mprof_rounded(v);

	if (mprof_unlikely(~r > *least))
		*least = ~r;
	if (mprof_unlikely(r > *most))
		*most = r;
}

/*
 * Blocks that STACK_MIN_SIZE and STACK_MAX_SIZE exclude are counted with the stack of one of these
 * functions, whose return address is unknown: the stack ends there, and the name explains it.
 */
#if defined(__x86_64__)
#define OUTERMOST ".cfi_undefined rip\n\t.rept 8\n\tnop\n\t.endr"
#else
#define OUTERMOST ".cfi_undefined x30\n\t.rept 8\n\tnop\n\t.endr"
#endif
static __attribute__((used, noinline)) void small_blocks(void)
{
	__asm__ volatile(OUTERMOST);
}
static __attribute__((used, noinline)) void large_blocks(void)
{
	__asm__ volatile(OUTERMOST);
}

/* [hot] The stack of a call; 0 if its id does not fit an entry. */
MPROF_HOT uint32_t stack_of(struct mprof_thread *t, struct mprof_place at, uint64_t size)
{
	uint32_t id;

	if (mprof_unlikely(size - stack_least > stack_span))
		at.pc = (uintptr_t)(size < stack_least ? small_blocks : large_blocks) + 8;
	id = mprof_core.capture ? mprof_core.capture(t, at.pc, at.sp, at.fp) : 0;

	return mprof_likely(id < LIVE_IDS) ? id : 0;
}

/* [hot] This thread's lane, now busy; NULL if nothing is recorded. */
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
	return (struct lane *)t->data;
}

MPROF_HOT void end(struct mprof_thread *t)
{
	compiler_barrier();
	t->busy = 0;
}

/* ---- processes and threads ---- */

/* Called by start().  0 or -errno, with a note to the user. */
static inline int lanes_start(const struct mprof_host *h, const char *magic, const char *path)
{
	int error;

	host = h;
	h->stacks_start(); /* if out of memory, there is one site */
	/* Not a static array, because every program would map it. */
	site_row = (struct mprof_site_live ***)h->memory(ROWS * sizeof(*site_row), 4096);
	if (!site_row || live_start(&map, h->memory) < 0) {
		h->note("no memory for the table of live blocks");
		return -ENOMEM;
	}
	stack_least = h->config->stack_min_size;
	stack_span = (h->config->stack_max_size ? h->config->stack_max_size : UINT64_MAX);
	stack_span = stack_span > stack_least ? stack_span - stack_least : 0;
	notes_past = __builtin_memcmp(magic, MPROF_MAGIC_PROFILE, MPROF_MAGIC_SIZE) == 0;
	error = h->file_open(magic, path);
	began = mprof_ticks(); /* by the clock of the file */
	word = h->paused();
	cleared = *word >> 1;
	return error;
}

/* The child inherits the table of live blocks, but no mappings of the file. */
static inline void lanes_forked(void)
{
	several = 0;
	heap = NULL;
	lanes = NULL;
	lanes_made = lanes_owned = threads_seen = 0;
	cleared = __atomic_load_n(word, RLX) >> 1;
	for (uint32_t i = 0; i < site_rows; i++)
		site_row[i] = NULL;
	site_rows = 0;
	began = mprof_ticks();
}

static inline struct mprof_heap_totals *heap_new(void)
{
	struct mprof_heap_totals *h = (struct mprof_heap_totals *)some(MPROF_EXTENT_HEAP, NULL, 0,
								       sizeof(*h)),
				 *none = NULL;

	if (!h)
		return NULL;
	h->began_ticks = began;
	h->several = several;
	/* Two threads may come at once if one was created by a raw clone. */
	return __atomic_compare_exchange_n(&heap, &none, h, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
		   ? h
		   : none;
}

/* Finds a lane whose thread has ended, if there are enough lanes to keep threads apart. */
static inline struct lane *lane_again(void)
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

static inline struct lane *lane_new(struct mprof_thread *t)
{
	struct lane *l = (struct lane *)host->memory(sizeof(*l), sizeof(*l));

	if (!l)
		return NULL;
	l->number = t->number;
	l->cleared = __atomic_load_n(&cleared, RLX);
	l->counts = host->counts_take(t);
	l->disk = (struct mprof_lane *)some(MPROF_EXTENT_LANE, l, 0, sizeof(*l->disk));
	if (!l->counts || !l->disk)
		return NULL;
	l->owned = 1;
	__atomic_fetch_add(&lanes_made, 1, RLX);
	l->next = __atomic_load_n(&lanes, RLX);
	while (!__atomic_compare_exchange_n(&lanes, &l->next, l, 1, __ATOMIC_RELEASE, RLX))
		;
	return l;
}

/* ---- mprof ctl: pause, clear ---- */

static void rows_clear(struct accumulator *row)
{
	for (uint32_t i = 0; row && i < ROW_CELLS; i++) {
		if (row[i].cell)
			__builtin_memset(row[i].cell, 0, LANE_CELLS_BYTES);
		if (row[i].more)
			__builtin_memset(row[i].more, 0, MPROF_CELLS * sizeof(*row[i].more));
		if (row[i].sizes)
			__builtin_memset(row[i].sizes, 0, MPROF_CELLS * sizeof(*row[i].sizes));
	}
}

/* Clears the lane's figures in the file. */
static void lane_clear(struct lane *l)
{
	for (uint32_t i = 0; i < ROWS_NEAR; i++)
		rows_clear(l->near[i]);
	for (uint32_t i = 0; l->far && i < ROWS; i++)
		rows_clear(l->far[i]);
	__builtin_memset(l->counts->fn, 0, sizeof(l->counts->fn));
	l->disk->missed = l->disk->strange = 0;
	l->disk->unmap_calls = l->disk->unmap_bytes = 0;
	__builtin_memset(l->disk->sizes, 0, sizeof(l->disk->sizes));
	__builtin_memset(l->disk->freed_sizes, 0, sizeof(l->disk->freed_sizes));
}

/*
 * The first thread that notices clears for all.  A thread in the middle of a call may restore a
 * figure; it clears its lane again before its next call.  Earlier blocks then count like those that
 * a forked child inherits from its parent.
 */
static void all_clear(void)
{
	__atomic_store_n(&began, mprof_ticks(), RLX);
	heap->began_ticks = began;
	for (struct lane *l = __atomic_load_n(&lanes, __ATOMIC_ACQUIRE); l; l = l->next)
		lane_clear(l);
	for (uint32_t r = 0; r < __atomic_load_n(&site_rows, RLX); r++) {
		struct mprof_site_live **row = __atomic_load_n(&site_row[r], __ATOMIC_ACQUIRE);

		for (uint32_t i = 0; row && i < ROW_CELLS; i++)
			if (row[i])
				__builtin_memset(row[i], 0, MPROF_CELLS * sizeof(*row[i]));
	}
	__atomic_store_n(&heap->live_bytes, 0, RLX);
	__atomic_store_n(&heap->live_calls, 0, RLX);
	__atomic_store_n(&heap->peak_bytes, 0, RLX);
	__atomic_store_n(&heap->peak_calls, 0, RLX);
	heap->peak_bound = heap->peak_ticks = 0;
	__atomic_store_n(&heap->step_bytes, 0, RLX);
	__atomic_store_n(&heap->step_stack, 0, RLX);
}

/*
 * Waits until the thread that clears is done, because it would discard figures that are counted
 * before.  The wait is bounded: that thread may be stopped, or be a thread of the parent.
 */
static void wait_for_clear(uint32_t number)
{
	for (uint32_t i = 0; i < CLEAR_LOOKS; i++) {
		if (__atomic_load_n(&cleared_all, __ATOMIC_ACQUIRE) == number)
			return;
#if defined(__x86_64__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ volatile("isb" ::: "memory");
#endif
	}
}

/* Handles a word that differs from the lane's epoch.  1: keep no new blocks. */
static MPROF_COLD int lane_attend(struct lane *l)
{
	uint32_t now = __atomic_load_n(word, RLX), had = __atomic_load_n(&cleared, RLX);
	int none;

	if (l->cleared != now >> 1) {
		if (had != now >> 1 &&
		    __atomic_compare_exchange_n(&cleared, &had, now >> 1, 0, RLX, RLX)) {
			all_clear();
			__atomic_store_n(&cleared_all, now >> 1, __ATOMIC_RELEASE);
		} else {
			wait_for_clear(now >> 1);
			lane_clear(l);
		}
		l->unfolded_bytes = l->unfolded_calls = 0;
		l->touched_count = 0;
		l->last = NULL;
		l->cleared = now >> 1;
	}
	none = l->keep ? l->keep == MPROF_KEEP_NONE : l->ignored || now & 1;
	l->epoch = none ? EPOCH_NEVER : now;
	return none;
}

/* Implements thread_keep of struct mprof_mode_ops. */
static inline void lane_keep(unsigned keep)
{
	struct mprof_thread *t = host->enter();
	struct lane *l = t ? (struct lane *)t->data : NULL;

	if (!l || keep > MPROF_KEEP_NONE)
		return;
	l->keep = keep;
	l->epoch = EPOCH_NEVER;
}

/* [hot] Are new blocks of this thread excluded?  Call it for each call, because it also notices
 * a clear. */
MPROF_HOT int lane_paused(struct lane *l)
{
	return mprof_unlikely(__atomic_load_n(word, RLX) != l->epoch) && lane_attend(l);
}

/* Called by thread_start(): sets t->data to its lane, or NULL. */
static inline void lane_start(struct mprof_thread *t)
{
	struct lane *l;
	uint32_t owned, most;

	if (!__atomic_load_n(&heap, __ATOMIC_ACQUIRE) && !heap_new())
		return;
	l = lane_again();
	if (!l)
		l = lane_new(t);
	if (!l)
		return;
	l->ignored =
	    *host->config->threads &&
	    !mprof_ranges_have(host->config->threads, __atomic_add_fetch(&threads_seen, 1, RLX));
	l->keep = MPROF_KEEP_AS_OTHERS;
	l->epoch = EPOCH_NEVER;
	l->disk->threads++;
	l->disk->owned = 1;
	owned = __atomic_add_fetch(&lanes_owned, 1, RLX);
	most = __atomic_load_n(&heap->lanes, RLX);
	while (most < owned &&
	       !__atomic_compare_exchange_n(&heap->lanes, &most, owned, 0, RLX, RLX))
		;
	if (owned > 1 && !several) {
		__atomic_store_n(&several, 1, RLX);
		heap->several = 1;
	}
	t->data = l;
}

/* Called by thread_exit(). */
static inline void lane_exit(struct mprof_thread *t)
{
	struct lane *l = (struct lane *)t->data;

	t->data = NULL;
	if (!l)
		return;
	l->counts->end_ticks = mprof_ticks();
	l->disk->owned = 0;
	l->last = NULL;
	__atomic_fetch_sub(&lanes_owned, 1, RLX);
	/* Pairs with the acquire in lane_again(), which sees all that this thread stored. */
	__atomic_store_n(&l->owned, 0, __ATOMIC_RELEASE);
}

#endif
