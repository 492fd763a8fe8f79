// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * quiet.c - allocators whose functions call each other through the linkage table.
 *
 * Their calloc calls our malloc, which would record one block twice; their realloc calls our free
 * for the program's block.  Trial calls during initialisation show which functions do so, because
 * memory that they request through us comes from the boot arena.  Such a function runs with its
 * thread marked, so that nothing that it calls is recorded.
 */
#include "allocator.h"
#include "thread.h"

static struct mprof_real behind;

#define QUIET(ret, name, params, args)         \
	static ret quiet_##name params         \
	{                                      \
		struct mprof_thread *before;   \
		ret result;                    \
                                               \
		mp_quiet_begin(&before, NULL); \
		result = behind.name args;     \
		mp_quiet_end(before);          \
		return result;                 \
	}
#define QUIET_ALLOC(id, name, shape, params, args, ...)	  QUIET(void *, name, params, args)
#define QUIET_REALLOC(id, name, shape, params, args, ...) QUIET(void *, name, params, args)
#define QUIET_OUT(id, name, shape, params, args, ...)	  QUIET(int, name, params, args)
#define QUIET_FREE(id, name, ...)
#define QUIET_QUERY(id, name, ...)
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(QUIET, id, name)
#include <mprof/functions.def>

/* Did the block come from our malloc? */
static int came_through_us(void *block)
{
	if (mprof_is_boot(block))
		return 1;
	mprof_core.real.free(block);
	return 0;
}

/* Requests every shape of block, with the parameter names of functions.h. */
#define TRY(call)                                                \
	{                                                        \
		size_t size = 8192, align = 64, count = 2;       \
		void *block = NULL, **out = &block;              \
                                                                 \
		(void)size, (void)align, (void)count, (void)out; \
		call;                                            \
		return came_through_us(block);                   \
	}
#define TRY_ALLOC(id, name, shape, params, args, ...) \
	static int try_##name(void) TRY(block = mprof_core.real.name args)
#define TRY_OUT(id, name, shape, params, args, ...) \
	static int try_##name(void) TRY(mprof_core.real.name args)
#define TRY_REALLOC(id, name, shape, params, args, ...) \
	static int try_##name(void)                     \
	    TRY(void *ptr = mprof_core.real.malloc(64); block = mprof_core.real.name args)
#define TRY_FREE(id, name, ...)
#define TRY_QUERY(id, name, ...)
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(TRY, id, name)
#include <mprof/functions.def>

#define SILENCE(name)                                \
	if (try_##name()) {                          \
		behind.name = mprof_core.real.name;  \
		mprof_core.real.name = quiet_##name; \
	}
#define SILENCE_ALLOC(id, name, ...)   SILENCE(name)
#define SILENCE_OUT(id, name, ...)     SILENCE(name)
#define SILENCE_REALLOC(id, name, ...) SILENCE(name)
#define SILENCE_FREE(id, name, ...)
#define SILENCE_QUERY(id, name, ...)
void mp_quiet_start(void)
{
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(SILENCE, id, name)
#include <mprof/functions.def>
}
