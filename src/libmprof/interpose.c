// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * interpose.c - the malloc family as the program sees it.
 *
 * Each function is one load and one indirect jump; the table that mp_api
 * points to is the state of the library.  Budget: 1 ns a call.
 */
#include "core.h"

#define EXPORT __attribute__((visibility("default")))

/* A compiler barrier would be enough on x86 and is free; on aarch64 it is an ldar. */
#define MPROF_SIGNATURE(ret, name, params, args) \
	EXPORT ret name params;                  \
	EXPORT ret name params                   \
	{                                        \
		return mp_table()->name args;    \
	}
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(MPROF_SIGNED, id, name)
#include <mprof/functions.def>
