// SPDX-License-Identifier: LGPL-3.0-or-later
/* group.c - tables that writing and reading a group share. */
#include "group.h"

const struct op_of group_ops[OPS] = {
	[OP_FREE] = { EVENT_CALL, MPROF_FN_FREE, false },
	[OP_DELETE] = { EVENT_CALL, MPROF_FN_DELETE, false },
	[OP_BEGIN] = { EVENT_REALLOC_BEGIN, MPROF_FN_REALLOC, false },
	[OP_DELETE_SIZED] = { EVENT_CALL, MPROF_FN_DELETE, true },
	[OP_DELETE_ARRAY] = { EVENT_CALL, MPROF_FN_DELETE_ARRAY, false },
	[OP_DELETE_ARRAY_SIZED] = { EVENT_CALL, MPROF_FN_DELETE_ARRAY, true },
	[OP_FREE_SIZED] = { EVENT_CALL, MPROF_FN_FREE_SIZED, true },
};
