// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * pass.c - the table that records nothing: refused, finished, or a process that must not be
 * recorded.  Calls the backing allocator directly, so it also works if no MODE module was found.
 */
#include "allocator.h"
#include "core.h"

#define STRAIGHT(ret, name, params, args)         \
	static ret pass_##name params             \
	{                                         \
		return mprof_core.real.name args; \
	}
#define PASS_ALLOC(id, name, shape, params, args, size, arg) STRAIGHT(void *, name, params, args)
#define PASS_OUT(id, name, shape, params, args, size, arg)   STRAIGHT(int, name, params, args)
#define PASS_REALLOC(id, name, shape, params, args, size, arg)                                  \
	static void *pass_##name params                                                         \
	{                                                                                       \
		return mprof_is_boot(ptr) ? mp_boot_resize(ptr, MPROF_SHAPE_##shape, size, arg) \
					  : mprof_core.real.name args;                          \
	}
#define PASS_FREE(id, name, shape, params, args, size, arg) \
	static void pass_##name params                      \
	{                                                   \
		if (!mprof_is_boot(ptr))                    \
			mprof_core.real.name args;          \
	}
#define PASS_QUERY(id, name, shape, params, args, size, arg)                                 \
	static size_t pass_##name params                                                     \
	{                                                                                    \
		return mprof_is_boot(ptr) ? mp_boot_usable(ptr) : mprof_core.real.name args; \
	}
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(PASS, id, name)
#include <mprof/functions.def>

void mp_no_note_alloc(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)fn, (void)ptr, (void)size, (void)arg;
}
void mp_no_note_free(unsigned fn, void *ptr, size_t size)
{
	(void)fn, (void)ptr, (void)size;
}
void mp_no_note_resized(unsigned fn, void *old, void *ptr, size_t size, size_t arg)
{
	(void)fn, (void)old, (void)ptr, (void)size, (void)arg;
}
void mp_no_note_map(unsigned fn, uint64_t ticks, const uint64_t value[4], unsigned error)
{
	(void)fn, (void)ticks, (void)value, (void)error;
}
void mp_no_note_control(unsigned what, uint64_t value)
{
	(void)what, (void)value;
}

const struct mprof_api mp_pass_api MP_HIDDEN = {
#define MPROF_MALLOC(id, code, name, class, shape, found) .name = pass_##name,
#include <mprof/functions.def>
	MP_NO_NOTES,
};
