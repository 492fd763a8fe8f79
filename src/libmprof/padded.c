// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * padded.c - aligned blocks from an allocator that has no function for them.
 *
 * The aligned block lies inside a longer block of the allocator's malloc, after a pad that records
 * where the longer one begins. free, realloc and malloc_usable_size must recognise such a block
 * without reading in front of a block that has no pad: so pads are in lists by a hash of the
 * address.  Used only for allocators that lack all of memalign, posix_memalign and aligned_alloc;
 * calls of others do not come here.
 *
 * Locks: one for each list, in memory that a forked child finds zeroed.  A list is consistent
 * between any two stores, so a child that is forked in the middle can use it.
 */
#include <errno.h>
#include <mprof/module.h>

#include "allocator.h"
#include "local.h"

#define LISTS 1024u

struct pad {
	struct pad *next;
	char *block; /* from the allocator */
	size_t size; /* requested */
};

static struct pad *list[LISTS];
static uint32_t spare[LISTS], *locks = spare; /* used if mmap fails */
static struct mprof_real behind;

static uint32_t padded_hash(const void *ptr)
{
	return (uint32_t)((uintptr_t)ptr * 0x9e3779b97f4a7c15ull >> 54);
}

static void padded_add(struct pad *p)
{
	uint32_t h = padded_hash(p + 1);

	mp_lock(&locks[h]);
	p->next = list[h];
	__atomic_store_n(&list[h], p, __ATOMIC_RELEASE);
	mp_unlock(&locks[h]);
}

/* Returns the pad of ptr or NULL; with `take`, removes it from its list. */
static struct pad *padded_find(const void *ptr, int take)
{
	uint32_t h = padded_hash(ptr);
	struct pad **at = &list[h], *p;

	if (!__atomic_load_n(at, __ATOMIC_ACQUIRE))
		return NULL;
	mp_lock(&locks[h]);
	while ((p = *at) && p + 1 != ptr)
		at = &p->next;
	if (p && take)
		*at = p->next;
	mp_unlock(&locks[h]);
	return p;
}

static void *padded_memalign(size_t align, size_t size)
{
	size_t natural = _Alignof(max_align_t), bytes;
	struct pad *p;
	char *block;

	/* Rounds up to a power of two, as glibc does. */
	while (natural < align && natural << 1)
		natural <<= 1;
	if (natural == _Alignof(max_align_t))
		return behind.malloc(size);
	if (__builtin_add_overflow(size, natural + sizeof(*p), &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	block = behind.malloc(bytes);
	if (!block)
		return NULL;
	p = (struct pad *)(((uintptr_t)(block + sizeof(*p)) + natural - 1) & -natural) - 1;
	p->block = block;
	p->size = size;
	padded_add(p);
	return p + 1;
}

static void padded_free(void *ptr)
{
	struct pad *p = padded_find(ptr, 1);

	behind.free(p ? p->block : ptr);
}

static void *padded_realloc(void *ptr, size_t size)
{
	struct pad *p = padded_find(ptr, 0);
	void *to;

	if (!p)
		return behind.realloc(ptr, size);
	to = behind.malloc(size);
	if (!to)
		return NULL;
	__builtin_memcpy(to, ptr, p->size < size ? p->size : size);
	padded_free(ptr);
	return to;
}

static size_t padded_usable_size(void *ptr)
{
	struct pad *p = padded_find(ptr, 0);

	if (p)
		return p->size;
	return behind.malloc_usable_size ? behind.malloc_usable_size(ptr) : 0;
}

void mp_padded_start(void)
{
	struct mprof_real *r = &mprof_core.real;
	uint32_t *wiped = mp_wiped_memory(LISTS * sizeof(*locks));

	locks = wiped ? wiped : spare;
	behind = *r;
	r->memalign = padded_memalign;
	r->free = padded_free;
	r->realloc = padded_realloc;
	r->malloc_usable_size = padded_usable_size;
}
