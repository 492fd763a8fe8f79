// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * interpose.c - the malloc family that the program calls.
 *
 * Each function is one load and one indirect jump through mp_api, the table that is in place.
 * Budget: 1 ns a call.
 */
#include "core.h"

/* The acquire costs nothing on x86; on aarch64 it is an ldar. */
#define MPROF_SIGNATURE(ret, name, params, args) \
	EXPORT ret name params;                  \
	EXPORT ret name params                   \
	{                                        \
		return mp_table()->name args;    \
	}
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(MPROF_SIGNED, id, name)
#include <mprof/functions.def>
