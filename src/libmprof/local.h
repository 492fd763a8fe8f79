/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * local.h - the state of this process: memory that a forked child finds zeroed.
 *
 * Fields are written by any thread: counts and pointers by atomic operations, the others under the
 * lock that is named with them, or by the one thread of a process that begins.  Locks are 0 when
 * free; none is held across a call into the program, the loader or the allocator.  Order:
 * stacks_lock before stream_lock before a pool's lock; all others are held alone.
 */
#ifndef MP_LOCAL_H
#define MP_LOCAL_H

#include <stdint.h>

#include "lists.h"
#include "pools.h"

struct mprof_counts;
struct mprof_stack_use;
struct mp_stream;
struct stack_cache;

/* Of peak.c, which looks for the moment when the process was largest.  All in ticks and bytes. */
struct mp_peak {
	uint64_t at_it;	       /* when the look at hand began; 0: nobody looks */
	uint64_t looked, most; /* when the mark was last seen, and the mark then */
	uint64_t next[2];      /* when it is time for another look; [1]: around a large block */
	uint64_t hidden;       /* marks up to here are another program's; 0: ours is known */
	uint64_t offset;       /* of the extent; 0: none yet */
};

/* Of overhead.c: what recording has cost here, in ticks, and from when on it is measured. */
struct mp_overhead {
	uint64_t spent, due; /* due: compare it with the CPU time then */
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
	uint32_t how; /* MPROF_CHILD_FORK: the moment of the fork is known exactly */
	uint32_t live_threads;
	uint32_t threaded;     /* there have been others than the first one */
	uint32_t mapped_slots; /* slots that are mappings of their own */
	struct mp_list unused; /* thread records */
	/* Threads whose destructors have run: their last frees may still come. */
	struct mp_list ended;	/* the last one first */
	struct mp_list zombies; /* those before them, oldest first */
	struct mp_list starts;
	struct mp_pool lines, slots, counts, caches, live, memory, uses;
	uint64_t self_bytes; /* our memory in this process */
	uint64_t last_sample_ns;
	struct mp_peak peak;
	struct mp_overhead overhead;
	uint32_t summary_lock;
	uint32_t dumps; /* so far */
	uint32_t counts_taken;
	uint32_t counts_lock;		    /* of the merged record and those to be used again */
	struct mprof_counts *counts_merged; /* takes over ended threads' sums */
	struct mprof_counts *counts_unused[MP_COUNTS_UNUSED]; /* to be used again */
	uint32_t uses_taken, uses_lock;
	struct mprof_stack_use *uses_most; /* of the ended threads beyond those kept */
	struct mprof_stack_use *uses_unused[MP_COUNTS_UNUSED]; /* to be used again */
	uint32_t image;					       /* mprof_process_entry.image */
	uint32_t suspend_lock, suspended; /* threads between mp_suspend() and mp_resume() */
	uint32_t stacks_lock;
	uint32_t stream_begun;	  /* there are stack records of this process */
	uint32_t objects;	  /* OBJECT records so far */
	uint32_t stream_lock;	  /* while its next slot is taken */
	uint32_t stream_slots;	  /* so far */
	struct mp_stream *stream; /* where stack records go: stacks.c */
	struct stack_cache
	    *listening; /* of threads that have been on other stacks than their own */
	struct mp_list cache_arrays[MP_CACHE_SIZES]; /* to be used again, by size */
};
extern struct mp_local *mp_local;

/* ---- threads.c: locks, and memory of this kind ---- */

void mp_lock(uint32_t *lock);
void mp_unlock(uint32_t *lock);
/* While what a handler must not jump out of is done. */
void mp_signals_block(uint64_t *before);
void mp_signals_restore(const uint64_t *before);
/* With signals blocked, so that no handler jumps out and leaves it held. */
void mp_lock_blocking(uint32_t *lock, uint64_t *signals);
void mp_unlock_blocking(uint32_t *lock, const uint64_t *signals);
/* Memory that a forked child finds zeroed, or NULL. */
void *mp_wiped_memory(size_t bytes);
/* Zeroed cache lines, which a forked child finds zeroed again, or NULL. */
void *mp_lines_take(uint32_t lines);

#endif
