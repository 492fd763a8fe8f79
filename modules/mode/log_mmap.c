// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * log_mmap.c - MODE=LogMmap: every call as words in this thread's slot.
 *
 * Hot path: one TLS load, the clock, the block's usable size, one 8-byte store.
 * It assumes that the thread has a slot with free space, that no record is
 * incomplete in this thread, and that the call fits a short word; anything else
 * goes to log_put_slow(), out of line.  No lock, no system call, no libc.
 *
 * t->busy prevents the call of a signal handler in the middle of a record from
 * changing the state of the encoding: such a call is counted as nested and not
 * recorded.  Compiler barriers are enough, since only this thread is involved.
 */
#include <mprof/log.h>

/* Smallest usable size of blocks whose pages are read before they are freed; 0 if none. */
static uint64_t look_from;
/* [hot] Frees may be more than one word: they have stacks, or pages are read. */
static uint32_t free_more;

static MPROF_COLD void log_put_slow(const struct log_event *e)
{
	struct mprof_thread *t = host->enter();

	if (!t)
		return;
	log_look(0, e->ticks);
	t->busy = mprof_stack();
	compiler_barrier();
	log_put_event(t, e);
	compiler_barrier();
	t->busy = 0;
}

static MPROF_COLD void log_alloc_slow(unsigned tag, unsigned fn, uint64_t ticks, void *ptr,
				      size_t size, size_t usable, size_t arg, struct mprof_place at)
{
	struct log_event e = { tag, fn,	   LOG_RETURNS_BLOCK,
			       0,   ticks, { (uintptr_t)ptr, size, usable, arg },
			       at,  -1,	   0 };

	/* Read before the program wrote to the block. */
	if (usable >= LOG_LARGE && log_look(1, ticks) && fn != MPROF_FN_CALLOC &&
	    fn != MPROF_FN_REALLOC && fn != MPROF_FN_REALLOCARRAY)
		e.ticks = mprof_ticks();
	if (look_from && usable >= look_from)
		host->resident_begin(ptr, usable);
	log_put_slow(&e);
}

/* [hot] tag: the short form that expresses the whole call; 0 if none does. */
MPROF_HOT void log_alloc(unsigned tag, unsigned fn, void *ptr, size_t size, size_t arg)
{
	struct mprof_thread *t = mprof_self;
	uint64_t usable = mprof_usable(ptr), now = mprof_ticks();
	struct mprof_place at = mprof_caller();

	if (mprof_likely(tag && t->end - t->cur > log_block_words(fn) && !t->busy)) {
		t->busy = mprof_stack();
		compiler_barrier();
		if (mprof_core.capture) {
			uint32_t id = mprof_core.capture(t, at.pc, at.sp, at.fp);

			if (id != t->last_stack && t->cur != t->end) {
				log_put(t, mprof_word_stack(0, id));
				t->last_stack = id;
			}
		}
		if (mprof_likely(log_put_block(t, tag, fn, now, ptr, size, usable, arg))) {
			compiler_barrier();
			t->busy = 0;
			return;
		}
		compiler_barrier();
		t->busy = 0;
	}
	log_alloc_slow(tag, fn, now, ptr, size, usable, arg, at);
}

static MPROF_COLD void log_free_slow(unsigned tag, unsigned fn, unsigned flags, uint64_t ticks,
				     void *ptr, size_t size, size_t arg, struct mprof_place at,
				     int64_t touched)
{
	struct log_event e = { tag, fn,	     flags | LOG_GIVES_BACK,
			       0,   ticks,   { (uintptr_t)ptr, size, arg, 0 },
			       at,  touched, 0 };

	if (!mprof_core.free_stacks)
		e.at.pc = 0;
	log_put_slow(&e);
}

/* [hot] 1: stored as one word. */
MPROF_HOT int log_free_word(unsigned tag, uint64_t now, void *ptr)
{
	struct mprof_thread *t = mprof_self;
	int done = 0;

	if (mprof_likely(tag && t->cur != t->end && !t->busy)) {
		t->busy = mprof_stack();
		compiler_barrier();
		done = log_put_end(t, tag, now, ptr);
		compiler_barrier();
		t->busy = 0;
	}
	return done;
}

/* Its stack is kept, or its pages are read. */
static __attribute__((noinline)) void log_free_more(unsigned tag, unsigned fn, unsigned flags,
						    void *ptr, size_t size, size_t arg,
						    struct mprof_place at)
{
	int64_t used = -1;

	if (log_may_fall(ptr))
		log_look(1, mprof_ticks());
	if (ptr && look_from && mprof_usable(ptr) >= look_from)
		used = host->resident_end(ptr, mprof_usable(ptr));
	log_free_slow(tag, fn, flags, mprof_ticks(), ptr, size, arg, at, used);
}

/* [hot] flags: MPROF_LONG_BEGIN for the first half of a realloc. */
MPROF_HOT void log_free(unsigned tag, unsigned fn, unsigned flags, void *ptr, size_t size,
			size_t arg)
{
	uint64_t now;

	/* Most blocks are small, and the allocator will read their size as well. */
	if (mprof_unlikely(free_more) &&
	    (mprof_core.free_stacks || (ptr && mprof_usable(ptr) >= look_from))) {
		log_free_more(tag, fn, flags, ptr, size, arg, mprof_caller());
		return;
	}
	now = mprof_ticks();
	if (mprof_unlikely(log_may_fall(ptr)) && log_look(1, now))
		now = mprof_ticks();
	if (mprof_unlikely(!log_free_word(tag, now, ptr)))
		log_free_slow(tag, fn, flags, now, ptr, size, arg, mprof_caller(), -1);
}

MPROF_HOT void on_alloc(unsigned fn, void *ptr, size_t size, size_t arg)
{
	log_alloc(log_tag_of_alloc(fn, arg), fn, ptr, size, arg);
}

static MPROF_COLD void log_fail_slow(unsigned fn, size_t size, size_t arg, unsigned error,
				     struct mprof_place at)
{
	struct log_event e = { 0, fn, 0, error, mprof_ticks(), { 0, size, 0, arg }, at, -1, 0 };

	/* A request of 0 bytes that returns NULL is not a failure: errno is meaningless. */
	if (!error && size)
		e.error = (unsigned)*mprof_core.error();
	log_put_slow(&e);
}

MPROF_HOT void on_fail(unsigned fn, size_t size, size_t arg, unsigned error)
{
	log_fail_slow(fn, size, arg, error, mprof_caller());
}

MPROF_HOT void on_free(unsigned fn, void *ptr, size_t size, size_t arg)
{
	log_free(log_tag_of_free(fn, size), fn, 0, ptr, size, arg);
}

MPROF_HOT void on_realloc_begin(unsigned fn, void *ptr, size_t size, size_t arg)
{
	log_free(fn == MPROF_FN_REALLOC ? MPROF_TAG_REALLOC_BEGIN : 0, fn, MPROF_LONG_BEGIN, ptr,
		 mprof_bytes(fn, size, arg), 0);
}

MPROF_HOT void on_realloc_end(unsigned fn, void *old, void *ptr, size_t size, size_t arg)
{
	(void)old;
	if (mprof_likely(ptr))
		log_alloc(fn == MPROF_FN_REALLOC ? MPROF_TAG_REALLOC_END : 0, fn, ptr, size, arg);
	else
		log_fail_slow(fn, size, arg, 0, mprof_caller());
}

static void note_map(unsigned fn, uint64_t ticks, const uint64_t value[4], unsigned error)
{
	struct log_event e = {
		0,  fn, 0, error, ticks, { value[0], value[1], value[2], value[3] }, mprof_caller(),
		-1, 0
	};

	log_put_slow(&e);
}

static void note_control(unsigned what, uint64_t value)
{
	struct mprof_thread *t = host->enter();

	if (!t)
		return;
	t->busy = mprof_stack();
	compiler_barrier();
	log_control(t, what, value);
	compiler_barrier();
	t->busy = 0;
}

#include <mprof/template.h>

static int log_start(const struct mprof_host *h)
{
	host = h;
	h->stacks_start(); /* without memory for stacks, calls are recorded without them */
	look_times = h->look_times();
	look_from = h->config->touched;
	free_more = look_from || mprof_core.free_stacks;
	return h->file_open(MPROF_MAGIC_TRACE, h->config->log_path);
}

static void log_thread_start(struct mprof_thread *t)
{
	if (host->slot_take(t) < 0)
		return;
	t->busy = mprof_stack();
	log_control(t, MPROF_CONTROL_THREAD_START, t->tid);
	t->busy = 0;
}

static void log_release(struct mprof_thread *t)
{
	host->slot_release(t);
}

extern const struct mprof_mode_ops mprof_mode_log_totals MPROF_SHARED;

/* With totals, where not every event is to stay. */
static const struct mprof_mode_ops *log_choose(const struct mprof_config *c)
{
	const int recent = c->totals && (c->last_bytes || c->last_seconds);

	return recent || c->budget || c->overhead ? &mprof_mode_log_totals : NULL;
}

const struct mprof_mode_ops mprof_mode_log_mmap MPROF_SHARED = {
	.abi = MPROF_MODULE_ABI,
	.api = &mode_api,
	.start = log_start,
	.thread_start = log_thread_start,
	.thread_exit = log_release,
	.flush = log_release,
	.choose = log_choose,
};
