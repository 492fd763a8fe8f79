/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * functions.c - the less usual functions of the allocation API.
 *
 * A preloaded allocator need not define all of them; then the name would be libc's, whose blocks it
 * does not know.  So those that do not lie in malloc's object are replaced by one that does.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <mprof/format.h>
#include "call.h"

static bool has_posix, has_memalign, has_aligned_alloc, has_valloc, has_pvalloc, has_usable;

static const void *object_of(const void *function)
{
	Dl_info info;

	return dladdr(function, &info) ? info.dli_fbase : NULL;
}

void functions_find(void)
{
	const void *its = object_of((const void *)malloc);

	has_posix = object_of((const void *)posix_memalign) == its;
	has_memalign = object_of((const void *)memalign) == its;
	has_aligned_alloc = object_of((const void *)aligned_alloc) == its;
	has_valloc = object_of((const void *)valloc) == its;
	has_pvalloc = object_of((const void *)pvalloc) == its;
	has_usable = object_of((const void *)malloc_usable_size) == its;
}

static void *by_posix(size_t align, size_t size)
{
	void *p = NULL;

	if (align < sizeof(void *))
		align = sizeof(void *);
	return posix_memalign(&p, align, size) ? NULL : p;
}

/* Whatever gives such a block. */
static void *somehow(size_t align, size_t size)
{
	if (has_posix)
		return by_posix(align, size);
	if (has_memalign)
		return memalign(align, size);
	return has_aligned_alloc ? aligned_alloc(align, size) : malloc(size);
}

void *call_aligned(uint64_t ext, uint64_t size)
{
	size_t align = (size_t)1 << mprof_play_log2align(ext);

	switch (mprof_play_fn(ext)) {
	case MPROF_FN_MEMALIGN:
		return has_memalign ? memalign(align, size) : somehow(align, size);
	case MPROF_FN_ALIGNED_ALLOC:
		return has_aligned_alloc ? aligned_alloc(align, size) : somehow(align, size);
	case MPROF_FN_VALLOC:
		return has_valloc ? valloc(size) : somehow(PAGE, size);
	case MPROF_FN_PVALLOC:
		return has_pvalloc ? pvalloc(size)
				   : somehow(PAGE, (size + PAGE - 1) & ~(uint64_t)(PAGE - 1));
	default:
		return somehow(align, size);
	}
}

size_t call_usable(void *p)
{
	return has_usable ? malloc_usable_size(p) : 0;
}
