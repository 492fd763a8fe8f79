// SPDX-License-Identifier: LGPL-3.0-or-later
/* real_libc.c - looks up the functions of real_libc.h, once. */

#include <dlfcn.h>
#include <mprof/module.h>

#include "real_libc.h"

static struct mp_next next;
static uint32_t ready;

/* Two threads may do this at once: they store the same values. */
static MPROF_COLD void real_libc_look_up(void)
{
#define X(name) next.name = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);
	MP_NEXT_FUNCTIONS(X)
#undef X
	__atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
}

const struct mp_next *mp_next(void)
{
	if (mprof_unlikely(!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)))
		real_libc_look_up();
	return &next;
}
