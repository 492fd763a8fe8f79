// SPDX-License-Identifier: LGPL-3.0-or-later
/* group.c - tables that writing and reading a group share. */
#include "group.h"

const struct op_of group_ops[OPS] = {
	[OP_FREE] = { MPROF_FN_FREE, EVENT_CALL, false },
	[OP_DELETE] = { MPROF_FN_DELETE, EVENT_CALL, false },
	[OP_BEGIN] = { MPROF_FN_REALLOC, EVENT_REALLOC_BEGIN, false },
	[OP_DELETE_SIZED] = { MPROF_FN_DELETE, EVENT_CALL, true },
	[OP_DELETE_ARRAY] = { MPROF_FN_DELETE_ARRAY, EVENT_CALL, false },
	[OP_DELETE_ARRAY_SIZED] = { MPROF_FN_DELETE_ARRAY, EVENT_CALL, true },
	[OP_FREE_SIZED] = { MPROF_FN_FREE_SIZED, EVENT_CALL, true },
};

const uint8_t group_classes[MPROF_FN_MAX] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = MPROF_CLASS_##class,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
};
