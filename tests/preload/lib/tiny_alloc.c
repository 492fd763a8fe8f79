/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * tiny_alloc.c - a textbook allocator: malloc, free, calloc and realloc, and nothing else.
 *
 * Freed blocks are reused.  It ignores frees of blocks that are not its own;
 * with TINY_STRICT in the environment they abort the program.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POOL	((size_t)256 << 20)
#define CLASSES 48
#define MAGIC	0x74696e79u

struct head {
	uint32_t magic, of;
	size_t size;
};

static char pool[POOL] __attribute__((aligned(16)));
static size_t used;
static struct head *spare[CLASSES];
static char lock;

static unsigned class_of(size_t size)
{
	unsigned n = 5;

	while (n < CLASSES && (size_t)1 << n < size + sizeof(struct head))
		n++;
	return n;
}

static struct head *own(void *p)
{
	struct head *h = (struct head *)p - 1;

	if ((uintptr_t)p - (uintptr_t)pool < POOL && h->magic == MAGIC)
		return h;
	if (getenv("TINY_STRICT")) {
		(void)!write(2, "tiny_alloc: not mine\n", 21);
		_exit(97);
	}
	return NULL;
}

/* Internal calls must not reach other libraries. */
static void *take(size_t size)
{
	unsigned n = size < POOL ? class_of(size) : CLASSES;
	struct head *h = NULL;

	if (n < 28) {
		while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
			;
		h = spare[n];
		if (h) {
			memcpy(&spare[n], h + 1, sizeof(h));
		} else if (used + ((size_t)1 << n) <= POOL) {
			h = (struct head *)(pool + used);
			used += (size_t)1 << n;
		}
		__atomic_clear(&lock, __ATOMIC_RELEASE);
	}
	if (!h) {
		errno = ENOMEM;
		return NULL;
	}
	*h = (struct head){ MAGIC, n, size };
	return h + 1;
}

static void give(void *p)
{
	struct head *h = p ? own(p) : NULL;

	if (!h)
		return;
	while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
		;
	h->magic = 0;
	memcpy(p, &spare[h->of], sizeof(h));
	spare[h->of] = h;
	__atomic_clear(&lock, __ATOMIC_RELEASE);
}

void *malloc(size_t size)
{
	return take(size);
}

void free(void *p)
{
	give(p);
}

void *calloc(size_t count, size_t size)
{
	size_t bytes;
	void *p = NULL;

	if (__builtin_mul_overflow(count, size, &bytes))
		errno = ENOMEM;
	else
		p = take(bytes);
	return p ? memset(p, 0, bytes) : NULL;
}

void *realloc(void *p, size_t size)
{
	struct head *h = p ? own(p) : NULL;
	void *q;

	if (p && !size) {
		give(p);
		return NULL;
	}
	q = take(size);
	if (q && h) {
		memcpy(q, p, h->size < size ? h->size : size);
		give(p);
	}
	return q;
}
