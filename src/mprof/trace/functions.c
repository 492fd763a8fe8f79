// SPDX-License-Identifier: LGPL-3.0-or-later
/* functions.c - the functions of the allocation API as tables. */
#include "functions.h"

#include <stddef.h>

const uint8_t function_class[MPROF_FN_MAX] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = MPROF_CLASS_##class,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
};

const char *function_name(unsigned fn)
{
	static const char *const names[MPROF_FN_MAX] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = name,
#include <mprof/functions.def>
	};

	return fn < MPROF_FN_MAX ? names[fn] : NULL;
}
