/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * template.h - generates a struct mprof_api from a MODE's inline hooks.
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
 * size and arg are the arguments of the call: arg is the alignment, or for calloc and
 * reallocarray the number of elements of which size is one's; mprof_bytes(fn, size, arg) is the
 * product.
 *
 * and, out of line, note_map(fn, ticks, value, error) and note_control(what, value).
 * The result is `static const struct mprof_api mode_api`.
 *
 * The real call is never inside a hook, so the program gets the allocator's errno and result
 * unchanged, and calls that the allocator makes itself are recorded.
 */
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

#define MODE_ALLOC(id, name, shape, params, args, size, arg)                                \
	static void *mode_##name params                                                     \
	{                                                                                   \
		return mode_allocated(MPROF_FN_##id, mprof_core.real.name args, size, arg); \
	}
#define MODE_OUT(id, name, shape, params, args, size, arg)                  \
	static int mode_##name params                                       \
	{                                                                   \
		int error = mprof_core.real.name args;                      \
                                                                            \
		if (error || !*out)                                         \
			on_fail(MPROF_FN_##id, size, arg, (unsigned)error); \
		else                                                        \
			on_alloc(MPROF_FN_##id, *out, size, arg);           \
		return error;                                               \
	}
#define MODE_REALLOC(id, name, shape, params, args, size, arg)                                 \
	static void *mode_##name params                                                        \
	{                                                                                      \
		void *result;                                                                  \
                                                                                               \
		if (mprof_is_boot(ptr))                                                        \
			return mprof_core.boot_realloc(ptr,                                    \
						       mprof_bytes(MPROF_FN_##id, size, arg)); \
		if (ptr)                                                                       \
			on_realloc_begin(MPROF_FN_##id, ptr, size, arg);                       \
		result = mprof_core.real.name args;                                            \
		on_realloc_end(MPROF_FN_##id, ptr, result, size, arg);                         \
		return result;                                                                 \
	}
#define MODE_FREE(id, name, shape, params, args, size, arg) \
	static void mode_##name params                      \
	{                                                   \
		if (mprof_is_boot(ptr))                     \
			return;                             \
		on_free(MPROF_FN_##id, ptr, size, arg);     \
		mprof_core.real.name args;                  \
	}
/* A query leaves the heap unchanged: no event. */
#define MODE_QUERY(id, name, shape, params, args, size, arg)            \
	static size_t mode_##name params                                \
	{                                                               \
		return mprof_is_boot(ptr) ? mprof_core.boot_usable(ptr) \
					  : mprof_core.real.name args;  \
	}
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(MODE, id, name)
#include <mprof/functions.def>

static void mode_note_alloc(unsigned fn, void *ptr, size_t size, size_t arg)
{
	mode_allocated(fn, ptr, size, arg);
}

static void mode_note_free(unsigned fn, void *ptr, size_t size)
{
	if (!mprof_is_boot(ptr))
		on_free(fn, ptr, size, 0);
}

static void mode_note_resize(unsigned fn, void *ptr, size_t size, size_t arg)
{
	if (ptr && !mprof_is_boot(ptr))
		on_realloc_begin(fn, ptr, size, arg);
}

static void mode_note_resized(unsigned fn, void *old, void *ptr, size_t size, size_t arg)
{
	on_realloc_end(fn, mprof_is_boot(old) ? NULL : old, ptr, size, arg);
}

static const struct mprof_api mode_api = {
#define MPROF_MALLOC(id, code, name, class, shape, found) .name = mode_##name,
#include <mprof/functions.def>
	.note_alloc = mode_note_alloc,
	.note_free = mode_note_free,
	.note_resize = mode_note_resize,
	.note_resized = mode_note_resized,
	.note_map = note_map,
	.note_control = note_control,
};
