// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * log_totals.c - MODE=LogMmap of a run that does not keep every event: besides events, keeps totals
 * of every call stack.
 *
 * With LAST_BYTES or LAST_SECONDS old events are dropped; with BUDGET or OVERHEAD new ones are
 * omitted from some time on.  Totals cover the whole run, exactly, in a space that does not grow
 * with the number of calls.  They are mapped from the trace (lanes.h), so they survive however the
 * process ends.
 *
 * host->log_end() is the time after which no events are kept, for all threads of all processes. The
 * time of an event is taken before log_end is read.  So either the event is stored, or it is later
 * than log_end; readers ignore later events.
 */
#include <errno.h>
#include <mprof/log.h>

#define LANE_MORE                                                     \
	LATE_LANE                                                     \
	uint32_t cost_left; /* calls to the next one that is timed */ \
	uint64_t cost_random;
#include <mprof/late.h>

#define COST_CALLS 64u /* one of these is timed, on average */

static uint64_t look_from;	  /* as in log_mmap.c */
static const uint64_t *log_ended; /* in ticks; 0: events are kept */

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
	return mprof_likely(stack < LATE_MARK) ? stack : 0;
}

/* ---- recording's own cost ---- */

/* Randomly chosen, so that a periodic program does not bias it. */
static MPROF_COLD void both_note_cost(struct lane *l, uint64_t since)
{
	const uint64_t now = mprof_ticks();

	if (!host->config->overhead)
		return;
	if (!l->cost_random)
		l->cost_random = chance_start(host->config->seed, now, l->number);
	l->cost_left = (uint32_t)chance_even(&l->cost_random, COST_CALLS);
	if (host->spent(now, now - since, COST_CALLS))
		late_begin();
}

/* [hot] For a call that began at this time.  0 calls left: cost is not measured. */
MPROF_HOT void both_end(struct mprof_thread *t, struct lane *l, uint64_t since)
{
	if (mprof_unlikely(!--l->cost_left))
		both_note_cost(l, since);
	end(t);
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
			*t->cur++ = mprof_word_stack(0, stack);
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
	uint32_t stack;

	if (mprof_unlikely(usable >= LOG_LARGE || (look_from && usable >= look_from)))
		now = both_look_at_new(fn, ptr, usable, now);
	l = begin(&t);
	if (mprof_unlikely(!l))
		return;
	stack = both_stack(t, at);
	profile_count(l, fn, bytes, 0);
	profile_settle_in(l, both_id(stack), ptr, bytes, usable, now);
	both_log_block(t, fn, now, ptr, size, usable, arg, stack);
	both_end(t, l, now);
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

	if (mprof_unlikely(usable >= LOG_LARGE || (look_from && usable >= look_from)))
		touched = both_look_at_old(ptr, usable);
	now = mprof_ticks();
	l = begin(&t);
	if (mprof_unlikely(!l))
		return;
	both_log_end(t, log_tag_of_free(fn, size), fn, 0, now, ptr, size, arg, touched, at);
	profile_settle_out(l, fn, ptr, usable, now);
	both_end(t, l, now);
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

	if (mprof_unlikely(usable >= LOG_LARGE || (look_from && usable >= look_from)))
		touched = both_look_at_old(ptr, usable);
	now = mprof_ticks();
	l = begin(&t);
	if (mprof_unlikely(!l))
		return;
	both_log_end(t, fn == MPROF_FN_REALLOC ? MPROF_TAG_REALLOC_BEGIN : 0, fn, MPROF_LONG_BEGIN,
		     now, ptr, bytes, 0, touched, at);
	profile_resize_begins(l, ptr, usable, now);
	both_end(t, l, now);
}

static __attribute__((noinline)) void both_resized(unsigned fn, void *old, void *ptr, size_t size,
						   size_t arg, struct mprof_place at)
{
	const size_t usable = mprof_usable(ptr), bytes = mprof_bytes(fn, size, arg);
	uint64_t now = mprof_ticks();
	struct accumulator *s;
	struct mprof_thread *t;
	struct live_entry e;
	struct lane *l;
	uint32_t stack;

	if (mprof_unlikely(usable >= LOG_LARGE || (look_from && usable >= look_from)))
		now = both_look_at_new(fn, ptr, usable, now);
	l = begin(&t);
	if (mprof_unlikely(!l))
		return;
	e = profile_resize_ends(l, fn, old, ptr, bytes);
	stack = both_stack(t, at);
	s = profile_settle_in(l, both_id(stack), ptr, bytes, usable, now);
	if (e.a)
		profile_note_resize(l, s, both_id(stack), old, ptr, bytes);
	l->old.a = 0;
	both_log_block(t, fn, now, ptr, size, usable, arg, stack);
	both_end(t, l, now);
}

static MPROF_COLD void both_not_resized(unsigned fn, void *old, size_t size, size_t arg,
					struct mprof_place at)
{
	struct log_event e = {
		.fn = fn, .ticks = mprof_ticks(), .v = { 0, size, 0, arg }, .at = at, .touched = -1
	};
	struct mprof_thread *t;
	struct lane *l;

	if (size)
		e.error = (unsigned)*mprof_core.error();
	l = begin(&t);
	if (!l)
		return;
	profile_resize_ends(l, fn, old, NULL, mprof_bytes(fn, size, arg));
	l->old.a = 0;
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

	if (!l)
		return;
	e.stack = both_stack(t, mprof_caller());
	profile_count_map(l, fn, value, error, both_id(e.stack));
	both_put(t, &e);
	end(t);
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
	late_period = (double)h->config->sample_bytes;
	return error;
}

static void both_thread_start(struct mprof_thread *t)
{
	lane_start(t);
	if (t->data)
		((struct lane *)t->data)->cost_left = host->config->overhead ? 1 : 0;
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

const struct mprof_mode_ops mprof_mode_log_totals MPROF_SHARED = {
	.abi = MPROF_MODULE_ABI,
	.api = &mode_api,
	.start = both_start,
	.thread_start = both_thread_start,
	.thread_exit = both_thread_exit,
	.flush = both_flush,
	.forked = profile_forked,
};
