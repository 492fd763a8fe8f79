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
#include <errno.h>
#include <mprof/encode.h>
#include <mprof/module.h>

static const struct mprof_host *host;

/* Smallest usable size of blocks whose pages are read before they are freed; 0: none. */
static uint64_t look_from;
/* [hot] Frees may be more than one word: they have stacks, or pages are read. */
static uint32_t free_more;

/* Bytes: allocating or freeing a block of this size may show in the size of the process. */
#define LARGE 65536u

static const uint64_t *look_times; /* module.h */

#define compiler_barrier() __asm__ volatile("" ::: "memory")

/* A STACK word, a TIME word, a TOUCHED word and a LONG record. */
#define ROOM_WORDS 8

/* In event.flags only. */
#define RETURNS_BLOCK 0x100u /* deltas count from its address */
#define GIVES_BACK    0x200u /* its stack is one of frees */

/* Calls that do not fit into a short word, or that find the slot full. */
struct event {
	unsigned tag; /* of the short form, 0: none */
	unsigned fn, flags, error;
	uint64_t ticks;
	uint64_t v[4];	       /* as in a LONG record */
	struct mprof_place at; /* the caller; pc 0: not needed */
	int64_t touched;       /* bytes of the block; negative: not known */
};

MPROF_HOT int log_look(unsigned large, uint64_t now)
{
	return mprof_unlikely(now >= look_times[large]) && host->look(large, now);
}

static void log_put(struct mprof_thread *t, uint64_t word)
{
	*t->cur++ = word;
}

/* The head word is stored last: until then the reader sees the end of the slot. */
static void log_put_long(struct mprof_thread *t, const struct event *e, uint64_t dt)
{
	uint64_t *head = t->cur;

	for (int i = 0; i < 4; i++)
		head[1 + i] = e->v[i];
	/* Pairs with a reader of the live slot: the values are stored before the head. */
	__atomic_store_n(head, mprof_word_long(e->fn, dt, e->flags & 255, e->error),
			 __ATOMIC_RELEASE);
	t->cur = head + MPROF_LONG_WORDS;
}

/* 1: it went in as one word. */
static int log_put_short(struct mprof_thread *t, const struct event *e, uint64_t dt)
{
	uint64_t delta = e->v[0] - t->last_addr, slack = e->v[2] - e->v[1];

	switch (e->tag) {
	case MPROF_TAG_MALLOC:
	case MPROF_TAG_CALLOC:
	case MPROF_TAG_REALLOC_END:
	case MPROF_TAG_NEW:
		if (!mprof_alloc_is_short(dt, e->v[1], slack, delta))
			return 0;
		log_put(t, mprof_word_alloc(e->tag, dt, e->v[1], slack, delta));
		t->last_addr = e->v[0];
		return 1;
	case MPROF_TAG_FREE:
	case MPROF_TAG_DELETE:
	case MPROF_TAG_REALLOC_BEGIN:
		if (!mprof_free_is_short(dt, e->v[0]))
			return 0;
		log_put(t, mprof_word_free(e->tag, dt, e->v[0]));
		return 1;
	}
	return 0;
}

static int log_is_release(const struct event *e)
{
	return e->tag == MPROF_TAG_FREE || e->tag == MPROF_TAG_DELETE ||
	       e->tag == MPROF_TAG_REALLOC_BEGIN || e->flags & GIVES_BACK;
}

/* There is room for the word. */
static void log_put_stack(struct mprof_thread *t, const struct event *e)
{
	int back = log_is_release(e);
	uint32_t *last = back ? &t->last_free_stack : &t->last_stack, id;

	if (!mprof_core.capture || !e->at.pc)
		return;
	id = mprof_core.capture(t, e->at.pc, e->at.sp, e->at.fp);
	if (id != *last)
		log_put(t, mprof_word_stack(back ? MPROF_STACK_OF_FREES : 0, id));
	*last = id;
}

static void log_put_event(struct mprof_thread *t, const struct event *e)
{
	uint64_t dt;

	if (t->cur + ROOM_WORDS > t->end && host->slot_flush(t) < 0)
		return;
	log_put_stack(t, e);
	/* Stamped before the slot began, or by a handler in between: never backwards. */
	dt = (int64_t)(e->ticks - t->last_ticks) < 0 ? 0 : e->ticks - t->last_ticks;
	t->last_ticks += dt;
	if (dt > MPROF_DT_MAX) {
		log_put(t, mprof_word_time(t->last_ticks));
		dt = 0;
	}
	if (e->touched >= 0)
		log_put(t, mprof_word_touched((uint64_t)e->touched));
	if (e->tag && log_put_short(t, e, dt))
		return;
	log_put_long(t, e, dt);
	if (e->flags & RETURNS_BLOCK)
		t->last_addr = e->v[0];
}

static MPROF_COLD void log_put_slow(const struct event *e)
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
	struct event e = { tag, fn, RETURNS_BLOCK, 0, ticks, { (uintptr_t)ptr, size, usable, arg },
			   at,	-1 };

	/* Read before the program wrote to the block. */
	if (usable >= LARGE && log_look(1, ticks) && fn != MPROF_FN_CALLOC &&
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

	if (mprof_likely(tag && t->cur + 1 < t->end && !t->busy)) {
		uint64_t dt, delta;

		t->busy = mprof_stack();
		compiler_barrier();
		if (mprof_core.capture) {
			uint32_t id = mprof_core.capture(t, at.pc, at.sp, at.fp);

			if (id != t->last_stack && t->cur != t->end) {
				*t->cur++ = mprof_word_stack(0, id);
				t->last_stack = id;
			}
		}
		dt = now - t->last_ticks;
		delta = (uintptr_t)ptr - t->last_addr;
		if (mprof_likely(mprof_alloc_is_short(dt, size, usable - size, delta) &&
				 t->cur != t->end)) {
			*t->cur = mprof_word_alloc(tag, dt, size, usable - size, delta);
			t->cur++;
			t->last_ticks = now;
			t->last_addr = (uintptr_t)ptr;
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
	struct event e = { tag, fn,	flags | GIVES_BACK,
			   0,	ticks,	{ (uintptr_t)ptr, size, arg, 0 },
			   at,	touched };

	if (!mprof_core.free_stacks)
		e.at.pc = 0;
	log_put_slow(&e);
}

/* [hot] 1: it went in as one word. */
MPROF_HOT int log_free_word(unsigned tag, uint64_t now, void *ptr)
{
	struct mprof_thread *t = mprof_self;
	int done = 0;

	if (mprof_likely(tag && t->cur != t->end && !t->busy)) {
		uint64_t dt;

		t->busy = mprof_stack();
		compiler_barrier();
		dt = now - t->last_ticks;
		if (mprof_likely(mprof_free_is_short(dt, (uintptr_t)ptr) && t->cur != t->end)) {
			*t->cur = mprof_word_free(tag, dt, (uintptr_t)ptr);
			t->cur++;
			t->last_ticks = now;
			done = 1;
		}
		compiler_barrier();
		t->busy = 0;
	}
	return done;
}

/* [hot] May memory use fall when it is freed? Allocators other than glibc's unmap by themselves. */
MPROF_HOT int log_may_fall(void *ptr)
{
	return mprof_likely(ptr && mprof_core.chunk_headers) && ((size_t *)ptr)[-1] >= LARGE;
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
	unsigned tag = fn == MPROF_FN_MALLOC		   ? MPROF_TAG_MALLOC
		       : fn == MPROF_FN_CALLOC && arg == 1 ? MPROF_TAG_CALLOC
		       : fn == MPROF_FN_NEW && !arg	   ? MPROF_TAG_NEW
							   : 0;

	log_alloc(tag, fn, ptr, size, arg);
}

static MPROF_COLD void log_fail_slow(unsigned fn, size_t size, size_t arg, unsigned error,
				     struct mprof_place at)
{
	struct event e = { 0, fn, 0, error, mprof_ticks(), { 0, size, 0, arg }, at, -1 };

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
	unsigned tag = fn == MPROF_FN_FREE		? MPROF_TAG_FREE
		       : fn == MPROF_FN_DELETE && !size ? MPROF_TAG_DELETE
							: 0;

	log_free(tag, fn, 0, ptr, size, arg);
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
	struct event e = {
		0, fn, 0, error, ticks, { value[0], value[1], value[2], value[3] }, mprof_caller(),
		-1
	};

	log_put_slow(&e);
}

static void log_control(struct mprof_thread *t, unsigned what, uint64_t value)
{
	uint64_t dt = mprof_ticks() - t->last_ticks;

	if (t->cur + ROOM_WORDS > t->end && host->slot_flush(t) < 0)
		return;
	t->last_ticks += dt;
	log_put(t, mprof_word_time(t->last_ticks));
	log_put(t, mprof_word_control(what, 0, value));
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

const struct mprof_mode_ops mprof_mode_log_mmap MPROF_SHARED = {
	.abi = MPROF_MODULE_ABI,
	.api = &mode_api,
	.start = log_start,
	.thread_start = log_thread_start,
	.thread_exit = log_release,
	.flush = log_release,
};
