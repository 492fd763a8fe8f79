/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * alloc_times.h - estimates how much time a run spent in the allocator, from the calls that were
 * timed (FORMAT.md section 7.5).
 *
 * The time of a function in a thread is the mean of its timed calls, less what reading the clock
 * costs, times its calls; of a thread with few timed calls, the mean of the run is used.  The
 * longest timed call does not count if it alone would stand for half of the CPU time, and there is
 * no estimate if the result is more than twice the CPU time.  Errors are half of a 95 % confidence
 * interval.  The CPU time of processes includes that of recording.
 */
#pragma once

#include "../trace/trace.h"

#define ALLOC_TIMES_LEAST 100u /* timed calls; with fewer, nothing is said */
#define ALLOC_TIMES_OWN	  30u  /* timed calls of a function that a thread's own mean needs */
/*
 * An allocator of twice the speed would save 5 % of the CPU time: more than what differs from one
 * run to the next in most programs.  Without recording, the part is larger.
 */
#define ALLOC_TIMES_HIGH    0.1
#define ALLOC_TIMES_TOLD_NS 5e7 /* less is not worth a word */

struct alloc_times_fn {
	uint64_t timed, calls;	 /* timed ones; all of a function that was timed */
	double mean_ns, most_ns; /* of the timed ones: mean, longest */
	double ns, error_ns;	 /* of all calls */
};

struct alloc_times_thread {
	uint32_t thread; /* number in the run */
	double ns[MPROF_FN_MAX];
};

/* The calls of a thread, by function. */
struct alloc_times_calls {
	uint32_t thread; /* number in the run */
	uint64_t calls[MPROF_FN_MAX];
};

struct alloc_times {
	struct alloc_times_fn fn[MPROF_FN_MAX];
	struct alloc_times_thread *thread; /* as the calls */
	size_t threads;
	uint64_t timed, calls; /* 0: too few were timed, calls are missing, or no estimate */
	double ns, error_ns;
	uint64_t cpu_ns;  /* 0: unknown */
	bool interrupted; /* a process did not exit, so its CPU time ends with a timed call */
	bool high;	  /* is it worth trying another allocator? */
	bool of_objects;  /* no: with --python, the runtime calls it for each small object */
};

/* threads: with all calls of the run; 0: some are missing, so nothing is known. */
void alloc_times_find(struct alloc_times *a, const struct trace *t,
		      const struct alloc_times_calls *calls, size_t threads);
void alloc_times_release(struct alloc_times *a);
