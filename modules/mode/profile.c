// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * profile.c - MODE=Profile: totals of every call stack, no events.
 *
 * totals.h updates the figures for a call; lanes.h stores them.  t->busy is as in log_mmap.c.
 */

#include <mprof/totals.h>

/* Its countdown has ended: a call of the thread is to be timed. */
static MPROF_COLD void profile_time_next(struct mprof_thread *t)
{
	host->time_next(t);
	t->countdown = t->time_left;
}

/* [hot] The end of a call that counts. */
MPROF_HOT void profile_end(struct mprof_thread *t)
{
	if (mprof_unlikely(!--t->countdown))
		profile_time_next(t);
	end(t);
}

/* The call site comes as three arguments, because a struct of three words is passed in memory. */
static __attribute__((noinline)) void profile_allocated(unsigned fn, void *ptr, uint64_t size,
							uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	const struct mprof_place at = { pc, sp, fp };
	struct mprof_thread *t;
	struct lane *l = begin(&t);
	uint32_t id;

	if (mprof_unlikely(!l))
		return;
	if (lane_paused(l)) {
		l->last = NULL;
		end(t);
		return;
	}
	id = stack_of(t, at, size);
	profile_settle_in(l, id, ptr, size, mprof_usable(ptr), mprof_ticks());
	profile_count(l, fn, size, 0);
	profile_end(t);
}

static __attribute__((noinline)) void profile_freed(unsigned fn, void *ptr)
{
	struct mprof_thread *t;
	struct lane *l = begin(&t);

	if (mprof_unlikely(!l))
		return;
	lane_paused(l);
	profile_settle_out(l, fn, ptr, ptr ? mprof_usable(ptr) : 0, mprof_ticks());
	profile_end(t);
}

static MPROF_COLD void profile_failed(unsigned fn, uint64_t bytes)
{
	struct mprof_thread *t;
	struct lane *l = begin(&t);

	if (!l)
		return;
	profile_count(l, fn, 0, bytes != 0);
	l->last = NULL;
	end(t);
}

static __attribute__((noinline)) void profile_resizing(void *ptr)
{
	struct mprof_thread *t;
	struct lane *l = begin(&t);

	if (mprof_unlikely(!l))
		return;
	lane_paused(l);
	profile_resize_begins(l, ptr, mprof_usable(ptr), mprof_ticks());
	end(t);
}

static __attribute__((noinline)) void profile_resized(unsigned fn, void *old, void *ptr,
						      uint64_t size, struct mprof_place at)
{
	struct mprof_thread *t;
	struct lane *l = begin(&t);
	struct live_entry e;
	uint32_t id;

	if (mprof_unlikely(!l))
		return;
	e = profile_resize_ends(l, fn, old, ptr, size);
	if (ptr && !lane_paused(l)) {
		struct accumulator *s;

		id = stack_of(t, at, size);
		s = profile_settle_in(l, id, ptr, size, mprof_usable(ptr), mprof_ticks());
		if (e.a)
			profile_note_resize(l, s, id, old, ptr, size);
	}
	l->old.a = 0;
	profile_end(t);
}

/* ---- hooks ---- */

MPROF_HOT void on_alloc(unsigned fn, void *ptr, size_t size, size_t arg)
{
	const struct mprof_place at = mprof_caller();

	profile_allocated(fn, ptr, mprof_bytes(fn, size, arg), at.pc, at.sp, at.fp);
}
MPROF_HOT void on_fail(unsigned fn, size_t size, size_t arg, unsigned error)
{
	(void)error;
	profile_failed(fn, mprof_bytes(fn, size, arg));
}
MPROF_HOT void on_free(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)size, (void)arg;
	profile_freed(fn, ptr);
}
MPROF_HOT void on_realloc_begin(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)fn, (void)size, (void)arg;
	profile_resizing(ptr);
}
MPROF_HOT void on_realloc_end(unsigned fn, void *old, void *ptr, size_t size, size_t arg)
{
	profile_resized(fn, old, ptr, mprof_bytes(fn, size, arg), mprof_caller());
}

static void note_map(unsigned fn, uint64_t ticks, const uint64_t value[4], unsigned error)
{
	struct mprof_thread *t;
	struct lane *l = begin(&t);
	uint32_t id = 0;

	if (!l)
		return;
	if (profile_is_growth(fn, value, error))
		id = stack_of(t, mprof_caller(), stack_least);
	profile_count_map(l, fn, ticks, value, error, id);
	end(t);
}

static void note_control(unsigned what, uint64_t value)
{
	(void)value;
	profile_note_control(what);
}

#include <mprof/template.h>

static void profile_thread_start(struct mprof_thread *t)
{
	lane_start(t);
	t->countdown = 1;
}

static int profile_start(const struct mprof_host *h)
{
	return profile_start_in(h, MPROF_MAGIC_PROFILE, h->config->profile_path);
}

const struct mprof_mode_ops mprof_mode_profile MPROF_SHARED = {
	.abi = MPROF_MODULE_ABI,
	.api = &mode_api,
	.counts_unmapped = 1,
	.start = profile_start,
	.thread_start = profile_thread_start,
	.thread_exit = profile_thread_exit,
	.flush = profile_flush,
	.forked = profile_forked,
	.thread_keep = lane_keep,
};
