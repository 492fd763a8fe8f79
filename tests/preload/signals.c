/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * signals.c [blocks] - signal handlers that map memory while the program is busy in malloc; with
 * `blocks` they also allocate, which only an allocator that is safe in handlers allows
 * (tests/preload/lib/safe_alloc.c).  What a handler does in the middle of a record may be lost, and
 * is counted as lost: nothing else may.
 *
 * Each handler sets its timer again before it returns: timers that fire by
 * themselves leave the program no time on a busy machine where a handler takes
 * longer than their interval.
 */
#include "victim.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

static volatile sig_atomic_t fired, over;
static int blocks;

static void again(int which)
{
	const struct itimerval soon = { .it_value = { 0, 50 } };

	must(setitimer(which, &soon, NULL) == 0);
}

static void handler(int signal)
{
	int saved = errno;
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(p != MAP_FAILED);
	must(munmap(p, 4096) == 0);
	if (blocks)
		free(malloc(333));
	fired++;
	if (!over)
		again(signal == SIGALRM ? ITIMER_REAL : ITIMER_PROF);
	errno = saved;
}

static void *churn(void *arg)
{
	for (int i = 0; i < 200000; i++) {
		char *p = malloc(64 + (size_t)i % 7), *q = realloc(p, 300);

		must(q);
		free(q);
	}
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	pthread_t id[2];

	blocks = argc > 1 && strcmp(argv[1], "blocks") == 0;
	must(sigaction(SIGALRM, &action, NULL) == 0);
	must(sigaction(SIGPROF, &action, NULL) == 0);
	again(ITIMER_REAL);
	again(ITIMER_PROF);
	for (int i = 0; i < 2; i++)
		must(pthread_create(&id[i], NULL, churn, NULL) == 0);
	churn(NULL);
	for (int i = 0; i < 2; i++)
		must(pthread_join(id[i], NULL) == 0);
	over = 1;
	must(fired > 10);
	say("lossy");
	say("expect calls.realloc 600000");
	say("atleast calls.malloc 600000");
	say("ends 0");
	return 0;
}
