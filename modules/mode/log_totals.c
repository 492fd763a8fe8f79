// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * log_totals.c - MODE=LogMmap of a run that does not keep every event: besides events, keeps totals
 * of every call stack.
 *
 * With LAST_BYTES or LAST_SECONDS old events are dropped; with BUDGET or OVERHEAD new ones are
 * omitted: first of the busiest stacks, in steps, then of all.  Totals cover the whole run,
 * exactly, in a space that does not grow with the number of calls.  They are mapped from the trace
 * (lanes.h), so they survive however the process ends.
 *
 * busiest.h says which stacks are the busiest.  A block of such a stack gets a mark in the table of
 * live blocks if its allocation is not an event; then its end is none, either, wherever it is freed
 * and whichever process inherited it.  So the events are all those of some blocks: every block that
 * has a beginning in the trace has its end there.  Until a stack's log_end, these are all of its
 * blocks.
 *
 * host->log_end() is the time after which no events are kept, for all threads of all processes. The
 * time of an event is taken before log_end is read.  So either the event is stored, or it is later
 * than log_end; readers ignore later events.
 */
#include <mprof/log.h>
#include <sys/mman.h>

#define LANE_MORE                                                                      \
	LATE_LANE                                                                      \
	uint32_t look_left; /* calls to the next one that both_look() sees; 0: none */ \
	uint64_t look_random;                                                          \
	struct live_room mappings_room;
#include <mprof/busiest.h>
#include <mprof/late.h>

#define LOOK_CALLS 64u /* one of these, on average */

/* In place of stacks: */
#define NO_EVENT   UINT32_MAX
#define NULL_FREES (LIVE_IDS - 1) /* of frees without a block */

static uint64_t look_from;	  /* as in log_mmap.c */
static const uint64_t *log_ended; /* in ticks; 0: events are kept */
static struct busiest *busiest;	  /* NULL if all stacks keep their events */
static const uint32_t *log_steps;
static uint32_t steps_taken;
static struct live_map mappings; /* used if busiest is not NULL */

/* [hot] Are events of this time kept?  0 counts as later than any time. */
MPROF_HOT int both_logs(uint64_t ticks)
{
	return mprof_likely(ticks - 1 <= __atomic_load_n(log_ended, RLX) - 1);
}

/* [hot] The stack of a call; the record is busy. */
MPROF_HOT uint32_t both_stack(struct mprof_thread *t, struct mprof_place at)
{
	return mprof_core.capture ? mprof_core.capture(t, at.pc, at.sp, at.fp) : 0;
}

/* [hot] The same for totals, which have fewer numbers. */
MPROF_HOT uint32_t both_id(uint32_t stack)
{
	return mprof_likely(stack < NULL_FREES) ? stack : 0;
}

/* ---- fewer events ---- */

/* If the process is to take a step, the first thread that sees enough calls takes it. */
static void both_step(void)
{
	const uint32_t steps = __atomic_load_n(log_steps, RLX);
	uint32_t had = __atomic_load_n(&steps_taken, RLX);

	if (steps != had && busiest_says(busiest) &&
	    __atomic_compare_exchange_n(&steps_taken, &had, steps, 0, RLX, RLX))
		busiest_reduce(busiest);
}

/* Sees calls that are randomly chosen, so that a periodic program does not bias it. */
static MPROF_COLD void both_look(struct lane *l, uint64_t since, uint32_t id)
{
	const uint64_t now = mprof_ticks();

	if (!busiest)
		return;
	if (!l->look_random)
		l->look_random = chance_start(host->config->seed, now, l->number);
	l->look_left = (uint32_t)chance_even(&l->look_random, LOOK_CALLS);
	log_look(0, now);
	if (id != NO_EVENT)
		busiest_note(busiest, id);
	both_step();
	if (host->config->overhead && host->spent(now, now - since, LOOK_CALLS))
		late_begin();
}

/*
 * [hot] For a call that began at this time.  id: the stack of its block, or NO_EVENT if the call is
 * no event.
 */
MPROF_HOT void both_end(struct mprof_thread *t, struct lane *l, uint64_t since, uint32_t id)
{
	if (mprof_unlikely(!--l->look_left))
		both_look(l, since, id);
	end(t);
}

static void both_note_log_end(struct mprof_site_live *site, uint64_t now)
{
	uint64_t had = __atomic_load_n(&site->log_end, RLX);

	while ((!had || now < had) &&
	       !__atomic_compare_exchange_n(&site->log_end, &had, now, 0, RLX, RLX))
		;
}

/* The same for a mapping. */
static void both_note_log_end_of(struct lane *l, uint32_t id, uint64_t now)
{
	struct accumulator *s = accumulator_of(l, id);

	if (s)
		both_note_log_end(&s->site[id % MPROF_CELLS], now);
}

/* A new block in the totals. */
struct settled {
	struct accumulator *s; /* NULL if its figures do not fit */
	uint32_t id;	       /* its stack; NO_EVENT if it is not recorded */
};

/* Counts a new block. */
static struct settled both_settle_in(struct lane *l, uint32_t id, void *ptr, size_t bytes,
				     size_t usable, uint64_t now)
{
	const uint32_t mark = busiest_is_reduced(busiest, id) ? LIVE_UNLOGGED : 0;
	struct settled in = {
		profile_settle_at(l, accumulator_of(l, id), id, mark, ptr, bytes, usable, now), id
	};

	/* A block without an entry has no mark, so its end will be an event. */
	if (mark && in.s) {
		in.id = NO_EVENT;
		both_note_log_end(&in.s->site[id % MPROF_CELLS], now);
	}
	return in;
}

static void both_put(struct mprof_thread *t, const struct log_event *e)
{
	if (both_logs(e->ticks))
		log_put_event(t, e);
}

/* ---- allocations ---- */

static MPROF_COLD void both_put_block(struct mprof_thread *t, unsigned tag, unsigned fn,
				      uint64_t ticks, void *ptr, size_t size, size_t usable,
				      size_t arg, uint32_t stack)
{
	const struct log_event e = {
		.tag = tag,
		.fn = fn,
		.flags = LOG_RETURNS_BLOCK | LOG_HAS_STACK,
		.ticks = ticks,
		.v = { (uintptr_t)ptr, size, usable, arg },
		.touched = -1,
		.stack = stack,
	};

	log_look(0, ticks);
	both_put(t, &e);
}

/* [hot] The block as one word, if it fits. */
MPROF_HOT void both_log_block(struct mprof_thread *t, unsigned fn, uint64_t ticks, void *ptr,
			      size_t size, size_t usable, size_t arg, uint32_t stack)
{
	const unsigned tag =
	    fn == MPROF_FN_REALLOC ? MPROF_TAG_REALLOC_END : log_tag_of_alloc(fn, arg);

	if (mprof_likely(tag && t->end - t->cur > log_block_words(fn) && both_logs(ticks))) {
		if (stack != t->last_stack) {
			log_put(t, mprof_word_stack(0, stack));
			t->last_stack = stack;
		}
		if (mprof_likely(log_put_block(t, tag, fn, ticks, ptr, size, usable, arg)))
			return;
	}
	both_put_block(t, tag, fn, ticks, ptr, size, usable, arg, stack);
}

/* Reads the size of the process and pages of a large block.  Returns the event's time. */
static MPROF_COLD uint64_t both_look_at_new(unsigned fn, void *ptr, size_t usable, uint64_t ticks)
{
	if (usable >= LOG_LARGE && log_look(1, ticks) && fn != MPROF_FN_CALLOC &&
	    fn != MPROF_FN_REALLOC && fn != MPROF_FN_REALLOCARRAY)
		ticks = mprof_ticks();
	if (look_from && usable >= look_from)
		host->resident_begin(ptr, usable);
	return ticks;
}

static __attribute__((noinline)) void both_allocated(unsigned fn, void *ptr, size_t size,
						     size_t arg, struct mprof_place at)
{
	const size_t usable = mprof_usable(ptr), bytes = mprof_bytes(fn, size, arg);
	uint64_t now = mprof_ticks();
	struct mprof_thread *t;
	struct lane *l;
	struct settled in;
	uint32_t stack;

	if (mprof_unlikely(usable >= LOG_LARGE || (look_from && usable >= look_from)))
		now = both_look_at_new(fn, ptr, usable, now);
	l = begin(&t);
	if (mprof_unlikely(!l))
		return;
	stack = both_stack(t, at);
	in = both_settle_in(l, both_id(stack), ptr, bytes, usable, now);
	profile_count(l, fn, bytes, 0);
	if (in.id != NO_EVENT)
		both_log_block(t, fn, now, ptr, size, usable, arg, stack);
	both_end(t, l, now, in.id);
}

static MPROF_COLD void both_failed(unsigned fn, size_t size, size_t arg, unsigned error,
				   struct mprof_place at)
{
	struct log_event e = { .fn = fn,
			       .error = error,
			       .ticks = mprof_ticks(),
			       .v = { 0, size, 0, arg },
			       .at = at,
			       .touched = -1 };
	struct mprof_thread *t;
	struct lane *l;

	if (!error && size)
		e.error = (unsigned)*mprof_core.error();
	l = begin(&t);
	if (!l)
		return;
	profile_count(l, fn, 0, mprof_bytes(fn, size, arg) != 0);
	l->last = NULL;
	both_put(t, &e);
	end(t);
}

/* ---- frees ---- */

/* [hot] Returns the stack of a block that ended; NO_EVENT if its end is not recorded. */
MPROF_HOT uint32_t both_event_of(const void *ptr, struct live_entry e)
{
	if (mprof_unlikely(!ptr))
		return busiest_is_reduced(busiest, NULL_FREES) ? NO_EVENT : NULL_FREES;
	return live_is(e, LIVE_UNLOGGED) ? NO_EVENT : live_id(e);
}

/* How much of a block was used, before it is freed, or -1. */
static MPROF_COLD int64_t both_look_at_old(void *ptr, size_t usable)
{
	if (usable >= LOG_LARGE)
		log_look(1, mprof_ticks());
	return look_from && usable >= look_from ? host->resident_end(ptr, usable) : -1;
}

static MPROF_COLD void both_put_end(struct mprof_thread *t, const struct log_event *e)
{
	log_look(0, e->ticks);
	both_put(t, e);
}

/*
 * [hot] A free, or the beginning of a realloc: as one word, if it fits.  size, arg: as in a LONG
 * record.
 */
MPROF_HOT void both_log_end(struct mprof_thread *t, unsigned tag, unsigned fn, unsigned flags,
			    uint64_t ticks, void *ptr, size_t size, size_t arg, int64_t touched,
			    struct mprof_place at)
{
	if (mprof_likely(tag && touched < 0 && !mprof_core.free_stacks && both_logs(ticks)) &&
	    log_put_end(t, tag, ticks, ptr))
		return;
	if (!mprof_core.free_stacks)
		at.pc = 0;
	both_put_end(t, &(struct log_event){ .tag = tag,
					     .fn = fn,
					     .flags = flags | LOG_GIVES_BACK,
					     .ticks = ticks,
					     .v = { (uintptr_t)ptr, size, arg, 0 },
					     .at = at,
					     .touched = touched });
}

static __attribute__((noinline)) void both_freed(unsigned fn, void *ptr, size_t size, size_t arg,
						 struct mprof_place at)
{
	const size_t usable = ptr ? mprof_usable(ptr) : 0;
	struct mprof_thread *t;
	int64_t touched = -1;
	struct lane *l;
	uint64_t now;
	uint32_t id;

	if (mprof_unlikely(usable >= LOG_LARGE || (look_from && usable >= look_from)))
		touched = both_look_at_old(ptr, usable);
	now = mprof_ticks();
	l = begin(&t);
	if (mprof_unlikely(!l))
		return;
	id = both_event_of(ptr, profile_settle_out(l, fn, ptr, usable, now));
	if (id != NO_EVENT)
		both_log_end(t, log_tag_of_free(fn, size), fn, 0, now, ptr, size, arg, touched, at);
	both_end(t, l, now, id);
}

/* ---- realloc ---- */

static __attribute__((noinline)) void both_resizing(unsigned fn, void *ptr, size_t bytes,
						    struct mprof_place at)
{
	const size_t usable = mprof_usable(ptr);
	struct mprof_thread *t;
	int64_t touched = -1;
	struct lane *l;
	uint64_t now;
	uint32_t id;

	if (mprof_unlikely(usable >= LOG_LARGE || (look_from && usable >= look_from)))
		touched = both_look_at_old(ptr, usable);
	now = mprof_ticks();
	l = begin(&t);
	if (mprof_unlikely(!l))
		return;
	profile_resize_begins(l, ptr, usable, now);
	id = both_event_of(ptr, l->old);
	if (id != NO_EVENT)
		both_log_end(t, fn == MPROF_FN_REALLOC ? MPROF_TAG_REALLOC_BEGIN : 0, fn,
			     MPROF_LONG_BEGIN, now, ptr, bytes, 0, touched, at);
	both_end(t, l, now, id);
}

static __attribute__((noinline)) void both_resized(unsigned fn, void *old, void *ptr, size_t size,
						   size_t arg, struct mprof_place at)
{
	const size_t usable = mprof_usable(ptr), bytes = mprof_bytes(fn, size, arg);
	uint64_t now = mprof_ticks();
	struct mprof_thread *t;
	struct live_entry e;
	struct settled in;
	struct lane *l;
	uint32_t stack;

	if (mprof_unlikely(usable >= LOG_LARGE || (look_from && usable >= look_from)))
		now = both_look_at_new(fn, ptr, usable, now);
	l = begin(&t);
	if (mprof_unlikely(!l))
		return;
	e = profile_resize_ends(l, fn, old, ptr, bytes);
	stack = both_stack(t, at);
	in = both_settle_in(l, both_id(stack), ptr, bytes, usable, now);
	if (e.a)
		profile_note_resize(l, in.s, both_id(stack), old, ptr, bytes);
	l->old.a = 0;
	if (in.id != NO_EVENT)
		both_log_block(t, fn, now, ptr, size, usable, arg, stack);
	else if (old && !live_is(e, LIVE_UNLOGGED))
		both_put(t, &(struct log_event){ .fn = fn, .ticks = now, .touched = -1 });
	both_end(t, l, now, in.id);
}

static MPROF_COLD void both_not_resized(unsigned fn, void *old, size_t size, size_t arg,
					struct mprof_place at)
{
	struct log_event e = {
		.fn = fn, .ticks = mprof_ticks(), .v = { 0, size, 0, arg }, .at = at, .touched = -1
	};
	struct live_entry was;
	struct mprof_thread *t;
	struct lane *l;

	if (size)
		e.error = (unsigned)*mprof_core.error();
	l = begin(&t);
	if (!l)
		return;
	was = profile_resize_ends(l, fn, old, NULL, mprof_bytes(fn, size, arg));
	l->old.a = 0;
	if (!live_is(was, LIVE_UNLOGGED))
		both_put(t, &e);
	end(t);
}

/* ---- hooks ---- */

MPROF_HOT void on_alloc(unsigned fn, void *ptr, size_t size, size_t arg)
{
	if (mprof_unlikely(late))
		late_alloc(fn, ptr, mprof_bytes(fn, size, arg), mprof_caller());
	else
		both_allocated(fn, ptr, size, arg, mprof_caller());
}
MPROF_HOT void on_fail(unsigned fn, size_t size, size_t arg, unsigned error)
{
	both_failed(fn, size, arg, error, mprof_caller());
}
MPROF_HOT void on_free(unsigned fn, void *ptr, size_t size, size_t arg)
{
	if (mprof_unlikely(late))
		late_free(fn, ptr);
	else
		both_freed(fn, ptr, size, arg, mprof_caller());
}
MPROF_HOT void on_realloc_begin(unsigned fn, void *ptr, size_t size, size_t arg)
{
	if (mprof_unlikely(late))
		late_resize_begins(ptr);
	else
		both_resizing(fn, ptr, mprof_bytes(fn, size, arg), mprof_caller());
}
MPROF_HOT void on_realloc_end(unsigned fn, void *old, void *ptr, size_t size, size_t arg)
{
	if (mprof_unlikely(late))
		late_resize_ends(fn, old, ptr, mprof_bytes(fn, size, arg), mprof_caller());
	else if (mprof_likely(ptr))
		both_resized(fn, old, ptr, size, arg, mprof_caller());
	else
		both_not_resized(fn, old, size, arg, mprof_caller());
}

/* ---- the mmap family ---- */

static int mappings_start(const struct mprof_host *h)
{
	if (live_start(&mappings, h->memory) < 0)
		return -1;
	/* Their usable size is given as 0: all of them are of the first kind. */
	mappings.kind[0].region = 16;
	mappings.kind[0].granule = 12;
	return 0;
}

/* Enters a mapping.  Returns the entry that was there. */
static struct live_entry both_mapped(struct lane *l, uint64_t at, struct live_entry e)
{
	struct live_entry before = { 0, 0 };

	live_put(&mappings, &l->mappings_room, (void *)(uintptr_t)at, 0, e, !several, &before);
	return before;
}

/* Enters what remains of a mapping, unless another one with events was mapped there meanwhile. */
static void both_remains(struct lane *l, uint64_t at, struct live_entry e)
{
	const struct live_entry before = both_mapped(l, at, e);

	if (before.a && !live_is(before, LIVE_UNLOGGED))
		both_mapped(l, at, before);
}

/*
 * The mapping whose beginning a call unmaps; its `a` is 0 if none is known.  If another thread
 * mapped the address again meanwhile, its entry is taken: then one of the two mappings lacks its
 * end, and the reader ends it when the address is mapped again.
 */
static struct live_entry both_unmapped(struct lane *l, unsigned fn, const uint64_t value[4])
{
	const uint64_t page = *host->page_bytes, at = fn == MPROF_FN_MREMAP ? value[2] : value[0];
	uint64_t bytes = fn == MPROF_FN_MREMAP ? value[3] : value[1], all;
	struct live_entry e = { 0, 0 };

	if (fn != MPROF_FN_MUNMAP && fn != MPROF_FN_MREMAP)
		return e;
	e = live_take(&mappings, &l->mappings_room, (void *)(uintptr_t)at, 0, !several);
	bytes = (bytes + page - 1) & -page;
	all = live_size(e);
	if (e.a && bytes && bytes < all)
		both_remains(l, at + bytes,
			     live_entry_of((uint32_t)e.a & (LIVE_IDS * 4 - 1), all - bytes, e.b));
	return e;
}

/* Does a call map memory whose stack has no more events? */
static int both_map_is_reduced(unsigned fn, const uint64_t value[4], uint32_t id)
{
	return fn < MPROF_FN_BRK && fn != MPROF_FN_MUNMAP && busiest_is_reduced(busiest, id) &&
	       !(fn == MPROF_FN_MMAP && value[2] >> 32 & MAP_FIXED);
}

/*
 * Follows mappings.  Returns the stack that the call counts for; NO_EVENT if it is not recorded.
 * Sets *unlogged if the mapping that it ends has no event.
 */
static uint32_t both_map(struct lane *l, unsigned fn, const uint64_t value[4], uint32_t id,
			 uint64_t now, int *unlogged)
{
	const int reduced = both_map_is_reduced(fn, value, id);
	struct live_entry e;

	if (!busiest)
		return id;
	e = both_unmapped(l, fn, value);
	*unlogged = e.a && live_is(e, LIVE_UNLOGGED);
	if (fn == MPROF_FN_MUNMAP)
		return !e.a ? id : *unlogged ? NO_EVENT : live_id(e);
	/* With a mapping that has events, the reader must learn that it has gone. */
	if (reduced && (!e.a || *unlogged))
		id |= LIVE_UNLOGGED;
	if (fn < MPROF_FN_BRK)
		both_mapped(l, value[0], live_entry_of(id, value[1], now));
	return id & LIVE_UNLOGGED ? NO_EVENT : id;
}

/*
 * Puts the end of each mapping with events that begins in a range, but not at its start: e is a
 * munmap that is not recorded, because the mapping at the start has none.  The others are next
 * to that one, or were mapped into it with MAP_FIXED.
 */
static void both_unmapped_inside(struct mprof_thread *t, struct lane *l, const struct log_event *e)
{
	const struct live_kind *k = &mappings.kind[0];
	const uint64_t end = e->v[0] + e->v[1];
	uint64_t at = e->v[0] + (1u << k->granule), next;

	for (; at < end; at = next) {
		const uint64_t *word = live_word(k, at);
		unsigned bits = LIVE_GIB;
		struct live_entry x;

		if (word)
			bits = __atomic_load_n(word, RLX) >> 48 ? k->granule : k->region;
		next = (at | ((1u << bits) - 1)) + 1;
		if (bits != k->granule)
			continue;
		x = live_take(&mappings, &l->mappings_room, (void *)(uintptr_t)at, 0, !several);
		if (x.a && !live_is(x, LIVE_UNLOGGED)) {
			struct log_event part = *e;

			part.v[0] = at;
			part.v[1] = live_size(x) < end - at ? live_size(x) : end - at;
			both_put(t, &part);
		}
	}
}

static void note_map(unsigned fn, uint64_t ticks, const uint64_t value[4], unsigned error)
{
	struct log_event e = { .fn = fn,
			       .flags = LOG_HAS_STACK,
			       .error = error,
			       .ticks = ticks,
			       .v = { value[0], value[1], value[2], value[3] },
			       .touched = -1 };
	struct mprof_thread *t;
	struct lane *l = begin(&t);
	int unlogged = 0;
	uint32_t id;

	if (!l)
		return;
	e.stack = both_stack(t, mprof_caller());
	id = both_id(e.stack);
	profile_count_map(l, fn, ticks, value, error, id);
	if (!error)
		id = both_map(l, fn, value, id, ticks, &unlogged);
	else if (both_map_is_reduced(fn, value, id))
		id = NO_EVENT;
	/* The reader does not know the old mapping. */
	if (fn == MPROF_FN_MREMAP && unlogged)
		e.v[3] = 0;
	if (id != NO_EVENT)
		both_put(t, &e);
	else if (fn == MPROF_FN_MUNMAP)
		both_unmapped_inside(t, l, &e);
	else
		both_note_log_end_of(l, both_id(e.stack), ticks);
	both_end(t, l, ticks, id);
}

static void note_control(unsigned what, uint64_t value)
{
	struct mprof_thread *t = host->enter();

	profile_note_control(what);
	if (!t)
		return;
	t->busy = mprof_stack();
	compiler_barrier();
	if (both_logs(mprof_ticks()))
		log_control(t, what, value);
	end(t);
}

#include <mprof/template.h>

/* ---- processes and threads ---- */

static int both_start(const struct mprof_host *h)
{
	int error = profile_start_in(h, MPROF_MAGIC_TRACE, h->config->log_path);

	look_times = h->look_times();
	look_from = h->config->touched;
	log_ended = h->log_end();
	log_steps = h->log_steps();
	if (h->config->budget || h->config->overhead)
		busiest = mappings_start(h) < 0 ? NULL : busiest_new(h->memory);
	late_period = (double)h->config->sample_bytes;
	return error;
}

static void both_thread_start(struct mprof_thread *t)
{
	lane_start(t);
	if (t->data)
		((struct lane *)t->data)->look_left = busiest ? 1 : 0;
	if (late)
		late_describe();
	if (!both_logs(mprof_ticks()) || host->slot_take(t) < 0)
		return;
	t->busy = mprof_stack();
	log_control(t, MPROF_CONTROL_THREAD_START, t->tid);
	t->busy = 0;
}

static void both_thread_exit(struct mprof_thread *t)
{
	profile_thread_exit(t);
	host->slot_release(t);
}

static void both_flush(struct mprof_thread *t)
{
	profile_flush(t);
	host->slot_release(t);
}

static void both_forked(void)
{
	steps_taken = 0;
	profile_forked();
}

const struct mprof_mode_ops mprof_mode_log_totals MPROF_SHARED = {
	.abi = MPROF_MODULE_ABI,
	.api = &mode_api,
	.start = both_start,
	.thread_start = both_thread_start,
	.thread_exit = both_thread_exit,
	.flush = both_flush,
	.forked = both_forked,
};
