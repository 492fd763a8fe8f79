// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * ld_next.c - INIT=LD_NEXT: the allocator that the program would use without us: the next one in
 * the search order of the dynamic loader, which is another preloaded object, one that the program
 * links, or libc.
 */
#include <dlfcn.h>
#include <mprof/module.h>

static void *ld_next_symbol(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

const struct mprof_init_ops mprof_init_ld_next MPROF_SHARED = {
	.abi = MPROF_MODULE_ABI,
	.natural = 1,
	.symbol = ld_next_symbol,
};
