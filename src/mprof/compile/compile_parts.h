/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * compile_parts.h - private to the files of the compiler.
 *
 * A call becomes words (compile_play.c): slots, threads, times.
 *
 * With a hook there are two compilers: the outer one has no file; its calls go to the hook, and
 * those that the hook passes on go to the inner one.
 */
#pragma once

#include "../util/alloc.h"
#include "../util/large.h"
#include "compile.h"
#include "compile_write.h"

#define COMPILE_TIME_NS 100000u	   /* at most one TIME word in this time */
#define COMPILE_NUMBERS (1u << 24) /* greater numbers of threads and processes share 0's place */
#define COMPILE_LATE	16u /* after this many calls after its end, a thread counts as alive again */
#define COMPILE_NOWHERE UINT64_MAX

struct compile_thread {
	uint32_t place; /* in thread[] */
	uint32_t number, process;
	uint32_t creator;  /* index; COMPILE_NONE if unknown */
	uint32_t late;	   /* calls after its end */
	bool begun, ended; /* ended: its EXIT is at exit_at */
	/* Positions of its EXIT and of the GONE for it, COMPILE_NOWHERE if none; the last TIME
	 * word at its EXIT. */
	uint64_t exit_at, exit_time, gone_at, gone_time;
	uint64_t calls, first_ns, last_ns;
	uint32_t index; /* in the file; COMPILE_NONE before its first call */
	/* Slots that the thread used and freed itself: the last one is reused first. */
	uint32_t *pool;
	size_t pool_n, pool_room;
};

/* By slot: its live block. */
struct compile_block {
	uint64_t size;
	uint32_t thread : 31; /* place in thread[] */
	uint32_t cleared : 1; /* large, and by calloc */
	uint32_t site;
};

struct compile_resting {
	uint64_t until; /* op number */
	uint32_t slot;
};

struct compile {
	/* Used for each call. */
	struct compile_block *block; /* by slot */
	struct compile_thread *thread;
	uint32_t *thread_place; /* by number: place in thread[] + 1 */
	uint32_t last_thread;	/* the thread of the last call: place in thread[] */
	uint64_t live_bytes, live_blocks, cleared_bytes;
	uint64_t time_word, next_time; /* of the last TIME word; when the next one is due */
	uint64_t first_ns, last_ns;
	uint32_t playing; /* index of the thread whose words are being added to ORDER */
	bool has_ns;
	struct writer writer;
	struct mprof_play_summary sum;

	/* Slots. */
	uint64_t slots;
	size_t slots_room;
	size_t block_bytes;				 /* of block[] */
	struct compile_resting *resting;		 /* a ring, oldest first */
	uint64_t resting_first, resting_n, resting_room; /* room: a power of two */
	uint64_t *touch_at; /* by slot: position of its TOUCH word, or COMPILE_NOWHERE */

	/* Threads and processes. */
	uint32_t threads, begun;
	size_t thread_room;
	size_t thread_numbers; /* room of thread_place */
	uint32_t *by_index;    /* place in thread[] of each index */
	size_t by_index_room;
	uint32_t *gone; /* places of ended threads that nobody waits for yet */
	uint32_t gone_n;
	size_t gone_room;
	uint32_t *forker; /* by process: number of the thread that forked it, + 1 */
	size_t process_room;

	/* What-if. */
	const struct compile_change *change;
	struct compile *inner;
	uint64_t *tag; /* by slot */

	bool full; /* no slot was left */
	bool writes;
	bool cut, changed;
	struct compile_options options;
	char *strings[3]; /* program, source, input */
	uint8_t run_id[16];
};

/* Never returns NULL; the pointer is valid until the next new thread. */
struct compile_thread *compile_find_thread(struct compile *c, uint32_t number);

static inline struct compile_thread *compile_thread_of(struct compile *c, uint32_t number)
{
	struct compile_thread *t = &c->thread[c->last_thread];

	if (__builtin_expect(t->number == number, 1))
		return t;
	return compile_find_thread(c, number);
}

PREFETCHES compile_prefetch(const struct compile *c, uint32_t block)
{
	if (block < c->slots)
		__builtin_prefetch(&c->block[block]);
}

/* Limits a size to what a word and its EXT can hold; real allocations never exceed it. */
static inline uint64_t compile_size(const struct compile_call *call)
{
	const uint64_t most = (1ull << 60) - 1;

	return call->size < most ? call->size : most;
}

/* ---- compile_slots.c ---- */

/* A slot that has rested, else a new one. */
uint32_t compile_slot_other(struct compile *c);
void compile_slot_rests(struct compile *c, uint32_t slot);
void compile_pool_rests(struct compile *c, struct compile_thread *t);

/* Returns COMPILE_NONE and sets c->full if no slot is left. */
static inline uint32_t compile_slot_take(struct compile *c, struct compile_thread *t)
{
	return t->pool_n ? t->pool[--t->pool_n] : compile_slot_other(c);
}

static inline void compile_slot_give(struct compile *c, struct compile_thread *t, uint32_t slot)
{
	if (c->block[slot].thread != t->place || t->ended) {
		compile_slot_rests(c, slot);
	} else {
		GROW(t->pool, t->pool_n + 1, t->pool_room);
		t->pool[t->pool_n++] = slot;
	}
}

/* ---- compile_threads.c ---- */

/* Like compile_find_thread, but returns NULL for an unknown one. */
struct compile_thread *compile_known_thread(struct compile *c, uint32_t number);
/* ORDER continues with words of t: CREATE before the first; EXIT is undone if it had ended. */
void compile_words_begin(struct compile *c, struct compile_thread *t);
void compile_words_end(struct compile *c, struct compile_thread *t);
void compile_thread_exits(struct compile *c, struct compile_thread *t);
/* Ends all threads of this process. */
void compile_threads_exit(struct compile *c, uint32_t process);
