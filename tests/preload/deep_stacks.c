// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * deep_stacks.c - threads that use their stacks by amounts that they print.
 *
 *   main      3 MiB array below 16 frames of 4 KiB, a call of malloc there, and then 16 KiB more
 *   deep      a thread with a stack of 8 MiB that touches 5 MiB of it and calls malloc above only
 *   tight     a thread with a stack of 256 KiB that uses 240 KiB of it
 *   given     a thread on memory of the program, 1 MiB, of which it uses 528 KiB
 *   silent    a thread that never calls malloc
 *
 * "NAME tid=T used=BYTES" for each: from where it began to the lowest byte that it wrote.
 *
 *   deep_stacks [exit|kill|wait]   how it ends; wait: it prints "ready" and waits for a signal
 */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROOMY = 256 << 10 }; /* a use that leaves room below it */

static pthread_barrier_t all_there;
static void *volatile block;

static uintptr_t here(void)
{
	return (uintptr_t)__builtin_frame_address(0);
}

static void tell(const char *name, uintptr_t high, uintptr_t low)
{
	printf("%s tid=%ld used=%lu\n", name, (long)syscall(SYS_gettid),
	       (unsigned long)(high - low));
	fflush(stdout);
}

/* Writes more stack than a call of malloc needs, also if the recorder reads /proc in it. */
static __attribute__((noinline)) uintptr_t below(void)
{
	volatile char room[16384];

	for (size_t i = 0; i < sizeof(room); i += 1024)
		room[i] = 1;
	return (uintptr_t)room;
}

/* Writes `bytes` of stack and returns the lowest address; with a call of malloc down there. */
static __attribute__((noinline)) uintptr_t use(size_t bytes, int calls)
{
	volatile char *p = alloca(bytes);
	uintptr_t low = (uintptr_t)p;

	for (size_t i = 0; i < bytes; i += 1024)
		p[i] = 1;
	if (calls) {
		block = malloc(100);
		free(block);
		if (bytes > ROOMY)
			low = below();
	}
	__asm__ volatile("" : "+r"(low)); /* no tail call */
	return low;
}

static __attribute__((noinline)) uintptr_t nested(int depth)
{
	volatile char frame[4096];
	uintptr_t low;

	frame[0] = (char)depth;
	low = depth ? nested(depth - 1) : use(3 << 20, 1);
	return low + (uintptr_t)(frame[0] - depth);
}

struct job {
	const char *name;
	size_t bytes;
	int calls;
};

static void *run(void *arg)
{
	struct job *j = arg;

	if (j->calls) {
		block = malloc(10);
		free(block);
	}
	tell(j->name, here(), use(j->bytes, j->calls > 1));
	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&all_there);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct job job[] = { { "deep", 5 << 20, 1 },
				    { "tight", 240 << 10, 2 },
				    { "given", 512 << 10, 2 },
				    { "silent", 1 << 20, 0 } };
	const size_t size[] = { 8 << 20, 256 << 10, 1 << 20, 2 << 20 };
	const char *end = argc > 1 ? argv[1] : "exit";
	pthread_t thread[4];
	pthread_attr_t attr;

	tell("main", here(), nested(15));
	pthread_barrier_init(&all_there, NULL, 5);
	for (int i = 0; i < 4; i++) {
		pthread_attr_init(&attr);
		if (i == 2)
			pthread_attr_setstack(&attr,
					      mmap(NULL, size[i], PROT_READ | PROT_WRITE,
						   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
					      size[i]);
		else
			pthread_attr_setstacksize(&attr, size[i]);
		pthread_create(&thread[i], &attr, run, &job[i]);
		pthread_attr_destroy(&attr);
	}
	pthread_barrier_wait(&all_there);
	if (strcmp(end, "exit") != 0) {
		usleep(300000);
		puts("ready");
		fflush(stdout);
		if (!strcmp(end, "kill"))
			raise(SIGKILL);
		pause();
	}
	pthread_barrier_wait(&all_there);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
