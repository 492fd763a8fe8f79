// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * generations.c - threads that come and go: what their lives mean for memory.
 *
 *   generations ROUNDS THREADS KILOBYTES
 *
 * In each round THREADS threads are started together and joined before the next round.  Each fills
 * this many kilobytes with blocks of many sizes, waits until all have, gives most of them back in
 * another order, and leaves one in eight to the first thread, which frees them before the next
 * round.  The same blocks, and as many of them at once, in every run.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 65536

static pthread_barrier_t all_full;

struct worker {
	pthread_t thread;
	uint64_t random;
	size_t bytes; /* to fill */
	void **block; /* made by the first thread */
	size_t blocks;
};

static uint64_t next(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

/* Mostly small, sometimes some pages. */
static size_t size_of(uint64_t r)
{
	return r % 64 ? 16 + r / 64 % 500 : 2000 + r / 64 % 20000;
}

static void shuffle(struct worker *w)
{
	size_t i, k;
	void *p;

	for (i = w->blocks; i > 1; i--) {
		k = next(w) % i;
		p = w->block[k];
		w->block[k] = w->block[i - 1];
		w->block[i - 1] = p;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	size_t size, done = 0, i, kept = 0;

	w->blocks = 0;
	while (done < w->bytes && w->blocks < MOST) {
		size = size_of(next(w));
		w->block[w->blocks] = malloc(size);
		if (!w->block[w->blocks])
			abort();
		memset(w->block[w->blocks++], 1, size);
		done += size;
	}
	pthread_barrier_wait(&all_full);
	shuffle(w);
	for (i = 0; i < w->blocks; i++) {
		if (i % 8)
			free(w->block[i]);
		else
			w->block[kept++] = w->block[i];
	}
	w->blocks = kept;
	return NULL;
}

static void give_back(struct worker *w)
{
	while (w->blocks)
		free(w->block[--w->blocks]);
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 12;
	size_t threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 3;
	size_t bytes = (argc > 3 ? strtoul(argv[3], NULL, 10) : 2048) * 1024;
	struct worker *worker = calloc(threads, sizeof(*worker));
	size_t round, i;

	pthread_barrier_init(&all_full, NULL, (unsigned)threads);
	for (i = 0; i < threads; i++) {
		worker[i].block = malloc(MOST * sizeof(void *));
		worker[i].random = 88172645463325252u + i;
		worker[i].bytes = bytes;
	}
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < threads; i++) {
			give_back(&worker[i]);
			if (pthread_create(&worker[i].thread, NULL, work, &worker[i]))
				return 1;
		}
		for (i = 0; i < threads; i++)
			pthread_join(worker[i].thread, NULL);
	}
	for (i = 0; i < threads; i++) {
		give_back(&worker[i]);
		free(worker[i].block);
	}
	free(worker);
	puts("done");
	return 0;
}
