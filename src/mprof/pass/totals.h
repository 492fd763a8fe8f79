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

#define TOTALS_APART (128u << 10) /* bytes of a block that glibc maps by itself, at first */
#define TOTALS_SWING \
	(64u << 10) /* bytes by which live bytes must fall before a rise counts again */

struct totals_fn {
	uint64_t calls, bytes, failed;
};

struct totals_sum {
	struct totals_fn fn[MPROF_FN_MAX];
	uint64_t calls;	    /* sum over all functions */
	uint64_t allocated; /* bytes that allocating functions returned; not the mmap family */
	uint64_t failed;
	uint64_t null_frees;	      /* free(NULL) and similar calls */
	uint64_t apart, apart_blocks; /* freed blocks that are totals_is_apart(), in bytes too */
};

/* Does the address show that glibc mapped the block by itself?  By chance, one of 256 others has
 * such an address. */
static inline bool totals_is_apart(const struct block *b)
{
	return b->size >= TOTALS_APART && (b->addr & 4095) == 16;
}

/* Called when a block is freed. */
static inline void totals_freed(struct totals_sum *s, const struct block *b)
{
	if (__builtin_expect(totals_is_apart(b), 0)) {
		s->apart += b->size;
		s->apart_blocks++;
	}
}

struct totals_thread {
	uint32_t number, process; /* in the run */
	uint64_t tid;		  /* kernel thread id, 0 if unknown */
	uint64_t first_ticks, last_ticks;
	bool ended; /* the trace has its end */
	struct totals_sum sum;
};

/*
 * How much live bytes rose in all, not counting swings of TOTALS_SWING bytes and less: an allocator
 * that returns freed memory gets at most about as much in new pages.
 */
struct totals_swing {
	uint64_t rises;
	uint64_t top;  /* live bytes above which more count, never more than TOTALS_SWING above
			  live bytes */
	uint64_t most; /* live bytes at most */
};

struct totals_process {
	uint32_t number;
	uint64_t threads;
	uint64_t first_ticks, last_ticks;
	uint64_t late; /* events after its end */
	struct totals_swing swing;
	struct totals_sum sum;
};

/* Called when a block of the process began or ended, with its live bytes then. */
ALWAYS_INLINE void totals_swing(struct totals_swing *s, uint64_t live)
{
	/* One comparison for both sides: what is negative here is a large number. */
	if (__builtin_expect(live - s->top + TOTALS_SWING <= TOTALS_SWING, 1))
		return;
	if (live > s->top) {
		s->rises += live - s->top;
		s->top = live;
		s->most = live > s->most ? live : s->most;
	} else {
		s->top = live + TOTALS_SWING;
	}
}

/* The first call that failed. */
struct totals_failure {
	uint64_t ticks, size; /* size: requested, or of the range */
	uint32_t stack;	      /* 0 = not recorded */
	uint32_t process;     /* number in the run; 0 without a failed call */
	uint32_t flags;	      /* of mmap, else 0 */
	uint8_t fn;	      /* enum mprof_fn */
};

struct totals {
	struct walk *walk;
	/* struct totals_thread; while walking by index of the heap, then one row for each thread */
	struct array thread;
	struct array process; /* struct totals_process, by index of the heap */
	struct totals_sum all;
	struct totals_failure first_failed;
	uint64_t lost[MPROF_LOST_REASONS]; /* as counted by marks in the stream */
};

extern const struct pass_ops totals_pass;

/* Returns the row of the thread with this index, at each of its events. */
struct totals_thread *totals_thread(struct totals *s, const struct event *e, uint32_t thread);
/* Returns the row of the process with this index, until another one is called for. */
struct totals_process *totals_process(struct totals *s, uint32_t process);
