/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * safe_alloc.c - an allocator that is safe in signal handlers: it allocates
 * by one atomic add and never frees.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA ((size_t)4 << 30)

static _Atomic(char *) arena;
static atomic_size_t used;

static char *base(void)
{
	char *p = atomic_load(&arena), *expected = NULL;

	if (p)
		return p;
	p = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (!atomic_compare_exchange_strong(&arena, &expected, p)) {
		munmap(p, ARENA);
		return expected;
	}
	return p;
}

/* The size stands in the 16 bytes before a block. */
void *memalign(size_t align, size_t size)
{
	char *p = base();
	size_t need, at;

	if (align < 16)
		align = 16;
	if (!p || size > ARENA / 2) {
		errno = ENOMEM;
		return NULL;
	}
	need = size + align + 16;
	at = atomic_fetch_add(&used, need);
	if (at + need > ARENA) {
		errno = ENOMEM;
		return NULL;
	}
	p = (char *)(((uintptr_t)p + at + 16 + align - 1) & ~(uintptr_t)(align - 1));
	memcpy(p - 16, &size, sizeof(size));
	return p;
}

void *malloc(size_t size)
{
	return memalign(16, size);
}

void free(void *p)
{
	(void)p;
}

void *calloc(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return malloc(bytes); /* fresh pages are zero, and none is used twice */
}

size_t malloc_usable_size(void *p)
{
	size_t size = 0;

	if (p)
		memcpy(&size, (char *)p - 16, sizeof(size));
	return size;
}

void *realloc(void *p, size_t size)
{
	size_t old = malloc_usable_size(p);
	void *q = malloc(size);

	if (p && q)
		memcpy(q, p, old < size ? old : size);
	return q;
}

void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
	int saved = errno;
	void *p = memalign(align, size);

	errno = saved;
	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}
