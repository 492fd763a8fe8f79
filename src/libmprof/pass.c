// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * pass.c - the table that keeps nothing: refused, finished, or a process that
 * must not be recorded.  Straight to the backing allocator, so it also works
 * when no MODE module was ever found.
 */
#include <errno.h>

#include "internal.h"

#define X(ret, name, params, args)                \
	static ret pass_##name params             \
	{                                         \
		return mprof_core.real.name args; \
	}
X(void *, malloc, (size_t size), (size))
X(void *, calloc, (size_t count, size_t size), (count, size))
X(void *, memalign, (size_t align, size_t size), (align, size))
X(int, posix_memalign, (void **out, size_t align, size_t size), (out, align, size))
X(void *, aligned_alloc, (size_t align, size_t size), (align, size))
X(void *, valloc, (size_t size), (size))
X(void *, pvalloc, (size_t size), (size))
#undef X

static void pass_free(void *ptr)
{
	if (!mprof_is_boot(ptr))
		mprof_core.real.free(ptr);
}

static void *pass_realloc(void *ptr, size_t size)
{
	return mprof_is_boot(ptr) ? mp_boot_realloc(ptr, size) : mprof_core.real.realloc(ptr, size);
}

static void *pass_reallocarray(void *ptr, size_t count, size_t size)
{
	size_t bytes;

	if (!__builtin_mul_overflow(count, size, &bytes))
		return pass_realloc(ptr, bytes);
	errno = ENOMEM;
	return NULL;
}

static size_t pass_malloc_usable_size(void *ptr)
{
	return mprof_is_boot(ptr) ? mp_boot_usable(ptr) : mprof_core.real.malloc_usable_size(ptr);
}

static void pass_cfree(void *ptr)
{
	pass_free(ptr);
}

static void pass_free_sized(void *ptr, size_t size)
{
	if (!mprof_is_boot(ptr))
		mprof_core.real.free_sized(ptr, size);
}

static void pass_free_aligned_sized(void *ptr, size_t align, size_t size)
{
	if (!mprof_is_boot(ptr))
		mprof_core.real.free_aligned_sized(ptr, align, size);
}

static void pass_note_alloc(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)fn, (void)ptr, (void)size, (void)arg;
}
static void pass_note_free(unsigned fn, void *ptr, size_t size)
{
	(void)fn, (void)ptr, (void)size;
}
static void pass_note_map(unsigned fn, uint64_t ticks, const uint64_t value[4], unsigned error)
{
	(void)fn, (void)ticks, (void)value, (void)error;
}
static void pass_note_control(unsigned what, uint64_t value)
{
	(void)what, (void)value;
}

const struct mprof_api mp_pass_api MP_HIDDEN = {
#define X(ret, name, params, args) .name = pass_##name,
	MPROF_MALLOC_FAMILY(X)
#undef X
	    .note_alloc = pass_note_alloc,
	.note_free = pass_note_free,
	.note_map = pass_note_map,
	.note_control = pass_note_control,
};
