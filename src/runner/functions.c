/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * functions.c - the less common functions of the allocation API, from the rows of functions.def.
 *
 * A preloaded allocator need not define all of them; a missing name would be libc's, whose free
 * does not know the allocator's blocks.  So functions outside malloc's object are replaced by one
 * in it.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <mprof/functions.h>
#include "call.h"

/* Weak: libc need not define them all. */
#define MPROF_SIGNATURE(type, name, params, args)	  type name params __attribute__((weak));
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(MPROF_SIGNED, id, name)
#include <mprof/functions.def>

/* By code: does the allocator have the function?  Functions that only query have code 0. */
static bool has[MPROF_FN_MAX];

static const void *object_of(const void *function)
{
	Dl_info info;

	return dladdr(function, &info) ? info.dli_fbase : NULL;
}

void functions_find(void)
{
	const void *its = object_of((const void *)malloc);

#define FIND_ALLOC(code, name, ...) has[code] = name && object_of((const void *)name) == its;
#define FIND_OUT(code, name, ...)   FIND_ALLOC(code, name)
#define FIND_QUERY(code, name, ...) FIND_ALLOC(code, name)
#define FIND_REALLOC(...)
#define FIND_FREE(...)
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(FIND, code, name)
#include <mprof/functions.def>
}

static void *by_out(int (*function)(void **, size_t, size_t), size_t align, size_t size)
{
	void *p = NULL;

	if (align < sizeof(void *))
		align = sizeof(void *);
	return function(&p, align, size) ? NULL : p;
}

/* Allocates a block with any function that can. */
static void *somehow(size_t align, size_t size)
{
	const size_t count = 1;

#define ANY_OUT(code, name, ...) \
	if (has[code])           \
		return by_out(name, align, size);
#define ANY_ALLOC(...)
#define ANY_QUERY(...)
#define ANY_REALLOC(...)
#define ANY_FREE(...)
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(ANY, code, name)
#include <mprof/functions.def>
#undef ANY_OUT
#undef ANY_ALLOC
#define ANY_OUT(...)
#define ANY_ALLOC(code, name, shape, params, args, ...)            \
	if (MPROF_SHAPE_##shape == MPROF_SHAPE_ALIGN && has[code]) \
		return name args;
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(ANY, code, name)
#include <mprof/functions.def>
	(void)count;
	return malloc(size);
}

static void *stand_in(enum mprof_shape shape, size_t align, size_t size)
{
	if (shape == MPROF_SHAPE_PAGES)
		size = (size + PAGE - 1) & ~(size_t)(PAGE - 1);
	return somehow(shape == MPROF_SHAPE_PAGE || shape == MPROF_SHAPE_PAGES ? PAGE : align,
		       size);
}

void *call_aligned(uint64_t ext, uint64_t size)
{
	const size_t align = (size_t)1 << mprof_play_log2align(ext), count = 1;

	switch (mprof_play_fn(ext)) {
#define PLAY_ALLOC(code, name, shape, params, args, ...) \
	case code:                                       \
		return has[code] ? name args : stand_in(MPROF_SHAPE_##shape, align, size);
#define PLAY_OUT(...)
#define PLAY_QUERY(...)
#define PLAY_REALLOC(...)
#define PLAY_FREE(...)
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(PLAY, code, name)
#include <mprof/functions.def>
	default:
		(void)count;
		return somehow(align, size);
	}
}

size_t call_usable(void *p)
{
#define USABLE_ALLOC(...)
#define USABLE_OUT(...)
#define USABLE_REALLOC(...)
#define USABLE_FREE(...)
#define USABLE_QUERY(code, name, shape, params, ...)	  return has[code] ? name(p) : 0;
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(USABLE, code, name)
#include <mprof/functions.def>
}
