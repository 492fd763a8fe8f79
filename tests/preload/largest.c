/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * largest.c WHAT [END] - is largest in memory at a known time, then ends by END: exit, _exit,
 * exit_group, kill, term, or wait (continues for a minute).
 *
 *   phases    50 blocks of 1 MiB in phase1 and 20 of 2 MiB in phase2, written to;
 *             4 MiB mapped, written to and unmapped; 60 blocks freed; small ones
 *   atpeak    the same, but the end comes when all blocks are there
 *   waves     30 MiB in first_wave, freed; 40 MiB in second_wave, freed; 20 MiB
 *   untouched 100 MiB that nobody writes to, 20 MiB in touched; both freed
 *   small     40 MiB in blocks of 2000 bytes, freed from the first to the last
 *   grown     realloc from 1 MiB to 40 MiB by 1 MiB, written to; freed
 *   threads   4 threads with 10 MiB each at once; 30 MiB of each freed, 5 MiB of new ones
 *   maps      48 MiB mapped, 32 MiB of it written to, unmapped in parts
 *   fork      40 MiB freed; a child with 60 MiB of its own
 *   spawn     60 MiB; posix_spawn of `largest small'
 *   exec      60 MiB; exec of `largest waves'
 */
#include "victim.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MIB	 ((size_t)1 << 20)
#define NOINLINE __attribute__((noinline))

extern char **environ;
static const char *end = "exit";

static void leave(void)
{
	if (!strcmp(end, "_exit"))
		_exit(0);
	if (!strcmp(end, "exit_group"))
		syscall(SYS_exit_group, 0);
	if (!strcmp(end, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(end, "term"))
		kill(getpid(), SIGTERM);
	if (!strcmp(end, "wait")) {
		say("waits");
		sleep(60);
	}
	exit(0);
}

static char *written(char *p, size_t bytes)
{
	must(p);
	memset(p, 1, bytes);
	return p;
}

static char *block[70];

static NOINLINE void phase1(void)
{
	for (int i = 0; i < 50; i++)
		block[i] = written(malloc(MIB), MIB);
}

static NOINLINE void phase2(void)
{
	for (int i = 50; i < 70; i++)
		block[i] = written(malloc(2 * MIB), 2 * MIB);
}

static void phases(int to_the_end)
{
	char *map;

	phase1();
	phase2();
	if (!to_the_end)
		leave();
	map = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(map != MAP_FAILED);
	munmap(written(map, 4 * MIB), 4 * MIB);
	for (int i = 0; i < 60; i++)
		free(block[i]);
	for (int i = 0; i < 2000; i++)
		free(malloc(10));
}

static NOINLINE char *first_wave(void)
{
	return written(malloc(30 * MIB), 30 * MIB);
}

static NOINLINE char *second_wave(void)
{
	return written(malloc(40 * MIB), 40 * MIB);
}

static NOINLINE char *third_wave(void)
{
	return written(malloc(20 * MIB), 20 * MIB);
}

static void waves(void)
{
	free(first_wave());
	free(second_wave());
	free(third_wave());
}

static NOINLINE char *touched(void)
{
	return written(malloc(20 * MIB), 20 * MIB);
}

static void untouched(void)
{
	char *none = malloc(100 * MIB), *all = touched();

	free(none);
	free(all);
}

static void small(void)
{
	enum { N = 20971 };
	char **p = malloc(N * sizeof(*p));

	for (int i = 0; i < N; i++)
		p[i] = written(malloc(2000), 2000);
	for (int i = 0; i < N; i++)
		free(p[i]);
	free(p);
}

static NOINLINE char *grow(char *p, size_t mib)
{
	p = realloc(p, mib * MIB);
	must(p);
	written(p + (mib - 1) * MIB, MIB);
	return p;
}

static void grown(void)
{
	char *p = NULL;

	for (size_t mib = 1; mib <= 40; mib++)
		p = grow(p, mib);
	free(p);
}

static pthread_barrier_t barrier;

static NOINLINE void *work(void *unused)
{
	char *p[10], *q;

	for (int i = 0; i < 10; i++)
		p[i] = written(malloc(MIB), MIB);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 10; i++)
		free(p[i]);
	pthread_barrier_wait(&barrier);
	q = written(malloc(5 * MIB), 5 * MIB);
	pthread_barrier_wait(&barrier);
	free(q);
	return unused;
}

static void threads(void)
{
	pthread_t thread[4];

	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 4; i++)
		must(!pthread_create(&thread[i], NULL, work, NULL));
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
}

static void maps(void)
{
	char *p = mmap(NULL, 48 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(p != MAP_FAILED);
	written(p, 32 * MIB);
	munmap(p + 16 * MIB, 8 * MIB);
	munmap(p, 48 * MIB);
	free(written(malloc(8 * MIB), 8 * MIB));
}

static NOINLINE char *own_of_child(void)
{
	return written(malloc(60 * MIB), 60 * MIB);
}

static void forked(void)
{
	pid_t pid;

	free(second_wave());
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		free(own_of_child());
		leave();
	}
	waitpid(pid, NULL, 0);
}

static void start(const char *self, const char *what, int replace)
{
	char *const argv[] = { (char *)self, (char *)what, NULL };
	char *p = own_of_child();
	pid_t pid;

	if (replace) {
		execv(self, argv);
		_exit(97);
	}
	must(!posix_spawn(&pid, self, NULL, NULL, argv, environ));
	waitpid(pid, NULL, 0);
	free(p);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "phases";

	end = argc > 2 ? argv[2] : end;
	if (!strcmp(what, "phases") || !strcmp(what, "atpeak"))
		phases(!strcmp(what, "phases"));
	else if (!strcmp(what, "waves"))
		waves();
	else if (!strcmp(what, "untouched"))
		untouched();
	else if (!strcmp(what, "small"))
		small();
	else if (!strcmp(what, "grown"))
		grown();
	else if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "maps"))
		maps();
	else if (!strcmp(what, "fork"))
		forked();
	else if (!strcmp(what, "spawn"))
		start(argv[0], "small", 0);
	else if (!strcmp(what, "exec"))
		start(argv[0], "waves", 1);
	leave();
}
