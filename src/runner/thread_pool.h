/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * thread_pool.h - the threads of a playback: real ones, on workspaces (a stack and a buffer) that
 * were mapped and filled before the baseline.  An ended thread is joined, so that the allocator
 * notices its end, and its workspace goes to the next thread.
 *
 * The first thread is the process's own.  States only increase.
 */
#pragma once

#include <pthread.h>
#include "call.h"
#include "stream.h"

#define WORKSPACE_WORDS 2048 /* the most words of a buffer */

enum state { NOT_YET, RUNS, PARKED, ENDED, JOINS, JOINED };

/* A thread of the file.  state is a futex; ordered.c uses turn and self, the thread pointer. */
struct thread {
	uint32_t state, turn, index;
	void *self;
	pthread_t id;
	struct workspace *workspace;
	struct player player; /* used by threads.c, like those below */
	struct stream stream;
	uint64_t waits, late_ns;
};

struct workspace {
	struct workspace *next;
	uint64_t *buffer;
	char *stack;
	struct notes notes;
};

extern struct thread *threads;	  /* playback.head.threads of them */
extern size_t workspace_words;	  /* of a buffer */
extern uint64_t thread_pool_late; /* workspaces that had to be mapped late */

/*
 * Prepares workspaces for this many threads at once; call it before the baseline.  Each thread but
 * the first calls begin.
 */
void thread_pool_prepare(uint32_t most, void (*begin)(struct thread *));
void thread_pool_begin(struct thread *t);
bool thread_pool_begun(struct thread *t);
uint64_t thread_pool_size(void); /* number of threads begun, including the first */
/* Waits until it has ended, including its destructors. */
void thread_pool_join(struct thread *t);
/* Called when the thread has no more words: it idles until the process ends. */
_Noreturn void thread_pool_park(struct thread *t);
/* Waits until each thread has ended (and joins it) or is parked. */
void thread_pool_settle(void);

/* The thread functions of the two ways that have threads. */
void ordered_begin(struct thread *t);
void threads_begin(struct thread *t);

/* Is there only one processor?  Then spinning is useless. */
bool thread_pool_lonely(void);

/* Sleeps while *word is value; wake: wakes sleepers. */
void futex_wait(uint32_t *word, uint32_t value);
void futex_wake(uint32_t *word);
