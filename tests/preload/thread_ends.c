/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * thread_ends.c - threads whose destructors free and allocate, round after round,
 * in the order that is worst for a recorder: after its own destructor has run.
 */
#include "victim.h"

#include <pthread.h>

enum { THREADS = 40, ROUNDS = 3 }; /* PTHREAD_DESTRUCTOR_ITERATIONS is 4 */

static pthread_key_t key;
static __thread int rounds;

static void destroy(void *block)
{
	free(block);
	if (++rounds < ROUNDS)
		pthread_setspecific(key, malloc(901));
	free(malloc(902));
}

static void *work(void *arg)
{
	pthread_setspecific(key, malloc(900));
	if (arg)
		pthread_exit(NULL);
	return NULL;
}

static void *cancelled(void *arg)
{
	pthread_setspecific(key, malloc(900));
	pthread_barrier_wait(arg);
	for (;;)
		pause();
	return NULL;
}

int main(void)
{
	pthread_barrier_t ready;
	pthread_t id;

	pthread_key_create(&key, destroy);
	for (long i = 0; i < THREADS; i++) {
		must(pthread_create(&id, NULL, work, (void *)(i & 1)) == 0);
		must(pthread_join(id, NULL) == 0);
	}
	pthread_barrier_init(&ready, NULL, 2);
	must(pthread_create(&id, NULL, cancelled, &ready) == 0);
	pthread_barrier_wait(&ready);
	must(pthread_cancel(id) == 0);
	must(pthread_join(id, NULL) == 0);
	say("size 900 %d", THREADS + 1);
	say("size 901 %d", (THREADS + 1) * (ROUNDS - 1));
	say("size 902 %d", (THREADS + 1) * ROUNDS);
	say("expect threads %d", THREADS + 2);
	say("ends 0");
	return 0;
}
