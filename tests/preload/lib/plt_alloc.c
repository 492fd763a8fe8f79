/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * plt_alloc.c - an allocator whose functions call each other through the linkage table, so that
 * an object preloaded before it gets the calls: calloc, realloc and memalign call malloc,
 * realloc calls free, posix_memalign and aligned_alloc call memalign.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define POOL ((size_t)256 << 20)

static char pool[POOL] __attribute__((aligned(16)));
static size_t used;

void *malloc(size_t);
void *memalign(size_t, size_t);
void free(void *);

static size_t size_of(void *p)
{
	return ((size_t *)p)[-2];
}

void *malloc(size_t size)
{
	size_t at, need = (size + 31) & ~(size_t)15;

	if (size > POOL || (at = __atomic_fetch_add(&used, need, __ATOMIC_RELAXED)) > POOL - need) {
		errno = ENOMEM;
		return NULL;
	}
	*(size_t *)(pool + at) = size;
	return pool + at + 16;
}

void free(void *p)
{
	(void)p;
}

void *calloc(size_t count, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	p = malloc(bytes);
	return p ? memset(p, 0, bytes) : NULL;
}

void *realloc(void *p, size_t size)
{
	void *q = malloc(size);

	if (p && q) {
		memcpy(q, p, size_of(p) < size ? size_of(p) : size);
		free(p);
	}
	return q;
}

/* Never freed, so that the place in a block may be forgotten; its size may not. */
void *memalign(size_t align, size_t size)
{
	char *p;

	if (size > POOL || align > POOL) {
		errno = ENOMEM;
		return NULL;
	}
	p = malloc(size + align + 16);
	if (!p)
		return NULL;
	p = (char *)(((uintptr_t)p + 16 + align - 1) & -align);
	((size_t *)(void *)p)[-2] = size;
	return p;
}

int posix_memalign(void **out, size_t align, size_t size)
{
	int before = errno;
	void *p;

	if (align % sizeof(void *) || !align || align & (align - 1))
		return EINVAL;
	p = memalign(align, size);
	errno = before;
	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

size_t malloc_usable_size(void *p)
{
	return p ? size_of(p) : 0;
}

void *valloc(size_t size)
{
	return memalign(4096, size);
}

void *pvalloc(size_t size)
{
	return memalign(4096, (size + 4095) & ~(size_t)4095);
}
