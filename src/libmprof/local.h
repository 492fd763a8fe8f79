/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * local.h - the state of this process, in memory that the kernel zeroes in a forked child.
 *
 * Any thread may write: counts and pointers with atomic operations, other fields under the lock
 * named beside them or while the process has one thread.  A lock is 0 when nobody holds it.  Never
 * call the program, the loader or the allocator with a lock held.  Take stacks_lock before
 * stream_lock before a pool's lock, and hold every other lock alone.
 */
#pragma once

#include <stdint.h>

#include "lists.h"
#include "pools.h"

struct mprof_counts;
struct mprof_stack_use;
struct mp_stream;
struct stack_cache;

/* For peak.c, which looks for the time when the process was largest.  All in ticks and bytes. */
struct mp_peak {
	uint64_t at_it;	       /* when the current look began; 0: none */
	uint64_t looked, most; /* when the mark was last read, and its value */
	uint64_t next[2];      /* earliest next look; [1]: around a large block */
	uint64_t hidden;       /* marks up to this value are another program's; 0: ours is known */
	uint64_t offset;       /* of the extent; 0: none yet */
};

/* For overhead.c: what recording has cost in this process, in ticks, since measuring began. */
struct mp_overhead {
	uint64_t spent, due; /* due: when to compare it with the CPU time */
	uint32_t measured;   /* the fields below are valid */
	uint64_t end;	     /* header.log_end at that time */
	uint64_t cpu_from, spent_from;
};

#define MP_COUNTS_UNUSED 64
#define MP_CACHE_SIZES	 7
struct mp_local {
	uint32_t alive;	  /* 0: this memory is new or a forked child's */
	uint32_t process; /* our number in the run */
	uint32_t entry;	  /* index of our entry in the header, plus 1; 0: none */
	int32_t pid;
	uint32_t how; /* MPROF_CHILD_FORK: the time of the fork is known exactly */
	uint32_t live_threads;
	uint32_t threaded;     /* there have been other threads than the first one */
	uint32_t mapped_slots; /* slots that are mappings of their own */
	struct mp_list unused; /* thread records */
	/* Threads whose destructors have run: their last frees may still follow. */
	struct mp_list ended;	/* most recent first */
	struct mp_list zombies; /* those before them, oldest first */
	struct mp_list starts;
	struct mp_pool lines, slots, counts, caches, live, memory, uses;
	uint64_t self_bytes; /* memory that we use in this process */
	uint64_t last_sample_ns;
	struct mp_peak peak;
	struct mp_overhead overhead;
	uint32_t summary_lock;
	uint32_t dumps; /* so far */
	uint32_t counts_taken;
	uint32_t counts_lock;		    /* for the merged record and the unused ones */
	struct mprof_counts *counts_merged; /* sums of ended threads */
	struct mprof_counts *counts_unused[MP_COUNTS_UNUSED]; /* for reuse */
	uint32_t uses_taken, uses_lock;
	struct mprof_stack_use *uses_most; /* of the ended threads beyond those kept */
	struct mprof_stack_use *uses_unused[MP_COUNTS_UNUSED]; /* for reuse */
	uint32_t image;					       /* mprof_process_entry.image */
	uint32_t suspend_lock, suspended; /* threads between mp_suspend() and mp_resume() */
	uint32_t stacks_lock;
	uint32_t stream_begun;	       /* stack records of this process exist */
	uint32_t objects;	       /* OBJECT records so far */
	uint32_t stream_lock;	       /* while the next slot is taken */
	uint32_t stream_slots;	       /* so far */
	struct mp_stream *stream;      /* where stack records go: stacks.c */
	struct stack_cache *listening; /* caches of threads that ran on other stacks */
	struct mp_list cache_arrays[MP_CACHE_SIZES]; /* for reuse, by size */
};
extern struct mp_local *mp_local;

/* ---- threads.c: locks, and memory of this kind ---- */

void mp_lock(uint32_t *lock);
void mp_unlock(uint32_t *lock);
/* For work that a signal handler must not jump out of. */
void mp_signals_block(uint64_t *before);
void mp_signals_restore(const uint64_t *before);
/* With signals blocked, so that no handler jumps out and leaves it locked. */
void mp_lock_blocking(uint32_t *lock, uint64_t *signals);
void mp_unlock_blocking(uint32_t *lock, const uint64_t *signals);
/* Memory that a forked child finds zeroed, or NULL. */
void *mp_wiped_memory(size_t bytes);
/* Zeroed cache lines, which a forked child finds zeroed again, or NULL. */
void *mp_lines_take(uint32_t lines);
