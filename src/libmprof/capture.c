// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * capture.c - which unwinder UNWIND means.
 *
 * libgcc's is there to compare with, and for programs whose call frame
 * information ours cannot read.  It takes a lock of the loader's on older C
 * libraries and costs 50 to 200 times as much.
 */
#include <dlfcn.h>
#include <errno.h>

#include "unwind.h"

int mp_stacks_start(void)
{
	if (text_same(mp_config.unwind, "none"))
		return 0;
	if (mp_rules_start() < 0) {
		mp_lost(MPROF_LOST_STACK, 1);
		return -ENOMEM;
	}
	mprof_core.capture = mp_capture;
	mprof_core.free_stacks = mp_config.free_stacks != 0;
	return 0;
}
