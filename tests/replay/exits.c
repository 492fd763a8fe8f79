/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * exits.c - an allocator with thread caches that are slow to flush.  A request of 1000 + n bytes
 * says that by now n threads have been flushed; if fewer have, it says so on stderr.
 */
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

void *__libc_malloc(size_t);

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned flushed;

static void flush(void *unused)
{
	(void)unused;
	usleep(20000);
	__atomic_fetch_add(&flushed, 1, __ATOMIC_RELEASE);
}

static void make_key(void)
{
	pthread_key_create(&key, flush);
}

void *malloc(size_t size)
{
	static const char late[] = "exits: a thread was not flushed\n";

	pthread_once(&once, make_key);
	pthread_setspecific(key, &key);
	if (size >= 1000 && __atomic_load_n(&flushed, __ATOMIC_ACQUIRE) != size - 1000)
		if (write(2, late, sizeof(late) - 1) < 0)
			_exit(9);
	return __libc_malloc(size);
}
