// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * reach_roots.c - blocks in use whose only pointer lies in unusual memory: `reach_roots HOW`.
 *
 * HOW: inherited (a mapping made before fork), reused (a mapping where a block lay before), stack
 * (of a thread, likewise), shared (anonymous memory), behind (mapped memory of which a terabyte is
 * never used), signal and signal-thread (the stack below that of a handler that calls exit), many
 * (a list that takes long to examine), twice (a variable of libc leads to it, too), or traced (by
 * its parent).
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

static void **volatile page;
static void *volatile taken; /* and forgotten */
static volatile int ready;

APART static void *block(size_t bytes)
{
	return memset(malloc(bytes), 0, bytes);
}

/* Frames of earlier calls are below the stack pointer now. */
APART static void overwrite(void)
{
	char room[16384];

	memset(room, 0, sizeof(room));
	taken = room;
	taken = NULL;
}

static void *map(size_t bytes, int flags)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
}

APART static void hold(size_t at)
{
	page[at] = block(111);
}

static void hold_inherited(void)
{
	page = map(8192, MAP_PRIVATE);
	if (!fork()) {
		hold(100);
		overwrite();
		exit(0);
	}
	wait(NULL);
}

/* The kernel puts a mapping where a larger one was unmapped. */
static void free_large(size_t bytes)
{
	char *large = block(bytes);

	taken = large;
	taken = NULL;
	free(large);
}

static void hold_reused(void)
{
	free_large(1u << 20);
	page = map(1u << 20, MAP_PRIVATE);
	hold(100);
	hold(70000);
}

static void *thread(void *unused)
{
	char *volatile mine = block(222);

	(void)unused;
	ready = 1;
	pause();
	return mine;
}

static void hold_in_stack(void)
{
	pthread_t id;

	free_large(9u << 20);
	pthread_create(&id, NULL, thread, NULL);
	while (!ready)
		usleep(1000);
}

static void leave(int signal)
{
	(void)signal;
	overwrite();
	exit(0);
}

static void *hold_below_signal(void *unused)
{
	static char room[2][65536];
	static int used;
	char *volatile mine = block(333);
	const stack_t stack = { .ss_sp = room[used++], .ss_size = sizeof(room[0]) };

	(void)unused;
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = leave, .sa_flags = SA_ONSTACK },
		  NULL);
	raise(SIGUSR1);
	return mine;
}

APART static char *variable(void)
{
	return strcpy(block(64), "NAME=value");
}

static void hold_twice(void)
{
	page = block(sizeof(*page));
	*page = variable();
	putenv(*page);
}

static void hold_many(void)
{
	for (int i = 0; i < 1000000; i++) {
		void **next = malloc(16);

		*next = page;
		page = next;
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t id;

	if (!strcmp(how, "inherited"))
		hold_inherited();
	else if (!strcmp(how, "twice"))
		hold_twice();
	else if (!strcmp(how, "reused"))
		hold_reused();
	else if (!strcmp(how, "stack"))
		hold_in_stack();
	else if (!strcmp(how, "many"))
		hold_many();
	else if (!strcmp(how, "traced"))
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	else if (!strcmp(how, "signal"))
		hold_below_signal(NULL);
	if (!strcmp(how, "shared")) {
		page = map(8192, MAP_SHARED);
		hold(100);
	}
	if (!strcmp(how, "behind")) {
		page = map(1ull << 40, MAP_PRIVATE | MAP_NORESERVE);
		hold((1ull << 40) / sizeof(*page) - 1);
	}
	if (!strcmp(how, "signal-thread") && !pthread_create(&id, NULL, hold_below_signal, NULL))
		pthread_join(id, NULL);
	overwrite();
	taken = block(444);
	return 0;
}
