/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * thread_edges.c - threads: from their functions, clean-up handlers and key destructors, on
 * stacks of their own making, and many after each other at the same place.
 */
#include "stack.h"

#include <pthread.h>
#include <sys/mman.h>

static pthread_key_t key;

FRAME static void leaf(size_t size)
{
	TAG(size);
	STAY();
}

FRAME static void destructor(void *arg)
{
	leaf((size_t)arg);
	STAY();
}

FRAME static void cleanup(void *arg)
{
	leaf((size_t)arg);
	STAY();
}

FRAME static void *starts(void *arg)
{
	leaf((size_t)arg);
	pthread_setspecific(key, (void *)((size_t)arg + 1));
	STAY();
	return NULL;
}

FRAME static void exits(size_t size)
{
	leaf(size);
	pthread_exit(NULL);
}

FRAME static void *exiting(void *arg)
{
	pthread_cleanup_push(cleanup, (void *)((size_t)arg + 1));
	exits((size_t)arg);
	pthread_cleanup_pop(0);
	return NULL;
}

FRAME static void *same_place(void *arg)
{
	leaf((size_t)arg);
	STAY();
	return NULL;
}

FRAME static void *same_place_too(void *arg)
{
	leaf((size_t)arg);
	STAY();
	return NULL;
}

static void thread(void *(*f)(void *), size_t size, const pthread_attr_t *attr)
{
	pthread_t id;

	must(pthread_create(&id, attr, f, (void *)size) == 0);
	must(pthread_join(id, NULL) == 0);
}

static void atfork_like_exit(void)
{
	leaf(2061);
	STAY();
}

int main(void)
{
	pthread_attr_t attr;
	char *own;

	must(pthread_key_create(&key, destructor) == 0);
	thread(starts, 2001, NULL);
	say("chain 2001 leaf starts " THREAD);
	say("chain 2002 leaf destructor " THREAD);
	thread(exiting, 2011, NULL);
	say("chain 2011 leaf exits exiting " THREAD);
	say("chain 2012 leaf cleanup ... exiting~ " THREAD);
	for (int i = 0; i < 20; i++) {
		thread(same_place, 2021, NULL);
		thread(same_place_too, 2022, NULL);
	}
	say("chain 2021 leaf same_place " THREAD);
	say("chain 2022 leaf same_place_too " THREAD);
	say("count 2021 20");

	must(pthread_attr_init(&attr) == 0);
	own = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(own != MAP_FAILED && pthread_attr_setstack(&attr, own + (1 << 18), 1 << 18) == 0);
	thread(starts, 2031, &attr);
	say("chain 2031 leaf starts " THREAD);
	say("chain 2032 leaf destructor " THREAD);
	must(atexit(atfork_like_exit) == 0);
	say("chain 2061 leaf atfork_like_exit @libc+ _start");
	return 0;
}
