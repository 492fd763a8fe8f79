/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ring.c - every thread allocates and passes blocks on; the next one grows them,
 * the one after that frees them.  No thread frees a block that it allocated.
 */
#include "victim.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 6, BLOCKS = 20000, ROOM = 64 };

struct pipe {
	void *slot[ROOM];
	atomic_uint head, tail;
};
static struct pipe fresh[THREADS], grown[THREADS];

static int put(struct pipe *pipe, void *block)
{
	unsigned head = atomic_load_explicit(&pipe->head, memory_order_relaxed);

	if (head - atomic_load_explicit(&pipe->tail, memory_order_acquire) == ROOM)
		return 0;
	pipe->slot[head % ROOM] = block;
	atomic_store_explicit(&pipe->head, head + 1, memory_order_release);
	return 1;
}

static void *take(struct pipe *pipe)
{
	unsigned tail = atomic_load_explicit(&pipe->tail, memory_order_relaxed);
	void *block;

	if (atomic_load_explicit(&pipe->head, memory_order_acquire) == tail)
		return NULL;
	block = pipe->slot[tail % ROOM];
	atomic_store_explicit(&pipe->tail, tail + 1, memory_order_release);
	return block;
}

/* Thread i gives to i + 1 and takes from i - 1; each end of a pipe has one thread. */
static void *work(void *arg)
{
	long me = (long)arg, from = (me + THREADS - 1) % THREADS;
	long made = 0, moved = 0, freed = 0;
	void *mine = NULL, *theirs = NULL, *done;

	while (made < BLOCKS || moved < BLOCKS || freed < BLOCKS) {
		if (!mine && made < BLOCKS)
			mine = malloc(24);
		if (mine && put(&fresh[me], mine)) {
			mine = NULL;
			made++;
		}
		if (!theirs && (theirs = take(&fresh[from])))
			theirs = realloc(theirs, 24 + (size_t)moved % 200);
		if (theirs && put(&grown[me], theirs)) {
			theirs = NULL;
			moved++;
		}
		if ((done = take(&grown[from]))) {
			free(done);
			freed++;
		} else {
			sched_yield();
		}
	}
	return NULL;
}

int main(void)
{
	pthread_t id[THREADS];

	for (long i = 0; i < THREADS; i++)
		must(pthread_create(&id[i], NULL, work, (void *)i) == 0);
	for (long i = 0; i < THREADS; i++)
		must(pthread_join(id[i], NULL) == 0);
	say("expect calls.malloc %d", THREADS * BLOCKS);
	say("expect calls.realloc %d", THREADS * BLOCKS);
	say("atleast calls.free %d", THREADS * BLOCKS);
	say("expect threads %d", THREADS + 1);
	say("ends 0");
	return 0;
}
