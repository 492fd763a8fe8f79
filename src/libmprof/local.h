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
struct mprof_course;
struct mprof_heap_totals;
struct mprof_stack_use;
struct mprof_times;
struct mp_stream;
struct stack_cache;

/* State of peak.c, which finds the time when the process was largest.  In ticks and bytes. */
struct mp_peak {
	uint64_t at_it;	       /* when the current look began; 0 = none */
	uint64_t looked, most; /* when the mark was last read, and its value */
	uint64_t next[2];      /* earliest next look; [1]: around a large block */
	uint64_t hidden; /* marks up to this value belong to another program; 0 = ours is known */
	uint64_t offset; /* of the extent; 0 = none yet */
};

/* State of overhead.c: the cost of recording in this process, in ticks, since measuring began. */
struct mp_overhead {
	uint64_t spent, due; /* due: when to compare the cost with the CPU time */
	uint32_t measured;   /* 1 if the fields below are valid */
	uint64_t end;	     /* header.log_end when measuring began */
	uint64_t cpu_from, spent_from;
	uint32_t stepped; /* 1 if log_steps was raised */
};

/* State of course.c.  `room`, in steps, is never read from the file, which others may overwrite. */
struct mp_course {
	struct mprof_course *at;
	const struct mprof_heap_totals *heap; /* whose course it is; NULL = none yet */
	uint32_t room;
	/* Bytes when the last step was closed, or at the first call; sizes: 0 = unknown */
	uint64_t resident, mapped;
	int64_t live_bytes;
};

/* State of budget.c: the file and this process's part of it at its last step. */
struct mp_budget {
	uint32_t level;
	uint32_t begun; /* 1 if the fields below are valid */
	uint64_t size, own;
};

#define MP_COUNTS_UNUSED 64
#define MP_CACHE_SIZES	 7
/* A record of how much of its stack a thread used, and the size of its extent.  The size is not
 * read from the file, which others may overwrite. */
struct mp_use {
	struct mprof_stack_use *at;
	uint32_t bytes;
};

struct mp_local {
	uint32_t alive;	  /* 0 in new memory, and in a forked child */
	uint32_t process; /* our number in the run */
	uint32_t entry;	  /* index of our entry in the header, plus 1; 0 = none */
	int32_t pid;
	uint32_t how;	 /* MPROF_CHILD_FORK if the time of the fork is known exactly */
	uint32_t forked; /* 1 if it has forked a child */
	uint32_t live_threads;
	uint32_t threaded;     /* 1 if there has been a thread other than the first one */
	uint32_t mapped_slots; /* slots that have their own mappings */
	struct mp_list unused; /* thread records */
	/* Records of threads whose destructors have run, but whose last frees may still follow. */
	struct mp_list ended;	/* most recent first */
	struct mp_list zombies; /* ended before those, oldest first */
	struct mp_list starts;
	struct mp_pool lines, slots, caches, live, memory, records;
	uint64_t self_bytes; /* memory that we use in this process */
	uint64_t last_sample_ns;
	struct mp_peak peak;
	struct mp_overhead overhead;
	struct mp_budget budget;
	struct mp_course course;
	uint32_t log_steps;  /* see module.h */
	uint64_t file_bytes; /* of the file, taken by this process */
	uint32_t summary_lock;
	uint32_t dumps; /* dumps so far */
	uint32_t counts_taken;
	uint32_t counts_lock;		    /* guards the merged record and the unused ones */
	struct mprof_counts *counts_merged; /* sums of ended threads */
	struct mprof_counts *counts_unused[MP_COUNTS_UNUSED]; /* for reuse */
	uint32_t uses_taken, uses_lock, uses_free;
	uint32_t times_taken;
	struct mprof_times *times_first;    /* has the CPU time of the process */
	uint64_t times_cpu_from, times_due; /* ns when recording began; when to read it again */
	struct mp_use uses_most;	    /* of ended threads beyond those kept */
	struct mp_use uses_unused[MP_COUNTS_UNUSED]; /* for reuse */
	uint32_t image;				     /* mprof_process_entry.image */
	uint32_t suspend_lock, suspended; /* threads between mp_suspend() and mp_resume() */
	uint32_t stacks_lock;
	uint32_t stream_begun;	       /* stack records of this process exist */
	uint32_t objects;	       /* OBJECT records so far */
	uint32_t stream_lock;	       /* held while the next slot is taken */
	uint32_t stream_slots;	       /* slots of the stream so far */
	struct mp_stream *stream;      /* where stack records go: stacks.c */
	struct stack_cache *listening; /* caches of threads that also ran on other stacks */
	struct mp_list cache_arrays[MP_CACHE_SIZES]; /* for reuse, by size */
	uint64_t script_lines; /* addresses that stand for lines of scripts: python.c */
};
extern struct mp_local *mp_local;

/* ---- threads.c: locks, and memory of this kind ---- */

void mp_lock(uint32_t *lock);
void mp_unlock(uint32_t *lock);
/* Used for work that a signal handler must not jump out of. */
void mp_signals_block(uint64_t *before);
void mp_signals_restore(const uint64_t *before);
/* Blocks signals while the lock is held, so that no handler jumps away and leaves it locked. */
void mp_lock_blocking(uint32_t *lock, uint64_t *signals);
void mp_unlock_blocking(uint32_t *lock, const uint64_t *signals);
/* Returns memory that the kernel zeroes in a forked child, or NULL. */
void *mp_wiped_memory(size_t bytes);
/* Returns zeroed cache lines, which the kernel zeroes again in a forked child, or NULL. */
void *mp_lines_take(uint32_t lines);
/* Adds to the memory that we use in this process.  Any thread. */
void mp_self_bytes(int64_t more);
/* Tells the reader where such memory is, which stays mapped. */
void mp_self_is_at(const void *at, size_t bytes);
/* Both. */
void mp_self_mapped(const void *at, size_t bytes);
