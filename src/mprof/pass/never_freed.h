/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * never_freed.h - the pass that lists blocks never freed: own blocks that were
 * live when their process ended, or when the trace ends.
 *
 * Blocks that were live when a process called exec are counted separately:
 * their program is gone, and nothing could have freed them later.
 */
#pragma once

#include "array.h"
#include "sizes.h"
#include "walk.h"

#define NEVER_FREED_OLDEST 10u

struct never_freed_block {
	uint64_t addr, size;
	uint64_t ticks;		  /* when it was returned */
	uint32_t process, thread; /* numbers of the run */
};

struct never_freed_process {
	uint64_t blocks, bytes;
	uint64_t exec_blocks, exec_bytes; /* live at an exec */
};

struct never_freed {
	struct walk *walk;
	struct never_freed_process all;
	struct array process; /* struct never_freed_process, by index of the heap */
	struct size_table table;
	struct size_class *class; /* most bytes first; computed by finish */
	size_t classes;
	struct never_freed_block oldest[NEVER_FREED_OLDEST]; /* oldest first */
	size_t oldest_count;
};

extern const struct pass_ops never_freed_pass;
