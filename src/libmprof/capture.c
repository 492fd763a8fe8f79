// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * capture.c - selects the unwinder (UNWIND).
 *
 * libgcc's unwinder serves for comparison, and for programs whose call frame information ours
 * cannot read. Before glibc 2.35 it takes a lock of the loader; it costs 50 to 200 times as much.
 */
#include <dlfcn.h>
#include <errno.h>
#include <mprof/module.h>
#include <sys/auxv.h>

#include "config.h"
#include "file.h"
#include "stack_parts.h"
#include "stacks.h"
#include "text.h"

/* libgcc's interface (Itanium C++ ABI, "Exception Handling", 1.3). */
typedef int trace_fn(void *context, void *arg);
static int (*backtrace)(trace_fn *each, void *arg);
static uintptr_t (*get_ip)(void *context, int *before), (*get_cfa)(void *context);

struct collect {
	struct stack_cache *c;
	uintptr_t pc; /* first frame to keep; 0 once it was reached */
};

static int capture_collect(void *context, void *arg)
{
	struct collect *k = arg;
	int before = 0;
	uintptr_t pc = get_ip(context, &before);

	if (k->pc && pc != k->pc)
		return 0;
	k->pc = 0;
	if (!pc || pc - mp_own.start < mp_own.end - mp_own.start)
		return 0;
	mp_rule(before ? pc : pc - 1); /* records its object */
	return !mp_fresh_add(k->c, before ? pc | MPROF_FRAME_EXACT : pc, get_cfa(context));
}

static uint32_t capture_libgcc(struct mprof_thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	struct collect k = { mp_fresh_begin(t, sp), pc };

	(void)fp;
	if (!k.c)
		return mp_stacks_none();
	backtrace(capture_collect, &k);
	return mp_fresh_id(k.c);
}

static int capture_find_libgcc(void)
{
	void *lib = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return -ENOENT;
	*(void **)&backtrace = dlsym(lib, "_Unwind_Backtrace");
	*(void **)&get_ip = dlsym(lib, "_Unwind_GetIPInfo");
	*(void **)&get_cfa = dlsym(lib, "_Unwind_GetCFA");
	return backtrace && get_ip && get_cfa ? 0 : -ENOENT;
}

int mp_stacks_start(void)
{
	if (text_same(mp_config.unwind, "none"))
		return 0;
	if (mp_rules_start() < 0) {
		mp_lost(MPROF_LOST_STACK, 1);
		return -ENOMEM;
	}
	mp_cache_start();
	eh_object((uintptr_t)mp_stacks_start, &mp_own);
	/* Part of the program (libmprof.a): its functions must not be taken for ours. */
	if (getauxval(AT_PHDR) - mp_own.start < mp_own.end - mp_own.start)
		mp_own = (struct eh_object){ .start = 0 };
	mprof_core.capture = mp_capture;
	if (text_same(mp_config.unwind, "libgcc")) {
		if (capture_find_libgcc() < 0)
			return -ENOENT;
		mprof_core.capture = capture_libgcc;
	}
	mprof_core.free_stacks = mp_config.free_stacks != 0;
	return 0;
}
