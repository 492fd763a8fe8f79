// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * compile_play.c - turns a call into words, and adds up the calls.
 */
#include <stdlib.h>

#include "../util/inline.h"
#include "../util/order.h"
#include "compile_parts.h"

#define ALIGN_MIN 8u /* below this, all allocators align alike */

/* The function of each operation, for which no EXT is needed. */
static const uint8_t own_fn[] = {
	[MPROF_PLAY_MALLOC] = MPROF_FN_MALLOC,
	[MPROF_PLAY_FREE] = MPROF_FN_FREE,
	[MPROF_PLAY_CALLOC] = MPROF_FN_CALLOC,
	[MPROF_PLAY_REALLOC] = MPROF_FN_REALLOC,
	[MPROF_PLAY_ALIGNED] = 0,
};

/* The operation of an allocation; with an alignment, MALLOC becomes ALIGNED. */
static const uint8_t play_of[MPROF_FN_MAX] = {
#define MPROF_SHAPED(id, code, name, class, shape) [code] = MPROF_PLAY_OF_##shape,
#include <mprof/functions.def>
};

static unsigned log2_up(uint64_t align)
{
	return align <= ALIGN_MIN ? 3 : 64 - (unsigned)__builtin_clzll(align - 1);
}

/* ---- sums ---- */

ALWAYS_INLINE bool is_cleared(enum mprof_play op, uint64_t size)
{
	return op == MPROF_PLAY_CALLOC && size >= MPROF_PLAY_LARGE;
}

ALWAYS_INLINE void born(struct compile *c, uint64_t size)
{
	c->sum.asked_bytes += size;
	c->live_bytes += size;
	c->live_blocks++;
	if (c->live_bytes > c->sum.peak_bytes) {
		c->sum.peak_bytes = c->live_bytes;
		c->sum.peak_op = c->sum.calls;
		c->sum.peak_calloc_bytes = c->cleared_bytes;
	}
	if (c->live_blocks > c->sum.peak_blocks)
		c->sum.peak_blocks = c->live_blocks;
}

ALWAYS_INLINE void count(struct compile *c, struct compile_thread *t, enum mprof_play op,
			 uint64_t size, uint32_t slot, bool had_old)
{
	if (had_old) {
		c->live_bytes -= c->block[slot].size;
		c->live_blocks--;
		if (__builtin_expect(c->block[slot].cleared, 0))
			c->cleared_bytes -= c->block[slot].size;
	}
	if (__builtin_expect(is_cleared(op, size), 0))
		c->cleared_bytes += size;
	if (op != MPROF_PLAY_FREE)
		born(c, size);
	c->sum.by_op[op]++;
	c->sum.calls++;
	t->calls++;
}

/* ---- words ---- */

ALWAYS_INLINE void put_time(struct compile *c, struct compile_thread *t, uint64_t ns)
{
	if (__builtin_expect(!c->has_ns, 0)) {
		c->has_ns = true;
		c->first_ns = c->last_ns = ns;
		c->next_time = ns + COMPILE_TIME_NS;
	}
	if (ns < c->last_ns)
		ns = c->last_ns;
	c->last_ns = ns;
	if (!t->calls)
		t->first_ns = ns - c->first_ns;
	t->last_ns = ns - c->first_ns;
	if (__builtin_expect(ns < c->next_time, 1))
		return;
	c->time_word = MPROF_PLAY_TIME | (ns - c->first_ns) << 4;
	c->next_time = ns + COMPILE_TIME_NS;
	writer_room(&c->writer);
	writer_put(&c->writer, c->time_word);
}

ALWAYS_INLINE void put_call(struct compile *c, enum mprof_play op, const struct compile_call *call,
			    uint64_t size, uint32_t slot)
{
	const unsigned fn = call->fn == own_fn[op] ? 0 : call->fn;
	const unsigned align = op == MPROF_PLAY_ALIGNED ? log2_up(call->align) : 0;

	if (__builtin_expect(fn || align || size >> MPROF_PLAY_SIZE_BITS, 0))
		writer_put(&c->writer, mprof_play_ext(align, fn, 0, size));
	writer_put(&c->writer, mprof_play_call(op, slot, size));
	writer_site(&c->writer, op == MPROF_PLAY_FREE ? 0 : call->site);
}

/* ---- touched bytes ---- */

static void end_touch(struct compile *c, bool known, uint64_t bytes, uint32_t slot)
{
	const uint64_t at = c->touch_at[slot];

	c->touch_at[slot] = COMPILE_NOWHERE;
	if (at == COMPILE_NOWHERE || !known)
		return;
	if (bytes > c->block[slot].size)
		bytes = c->block[slot].size;
	writer_patch(&c->writer, at, MPROF_PLAY_TOUCH | bytes << 4);
	c->sum.touched_blocks++;
}

static void begin_touch(struct compile *c, uint64_t size, uint32_t slot)
{
	if (size < MPROF_PLAY_LARGE)
		return;
	c->touch_at[slot] = writer_position(&c->writer);
	writer_put(&c->writer, MPROF_PLAY_TOUCH | MPROF_PLAY_TOUCH_UNKNOWN << 4);
}

/* ---- a call ---- */

ALWAYS_INLINE void play(struct compile *c, struct compile_thread *t, enum mprof_play op,
			const struct compile_call *call, uint32_t slot, bool had_old)
{
	const uint64_t size = op == MPROF_PLAY_FREE ? 0 : compile_size(call);

	put_time(c, t, call->ns);
	if (__builtin_expect(c->playing != t->index || t->ended, 0))
		compile_words_begin(c, t);
	else
		writer_room(&c->writer);
	put_call(c, op, call, size, slot);
	if (__builtin_expect(c->touch_at != NULL, 0)) {
		if (had_old)
			end_touch(c, call->has_touched, call->touched, slot);
		if (op != MPROF_PLAY_FREE)
			begin_touch(c, size, slot);
	}
	count(c, t, op, size, slot, had_old);
	if (__builtin_expect(t->ended, 0))
		compile_words_end(c, t);
}

static void ask_hook(struct compile *c, const struct compile_call *call, uint32_t slot,
		     bool had_old, bool begins)
{
	const struct compile_block *b = &c->block[slot];
	struct compile_old old = {
		.size = b->size,
		.site = b->site,
		.tag = had_old ? c->tag[slot] : 0,
	};
	uint64_t tag = 0;

	c->sum.calls++; /* so that freed slots rest for this time */
	c->change->call(c->change->self, call, had_old ? &old : NULL, begins, &tag, c->inner);
	c->tag[slot] = tag;
}

ALWAYS_INLINE enum mprof_play op_of(const struct compile_call *call, bool begins)
{
	enum mprof_play op = begins ? play_of[call->fn] : MPROF_PLAY_FREE;

	return op == MPROF_PLAY_MALLOC && call->align ? MPROF_PLAY_ALIGNED : op;
}

ALWAYS_INLINE uint32_t one_call(struct compile *c, const struct compile_call *call, uint32_t old,
				bool begins)
{
	struct compile_thread *t = compile_thread_of(c, call->thread);
	const bool had_old = old != COMPILE_NONE;
	const uint32_t slot = had_old ? old : begins ? compile_slot_take(c, t) : COMPILE_NONE;
	const enum mprof_play op = op_of(call, begins);

	if (__builtin_expect(slot == COMPILE_NONE, 0))
		return slot;
	t->process = call->process;
	if (had_old && !call->mended)
		c->sum.remote_frees += c->block[slot].thread != t->place;
	if (__builtin_expect(c->writes, 1))
		play(c, t, op, call, slot, had_old);
	else
		ask_hook(c, call, slot, had_old, begins);
	if (!begins) {
		compile_slot_give(c, t, slot);
		return COMPILE_NONE;
	}
	c->block[slot] = (struct compile_block){
		.size = compile_size(call),
		.thread = t->place & INT32_MAX,
		.cleared = is_cleared(op, compile_size(call)),
		.site = call->site,
	};
	return slot;
}

/* One copy for each kind of call: each of them tests less. */
uint32_t compile_call(struct compile *c, const struct compile_call *call, uint32_t old, bool begins)
{
	if (!begins)
		return one_call(c, call, old, false);
	if (old == COMPILE_NONE)
		return one_call(c, call, COMPILE_NONE, true);
	return one_call(c, call, old, true);
}

/* ---- the end of a process ---- */

ORDER(by_number, uint32_t, COMPARE(*x, *y))

void compile_left(struct compile *c, uint32_t block, uint64_t bytes)
{
	if (!c->inner && c->touch_at)
		end_touch(c, true, bytes, block);
	else if (c->inner && c->change->left)
		c->change->left(c->change->self, c->tag[block], bytes, c->inner);
}

void compile_process_gone(struct compile *c, uint32_t process, uint32_t thread, uint32_t *block,
			  size_t n)
{
	const struct compile_thread *by = compile_known_thread(c, thread);
	const struct compile_call gone = {
		.ns = c->last_ns,
		.thread = by && thread ? thread : c->thread[c->last_thread].number,
		.process = process,
		.fn = MPROF_FN_FREE,
		.mended = true,
	};
	size_t i;

	SORT(block, n, by_number);
	for (i = 0; i < n; i++)
		compile_call(c, &gone, block[i], false);
	c->sum.swept += n;
	compile_threads_exit(c, process);
}
