/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * totals.h - the pass that counts: calls, bytes and failures by function, for
 * every thread, every process and the run.
 *
 * A realloc is one call, counted when it returns. Bytes are those requested by
 * successful calls (calloc: the product; realloc: the new size; the mmap
 * family: the length); for functions that free blocks, the size of those
 * blocks.  Failed: returned NULL or an error for a size that is not 0.
 */
#pragma once

#include "array.h"
#include "walk.h"

struct totals_fn {
	uint64_t calls, bytes, failed;
};

struct totals_sum {
	struct totals_fn fn[MPROF_FN_MAX];
	uint64_t calls;	    /* of all functions */
	uint64_t allocated; /* bytes that allocating functions returned; not the mmap family */
	uint64_t failed;
	uint64_t null_frees; /* free(NULL) and the like */
};

struct totals_thread {
	uint32_t number, process; /* in the run */
	uint64_t tid;		  /* kernel thread id, 0: unknown */
	uint64_t first_ticks, last_ticks;
	bool ended; /* its end is in the trace */
	struct totals_sum sum;
};

struct totals_process {
	uint32_t number;
	uint64_t threads;
	uint64_t first_ticks, last_ticks;
	uint64_t late; /* events after its end */
	struct totals_sum sum;
};

struct totals {
	struct walk *walk;
	/* struct totals_thread; while walking by index of the heap, then one row for each thread */
	struct array thread;
	struct array process; /* struct totals_process, by index of the heap */
	struct totals_sum all;
	uint64_t lost[MPROF_LOST_REASONS]; /* as the marks in the stream say */
};

extern const struct pass_ops totals_pass;

/* The row of the thread of an event with this index; of its first event, too. */
struct totals_thread *totals_thread(struct totals *s, const struct event *e, uint32_t thread);
