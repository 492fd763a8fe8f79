/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stack_uses.h - finds how much of its stack each thread used, and the resident bytes of all
 * stacks.
 *
 *   deepest   from the end of the stack to the lowest stack pointer at a recorded call
 *   touched   to the lowest page that was resident when the thread or its process ended; of one
 *             that was killed or still runs, when mprof read its pages last
 *   used      the greater of both
 *   resident  bytes in resident pages, at the same time as `touched`
 *
 * In a forked child, the stack of the thread that forked includes pages of its parent.
 */
#pragma once

#include "../trace/trace.h"
#include "../util/format.h"

struct stack_of {
	uint32_t process, thread; /* numbers in the run */
	uint64_t tid;
	const char *name;     /* that the program gave it, or ""; of the trace */
	bool main;	      /* the first thread of its process */
	uint64_t used, limit; /* 0 if there is no limit, or it is unknown */
	uint64_t deepest, deepest_ticks;
	uint64_t touched, resident, looked_ticks; /* looked_ticks 0 = pages are unknown */
	uint64_t begin_ticks, end_ticks;	  /* end_ticks 0 = it ran until the end */
	uint32_t stack;				  /* node at deepest_ticks; 0 if unknown */
	uint32_t others;			  /* other threads that used no more */
	uint64_t low, high;			  /* addresses of the used part */
	const uint32_t *size; /* bytes of each frame of `stack`, outermost first; of the trace */
	uint32_t frames;      /* 0 if they are unknown */
	const uint64_t *interval; /* of the trace: see stack_interval() */
	uint32_t intervals;
};

/* As thread_title(); a main thread without a name is "1 (main)". */
struct text stack_thread_title(const struct stack_of *s);

/* From its begin to that of the next one, the deepest recorded call was so far down the stack,
 * rounded up to 64 bytes. */
struct stack_interval {
	uint64_t ticks, deepest;
};

struct stack_uses {
	struct stack_of *of; /* those that used most first */
	size_t count;
	uint64_t threads; /* including `others` */
};

void stack_uses_find(struct stack_uses *s, const struct trace *t);
struct stack_interval stack_interval(const struct stack_of *s, uint32_t i);
void stack_uses_release(struct stack_uses *s);
/* Returns how many threads of the process ran at the same time, at most; at least 1. */
uint64_t stack_uses_at_once(const struct stack_uses *s, uint32_t process);
/* Did it touch a page far down, but hardly any in between?  Ruby does so to check that its stack
 * exists. */
bool stack_is_only_touched(const struct stack_of *s);
/* Is less than a tenth of its stack left? */
bool stack_is_nearly_full(const struct stack_of *s);
/* Returns the bytes of thread stacks of r's process in pages that r contains. */
uint64_t stack_uses_resident(const struct stack_uses *s, const struct trace *t,
			     const struct trace_residency *r);
/* The same of their thread-local variables.  Each thread but the main one has `bytes` of them above
 * its stack. */
uint64_t stack_uses_locals(const struct stack_uses *s, const struct trace *t,
			   const struct trace_residency *r, uint64_t bytes);
