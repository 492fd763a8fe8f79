/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * log.h - how calls become words in a thread's slot: for MODEs that keep events.
 *
 * The thread's record must be busy.  An event is stored as a whole, so a slot that is nearly full
 * is copied to a chunk first.
 */
#ifndef MPROF_LOG_H
#define MPROF_LOG_H

#include <mprof/encode.h>
#include <mprof/module.h>

static const struct mprof_host *host; /* set by start() */
static const uint64_t *look_times;    /* set by start(); see module.h */

/* In bytes: allocating or freeing a block of this size may change the size of the process. */
#define LOG_LARGE 65536u

#ifndef compiler_barrier
#define compiler_barrier() __asm__ volatile("" ::: "memory")
#endif

/* Enough words for a STACK word, a TIME word, a TOUCHED or COUNT word and a LONG record. */
#define LOG_ROOM 8

/* Flags that only event.flags uses. */
#define LOG_RETURNS_BLOCK 0x100u /* deltas are relative to its address */
#define LOG_GIVES_BACK	  0x200u /* the stack is one of a call that frees */
#define LOG_HAS_STACK	  0x400u /* event.stack is its stack */

/* A call that does not fit a short word, or for which the slot has no space. */
struct log_event {
	unsigned tag; /* of the short form, 0 if none fits */
	unsigned fn, flags, error;
	uint64_t ticks;
	uint64_t v[4];	       /* as in a LONG record */
	struct mprof_place at; /* the caller; with pc 0, see LOG_HAS_STACK */
	int64_t touched;       /* touched bytes of the block; negative = unknown */
	uint32_t stack;
};

MPROF_HOT int log_look(unsigned large, uint64_t now)
{
	return mprof_unlikely(now >= look_times[large]) && host->look(large, now);
}

/*
 * [hot] Two stores, in this order: a handler may jump out between them, and a word that counts but
 * was not stored would damage the chunk.
 */
MPROF_HOT void log_put(struct mprof_thread *t, uint64_t word)
{
	uint64_t *at = t->cur;

	*at = word;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->cur = at + 1;
}

/* Stores the head word last: until then the reader sees the end of the slot. */
static void log_put_long(struct mprof_thread *t, const struct log_event *e, uint64_t dt)
{
	uint64_t *head = t->cur;

	for (int i = 0; i < 4; i++)
		head[1 + i] = e->v[i];
	/* Pairs with a reader of the live slot: the values are stored before the head. */
	__atomic_store_n(head, mprof_word_long(e->fn, dt, e->flags & 255, e->error),
			 __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->cur = head + MPROF_LONG_WORDS;
}

/* [hot] The number of elements of a block: 1 except for calloc. */
MPROF_HOT uint64_t log_count(unsigned fn, uint64_t arg)
{
	return fn == MPROF_FN_CALLOC ? arg : 1;
}

/* [hot] Does a block of `count` elements of this size fit a short word?  Their product must not
 * overflow. */
MPROF_HOT int log_block_is_short(uint64_t dt, uint64_t size, uint64_t count, uint64_t usable,
				 uint64_t delta)
{
	return (count == 1 || (size < MPROF_SIZE_SHORT && count <= MPROF_COUNT_MAX)) &&
	       mprof_alloc_is_short(dt, size * count, usable - size * count, delta);
}

/* 1 if it was stored as one word, or two. */
static int log_put_short(struct mprof_thread *t, const struct log_event *e, uint64_t dt)
{
	const uint64_t delta = e->v[0] - t->last_addr, count = log_count(e->fn, e->v[3]);
	const uint64_t bytes = e->v[1] * count;

	switch (e->tag) {
	case MPROF_TAG_MALLOC:
	case MPROF_TAG_CALLOC:
	case MPROF_TAG_REALLOC_END:
	case MPROF_TAG_NEW:
		if (!log_block_is_short(dt, e->v[1], count, e->v[2], delta))
			return 0;
		if (count != 1)
			log_put(t, mprof_word_count(count));
		log_put(t, mprof_word_alloc(e->tag, dt, bytes, e->v[2] - bytes, delta));
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

static int log_is_release(const struct log_event *e)
{
	return e->tag == MPROF_TAG_FREE || e->tag == MPROF_TAG_DELETE ||
	       e->tag == MPROF_TAG_REALLOC_BEGIN || e->flags & LOG_GIVES_BACK;
}

/* Needs space for one word. */
static void log_put_stack(struct mprof_thread *t, const struct log_event *e)
{
	int back = log_is_release(e);
	uint32_t *last = back ? &t->last_free_stack : &t->last_stack, id;

	if (!mprof_core.capture || !(e->at.pc || e->flags & LOG_HAS_STACK))
		return;
	id = e->at.pc ? mprof_core.capture(t, e->at.pc, e->at.sp, e->at.fp) : e->stack;
	if (id != *last)
		log_put(t, mprof_word_stack(back ? MPROF_STACK_OF_FREES : 0, id));
	*last = id;
}

static void log_put_event(struct mprof_thread *t, const struct log_event *e)
{
	uint64_t dt;

	if (t->cur + LOG_ROOM > t->end && host->slot_flush(t) < 0)
		return;
	log_put_stack(t, e);
	/* The event's time may be before the slot's first_ticks, or before a signal handler's
	 * event: never go backwards. */
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
	if (e->flags & LOG_RETURNS_BLOCK)
		t->last_addr = e->v[0];
}

/* ---- one word ---- */

/* [hot] The number of words of a block, without a STACK word. */
MPROF_HOT int log_block_words(unsigned fn)
{
	return fn == MPROF_FN_CALLOC ? 2 : 1;
}

/* [hot] Stores a block as one word, or two for calloc; 1 if it fitted.  arg: as for on_alloc(). */
MPROF_HOT int log_put_block(struct mprof_thread *t, unsigned tag, unsigned fn, uint64_t now,
			    const void *ptr, size_t size, size_t usable, size_t arg)
{
	const uint64_t dt = now - t->last_ticks, delta = (uintptr_t)ptr - t->last_addr;
	const uint64_t count = log_count(fn, arg), bytes = size * count;

	if (mprof_unlikely(!log_block_is_short(dt, size, count, usable, delta) ||
			   t->end - t->cur < log_block_words(fn)))
		return 0;
	if (count != 1)
		log_put(t, mprof_word_count(count));
	log_put(t, mprof_word_alloc(tag, dt, bytes, usable - bytes, delta));
	t->last_ticks = now;
	t->last_addr = (uintptr_t)ptr;
	return 1;
}

/* [hot] The same for the end of a block. */
MPROF_HOT int log_put_end(struct mprof_thread *t, unsigned tag, uint64_t now, const void *ptr)
{
	const uint64_t dt = now - t->last_ticks;

	if (mprof_unlikely(!mprof_free_is_short(dt, (uintptr_t)ptr) || t->cur == t->end))
		return 0;
	log_put(t, mprof_word_free(tag, dt, (uintptr_t)ptr));
	t->last_ticks = now;
	return 1;
}

/* [hot] The short form that can express the call; 0 if none can. */
MPROF_HOT unsigned log_tag_of_alloc(unsigned fn, size_t arg)
{
	return fn == MPROF_FN_MALLOC	      ? MPROF_TAG_MALLOC
	       : fn == MPROF_FN_CALLOC && arg ? MPROF_TAG_CALLOC
	       : fn == MPROF_FN_NEW && !arg   ? MPROF_TAG_NEW
					      : 0;
}
MPROF_HOT unsigned log_tag_of_free(unsigned fn, size_t size)
{
	return fn == MPROF_FN_FREE		? MPROF_TAG_FREE
	       : fn == MPROF_FN_DELETE && !size ? MPROF_TAG_DELETE
						: 0;
}

/* [hot] May memory use fall when it is freed?  Allocators other than glibc's unmap at any time. */
MPROF_HOT int log_may_fall(void *ptr)
{
	return mprof_likely(ptr && mprof_core.chunk_headers) && ((size_t *)ptr)[-1] >= LOG_LARGE;
}

static void log_control(struct mprof_thread *t, unsigned what, uint64_t value)
{
	uint64_t dt = mprof_ticks() - t->last_ticks;

	if (t->cur + LOG_ROOM > t->end && host->slot_flush(t) < 0)
		return;
	t->last_ticks += dt;
	log_put(t, mprof_word_time(t->last_ticks));
	log_put(t, mprof_word_control(what, 0, value));
}

#endif
