/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * cross_frees.h - the analysis of blocks that another thread frees: producers,
 * consumers, and the blocks passed between them.
 *
 * The producer of a block is the thread whose call returned it; the consumer is
 * the one that freed or reallocated it.  Threads are numbers of the run.
 * Blocks inherited by fork have no owner.  Memory is bounded: pairs of
 * different threads beyond the first CROSS_FREE_PAIRS are summed in `rest`.
 */
#pragma once

#include "../util/hash.h"
#include "array.h"
#include "walk.h"

#define CROSS_FREE_PAIRS (1u << 17)

struct cross_free_sum {
	uint64_t blocks, bytes;
};

struct cross_free_pair {
	uint32_t from, to; /* threads: producer, consumer */
	struct cross_free_sum sum;
};

struct cross_free_thread {
	uint32_t number, process;
	uint64_t tid;			 /* kernel thread id, 0 if unknown */
	struct cross_free_sum allocated; /* its calls */
	struct cross_free_sum own;	 /* its blocks that it freed itself */
	struct cross_free_sum by_others; /* its blocks that other threads freed */
	struct cross_free_sum of_others; /* blocks of other threads that it freed */
	uint32_t consumers, producers;	 /* other threads in `pair` */
};

struct cross_frees {
	struct walk *walk;
	struct array thread;	      /* struct cross_free_thread, by index of the heap */
	struct cross_free_pair *pair; /* after finish: most bytes first */
	size_t pairs, room;
	struct hash index;		 /* while walking: of a pair, by from << 32 | to, + 1 */
	struct cross_free_sum rest, all; /* all: pairs and rest */
	size_t limit;			 /* of pairs; 0 = CROSS_FREE_PAIRS */
	uint32_t process;		 /* only of this process; 0 = of all */
};

extern const struct pass_ops cross_free_pass;

/* For a loop that takes events as the pass does: a thread allocated blocks; a block ended in a call
 * of this thread.  Indices of the heap. */
void cross_frees_allocated(struct cross_frees *f, uint32_t thread, uint64_t blocks, uint64_t bytes);
void cross_frees_ended(struct cross_frees *f, uint32_t by, const struct block *b);

/* Returns the blocks passed between two threads, after finish; NULL if none were. */
const struct cross_free_pair *cross_free_find(const struct cross_frees *f, uint32_t from,
					      uint32_t to);
