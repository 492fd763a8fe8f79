/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * threads.c - THREADS threads, PAIRS times malloc(4) and free in each.
 * `alive`: none ends before all have begun.  `turns`: never two at once.
 * `tiny`: on the smallest stacks that there are.
 */
#include "victim.h"

#include <limits.h>
#include <pthread.h>

static long pairs;
static pthread_barrier_t all;
static int alive;

static void *work(void *arg)
{
	if (alive)
		pthread_barrier_wait(&all);
	for (long i = 0; i < pairs; i++) {
		char *p = malloc(4);

		if (!p)
			_exit(97);
		*p = 1;
		free(p);
	}
	if (alive)
		pthread_barrier_wait(&all);
	return arg;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 100;
	int turns = argc > 3 && strcmp(argv[3], "turns") == 0;
	int tiny = argc > 3 && strcmp(argv[3], "tiny") == 0;
	pthread_attr_t attr;
	pthread_t *ids = calloc((size_t)threads, sizeof(*ids));

	pairs = argc > 2 ? atol(argv[2]) : 1000;
	alive = argc > 3 && strcmp(argv[3], "alive") == 0;
	must(ids);
	pthread_barrier_init(&all, NULL, (unsigned)threads + 1);
	pthread_attr_init(&attr);
	must(pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN + (tiny ? 0 : 16384)) == 0);
	for (long i = 0; i < threads; i++) {
		must(pthread_create(&ids[i], &attr, work, NULL) == 0);
		if (turns)
			must(pthread_join(ids[i], NULL) == 0);
	}
	if (alive) {
		pthread_barrier_wait(&all);
		pthread_barrier_wait(&all);
	}
	for (long i = 0; i < threads && !turns; i++)
		must(pthread_join(ids[i], NULL) == 0);
	free(ids);
	say("size 4 %ld", threads * pairs);
	say("expect calls.malloc %ld", threads * pairs);
	say("atleast calls.free %ld", threads * pairs + 1);
	say("expect threads %ld", threads + 1);
	say("expect processes 1");
	say("ends 0");
	return 0;
}
