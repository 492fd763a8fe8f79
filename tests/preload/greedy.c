/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * greedy.c - allocates until memory is exhausted, in small, large and mapped
 * blocks, from two threads, and survives it.  For RLIMIT_AS.
 */
#include "victim.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

struct block {
	struct block *next;
};

static void take_all(size_t size)
{
	struct block *list = NULL, *b;

	errno = 0;
	while ((b = malloc(size))) {
		b->next = list;
		list = b;
	}
	must(errno == ENOMEM);
	b = realloc(list, size * 1000);
	must(b == NULL || b != list || size * 1000 > size);
	list = b ? b : list;
	while ((b = list)) {
		list = b->next;
		free(b);
	}
}

static void *work(void *arg)
{
	take_all(1000);
	return arg;
}

int main(void)
{
	pthread_t id;
	void *p;

	take_all(1 << 20);
	take_all(5000);
	if (pthread_create(&id, NULL, work, NULL) == 0)
		must(pthread_join(id, NULL) == 0);
	p = mmap(NULL, (size_t)1 << 40, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(p == MAP_FAILED && errno == ENOMEM);
	free(malloc(77));
	say("survived");
	return 7;
}
