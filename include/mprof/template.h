/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * template.h - stamps a struct mprof_api from a MODE's inline hooks.
 *
 * Define these first, all MPROF_HOT, then include this file once:
 *
 *   on_alloc(fn, ptr, size, arg)       after a call that returned ptr != NULL
 *   on_fail(fn, size, arg, error)      after one that returned none; error 0: see errno
 *   on_free(fn, ptr, size, arg)        before the block goes back; ptr may be NULL;
 *                                      size and arg as given to the sized forms
 *   on_realloc_begin(fn, ptr, size, arg)     before; ptr != NULL
 *   on_realloc_end(fn, old, ptr, size, arg)  after; ptr is NULL when it failed or freed
 *
 * size and arg are what the call was given: arg is the alignment, or for calloc
 * and reallocarray the number of elements of which size is one's;
 * mprof_bytes(fn, size, arg) is what they come to.
 *
 * and, out of line, note_map(fn, ticks, value, error) and note_control(what, value).
 * The result is `static const struct mprof_api mode_api`.
 *
 * The real call is never inside a hook, so the allocator's errno and result
 * reach the program untouched, and what it calls itself is recorded.
 */
#include <errno.h>
#include <mprof/module.h>

#ifndef MPROF_HOT
#error "template.h needs module.h"
#endif

MPROF_HOT void *mode_allocated(unsigned fn, void *ptr, size_t size, size_t arg)
{
	if (mprof_unlikely(!ptr))
		on_fail(fn, size, arg, 0);
	else
		on_alloc(fn, ptr, size, arg);
	return ptr;
}

static void *mode_malloc(size_t size)
{
	return mode_allocated(MPROF_FN_MALLOC, mprof_core.real.malloc(size), size, 0);
}

static void mode_free(void *ptr)
{
	if (mprof_is_boot(ptr))
		return;
	on_free(MPROF_FN_FREE, ptr, 0, 0);
	mprof_core.real.free(ptr);
}

static void *mode_calloc(size_t count, size_t size)
{
	return mode_allocated(MPROF_FN_CALLOC, mprof_core.real.calloc(count, size), size, count);
}

static void *mode_realloc(void *ptr, size_t size)
{
	void *result;

	if (mprof_is_boot(ptr))
		return mprof_core.boot_realloc(ptr, size);
	if (ptr)
		on_realloc_begin(MPROF_FN_REALLOC, ptr, size, 0);
	result = mprof_core.real.realloc(ptr, size);
	on_realloc_end(MPROF_FN_REALLOC, ptr, result, size, 0);
	return result;
}

/* Not the allocator's own: glibc's calls realloc through the PLT, which is us. */
static void *mode_reallocarray(void *ptr, size_t count, size_t size)
{
	void *result = NULL;
	size_t bytes;
	int fits = !__builtin_mul_overflow(count, size, &bytes);

	if (mprof_is_boot(ptr) && fits)
		return mprof_core.boot_realloc(ptr, bytes);
	if (ptr)
		on_realloc_begin(MPROF_FN_REALLOCARRAY, ptr, size, count);
	if (fits)
		result = mprof_core.real.realloc(ptr, bytes);
	else
		*mprof_core.error() = ENOMEM;
	on_realloc_end(MPROF_FN_REALLOCARRAY, ptr, result, size, count);
	return result;
}

static void *mode_memalign(size_t align, size_t size)
{
	return mode_allocated(MPROF_FN_MEMALIGN, mprof_core.real.memalign(align, size), size,
			      align);
}

static int mode_posix_memalign(void **out, size_t align, size_t size)
{
	int error = mprof_core.real.posix_memalign(out, align, size);

	if (error || !*out)
		on_fail(MPROF_FN_POSIX_MEMALIGN, size, align, (unsigned)error);
	else
		on_alloc(MPROF_FN_POSIX_MEMALIGN, *out, size, align);
	return error;
}

static void *mode_aligned_alloc(size_t align, size_t size)
{
	return mode_allocated(MPROF_FN_ALIGNED_ALLOC, mprof_core.real.aligned_alloc(align, size),
			      size, align);
}

static void *mode_valloc(size_t size)
{
	return mode_allocated(MPROF_FN_VALLOC, mprof_core.real.valloc(size), size, 0);
}

static void *mode_pvalloc(size_t size)
{
	return mode_allocated(MPROF_FN_PVALLOC, mprof_core.real.pvalloc(size), size, 0);
}

/* Asks nothing of the heap: not an event. */
static size_t mode_malloc_usable_size(void *ptr)
{
	if (mprof_is_boot(ptr))
		return mprof_core.boot_usable(ptr);
	return mprof_core.real.malloc_usable_size(ptr);
}

static void mode_cfree(void *ptr)
{
	if (mprof_is_boot(ptr))
		return;
	on_free(MPROF_FN_CFREE, ptr, 0, 0);
	mprof_core.real.cfree(ptr);
}

static void mode_free_sized(void *ptr, size_t size)
{
	if (mprof_is_boot(ptr))
		return;
	on_free(MPROF_FN_FREE_SIZED, ptr, size, 0);
	mprof_core.real.free_sized(ptr, size);
}

static void mode_free_aligned_sized(void *ptr, size_t align, size_t size)
{
	if (mprof_is_boot(ptr))
		return;
	on_free(MPROF_FN_FREE_ALIGNED_SIZED, ptr, size, align);
	mprof_core.real.free_aligned_sized(ptr, align, size);
}

static void mode_note_alloc(unsigned fn, void *ptr, size_t size, size_t arg)
{
	mode_allocated(fn, ptr, size, arg);
}

static void mode_note_free(unsigned fn, void *ptr, size_t size)
{
	if (!mprof_is_boot(ptr))
		on_free(fn, ptr, size, 0);
}

static const struct mprof_api mode_api = {
#define X(ret, name, params, args) .name = mode_##name,
	MPROF_MALLOC_FAMILY(X)
#undef X
	    .note_alloc = mode_note_alloc,
	.note_free = mode_note_free,
	.note_map = note_map,
	.note_control = note_control,
};
