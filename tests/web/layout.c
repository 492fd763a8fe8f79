// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * layout.c - a heap of which everything is known.
 *
 *   layout          BLOCKS calls of malloc, then every second block is freed.
 *                   Prints "ADDRESS SIZE" of each, in the order of the calls.
 *   layout threads  two threads allocate a block each, which stays; the second one has a name.
 *
 * Nothing else allocates: output goes directly to the descriptor.
 */
#define _GNU_SOURCE /* pthread_setname_np */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 48

static void *block[BLOCKS];

static void say(const void *p, size_t size)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%llx %zu\n", (unsigned long long)(size_t)p, size);

	if (write(1, text, (size_t)n) != n)
		_exit(1);
}

/* Large ones span pages; small ones share them. */
static size_t size_of(int i)
{
	return i < 16 ? 40000 : i < 32 ? 1000 : 24;
}

__attribute__((noinline)) static void *take_large(size_t size)
{
	void *p = malloc(size);

	return memset(p, 1, size);
}

__attribute__((noinline)) static void *take_small(size_t size)
{
	void *p = malloc(size);

	return memset(p, 1, size);
}

static void *worker(void *size)
{
	void *p = take_large((size_t)size);

	if ((size_t)size == 70000)
		pthread_setname_np(pthread_self(), "second <&>");
	say(p, (size_t)size);
	return p;
}

static int threads(void)
{
	pthread_t one, two;

	if (pthread_create(&one, NULL, worker, (void *)60000) || pthread_join(one, NULL) ||
	    pthread_create(&two, NULL, worker, (void *)70000) || pthread_join(two, NULL))
		return 1;
	return 0;
}

int main(int argc, char **argv)
{
	int i;

	if (argc > 1 && !strcmp(argv[1], "threads"))
		return threads();
	for (i = 0; i < BLOCKS; i++) {
		block[i] = size_of(i) > 20000 ? take_large(size_of(i)) : take_small(size_of(i));
		say(block[i], size_of(i));
	}
	for (i = 0; i < BLOCKS; i += 2)
		free(block[i]);
	return 0;
}
