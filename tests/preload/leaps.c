/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * leaps.c - a handler repeatedly jumps out of whatever the main thread is doing,
 * while it and another thread allocate with ever new call stacks.  Only for an
 * allocator that may be jumped out of (tests/preload/lib/safe_alloc.c).  What the handler
 * interrupted may be lost but must be reported; neither thread may wait for ever.
 * "leaps level": it jumps back into the function that allocates, which continues at the
 * same depth of the stack; from then on nothing is lost.
 */
#include "victim.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

enum { LEAPS = 1500, DEPTH = 22 };

static sigjmp_buf start;
static volatile sig_atomic_t leaps, may_leap;
static volatile int over;
static pthread_t leaper;

static void again(void)
{
	const struct itimerval soon = { .it_value = { 0, 20 + leaps % 60 } };

	must(setitimer(ITIMER_REAL, &soon, NULL) == 0);
}

static void handler(int signal)
{
	(void)signal;
	if (!pthread_equal(pthread_self(), leaper) || !may_leap)
		return;
	leaps++;
	may_leap = 0;
	siglongjmp(start, 1);
}

static void left(unsigned path, int depth);

static __attribute__((noinline)) void right(unsigned path, int depth)
{
	if (depth)
		(path & 1 ? left : right)(path >> 1, depth - 1);
	else
		free(malloc(24));
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void left(unsigned path, int depth)
{
	if (depth)
		(path & 1 ? left : right)(path >> 1, depth - 1);
	else
		free(malloc(25));
	__asm__ volatile("" ::: "memory");
}

/* Far down the stack: a call from above tells the recorder that what it marks there is left. */
static __attribute__((noinline)) void leap_about(void)
{
	static unsigned n;
	char room[16384];

	__asm__ volatile("" ::"r"(room) : "memory");
	may_leap = 1;
	again();
	for (;;)
		right(n++ * 2246822519u >> 10, DEPTH);
}

static void *other(void *arg)
{
	long n = 0;

	while (!over) {
		left((unsigned)n * 2654435761u >> 10, DEPTH);
		n++;
	}
	must(n > 1000);
	return arg;
}

static __attribute__((noinline)) void leap_on_the_spot(void)
{
	sigsetjmp(start, 1);
	if (leaps < LEAPS) {
		may_leap = 1;
		again();
	}
	while (leaps < LEAPS)
		free(malloc(24));
	for (unsigned i = 0; i < 100; i++)
		free(malloc(777));
}

static int level(const struct sigaction *action)
{
	leaper = pthread_self();
	must(sigaction(SIGALRM, action, NULL) == 0);
	leap_on_the_spot();
	say("lossy");
	say("expect size 777 100");
	say("atleast size 24 %d", LEAPS);
	say("ends 0");
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_NODEFER };
	pthread_t id;
	sigset_t alarm;

	(void)argv;
	if (argc > 1)
		return level(&action);
	leaper = pthread_self();
	must(sigaction(SIGALRM, &action, NULL) == 0);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	must(pthread_sigmask(SIG_BLOCK, &alarm, NULL) == 0); /* only the main thread leaps */
	must(pthread_create(&id, NULL, other, NULL) == 0);
	must(pthread_sigmask(SIG_UNBLOCK, &alarm, NULL) == 0);
	sigsetjmp(start, 1);
	free(malloc(31));
	if (leaps < LEAPS)
		leap_about();
	over = 1;
	must(pthread_join(id, NULL) == 0);
	for (unsigned i = 0; i < 100; i++)
		free(malloc(777));
	say("lossy");
	say("atleast size 31 %d", LEAPS);
	say("atleast size 777 100");
	say("expect threads 2");
	say("ends 0");
	return 0;
}
