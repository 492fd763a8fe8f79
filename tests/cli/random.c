// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * random.c - allocates and frees at random from several functions, threads and processes.
 *
 *   random SEED STEPS THREADS CHILDREN END
 *
 * The same arguments make the same calls in each thread.  END: exit, exec (the first child runs
 * the program again), _exit or kill.
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
#define SHELF 200
#define MOST  8

struct dice {
	uint64_t state;
};

static void *_Atomic shelf[SHELF]; /* blocks that any thread may free */
static unsigned seed, steps, threads, rounds;

static unsigned roll(struct dice *d, unsigned sides)
{
	d->state ^= d->state << 13;
	d->state ^= d->state >> 7;
	d->state ^= d->state << 17;
	return (unsigned)(d->state >> 11) % sides;
}

static size_t size(struct dice *d)
{
	switch (roll(d, 6)) {
	case 0:
		return 0;
	case 1:
		return (size_t)16 << roll(d, 8);
	case 2:
		return roll(d, 70000);
	default:
		return roll(d, 300);
	}
}

static void put(struct dice *d, void *block)
{
	free(atomic_exchange(&shelf[roll(d, SHELF)], block));
}

APART static void plain(struct dice *d)
{
	put(d, malloc(size(d)));
}

APART static void zeroed(struct dice *d)
{
	put(d, calloc(1 + roll(d, 3), size(d)));
}

APART static void aligned(struct dice *d)
{
	void *block = NULL;

	if (posix_memalign(&block, (size_t)8 << roll(d, 9), size(d)))
		block = NULL;
	put(d, block);
	put(d, memalign(4096, size(d)));
}

APART static void grown(struct dice *d)
{
	size_t n = 8;
	char *block = malloc(n);

	for (unsigned i = roll(d, 9); i; i--)
		block = realloc(block, n = 2 * n + roll(d, 3));
	if (roll(d, 3))
		free(block);
	else
		put(d, block);
}

APART static void resized(struct dice *d)
{
	const unsigned at = roll(d, SHELF);
	const size_t n = 1 + size(d);

	free(atomic_exchange(&shelf[at], realloc(atomic_exchange(&shelf[at], NULL), n)));
}

APART static void brief(struct dice *d)
{
	char *block = malloc(size(d));

	__asm__ volatile("" : : "r"(block) : "memory");
	free(block);
}

APART static void lost(struct dice *d)
{
	void *volatile block = malloc(size(d) % 100);

	(void)block;
}

APART static void deep(struct dice *d, unsigned levels)
{
	if (levels)
		deep(d, levels - 1);
	else
		plain(d);
	__asm__ volatile("");
}

APART static void step(struct dice *d)
{
	switch (roll(d, 12)) {
	case 0:
		plain(d);
		break;
	case 1:
		zeroed(d);
		break;
	case 2:
		aligned(d);
		break;
	case 3:
		grown(d);
		break;
	case 4:
		resized(d);
		break;
	case 5:
		lost(d);
		break;
	case 6:
		deep(d, roll(d, 5));
		break;
	case 7:
	case 8:
		free(atomic_exchange(&shelf[roll(d, SHELF)], NULL));
		break;
	default:
		brief(d);
	}
}

APART static void *work(void *number)
{
	struct dice d = { 0x9E3779B97F4A7C15ull *
			  (seed * 1000 + rounds * MOST + (unsigned)(uintptr_t)number + 1) };

	for (unsigned i = 0; i < steps; i++)
		step(&d);
	return NULL;
}

static void run(void)
{
	pthread_t thread[MOST];

	rounds++;
	for (uintptr_t i = 1; i < threads; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	work(NULL);
	for (unsigned i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);
}

static void child(char **argv, int again)
{
	if (fork())
		return;
	seed++;
	run();
	if (again)
		execl("/proc/self/exe", argv[0], "77", argv[2], argv[3], "0", "exit", NULL);
	_exit(0);
}

int main(int argc, char **argv)
{
	const int children = argc > 5 ? atoi(argv[4]) : 0;

	if (argc != 6)
		return 2;
	seed = (unsigned)atoi(argv[1]);
	steps = (unsigned)atoi(argv[2]);
	threads = (unsigned)atoi(argv[3]);
	threads = threads < MOST ? threads : MOST;
	run();
	for (int i = 0; i < children; i++) {
		child(argv, !i && !strcmp(argv[5], "exec"));
		if (i % 2 ==
		    0) /* not while it calls exec, when its blocks are neither here nor there */
			wait(NULL);
	}
	run();
	while (wait(NULL) > 0)
		;
	if (!strcmp(argv[5], "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(argv[5], "_exit"))
		_exit(0);
	return 0;
}
