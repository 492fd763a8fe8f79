/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * roots.h - where a program's pointers begin: variables, thread-local memory, stacks, registers,
 * and memory that it mapped itself.
 *
 * What the allocator keeps for itself (free blocks, its tables) is not a root, nor is the
 * library's memory, nor what is below a stack pointer: old pointers remain there.
 */
#pragma once

#include <mprof/format.h>

#include "../pass/last_blocks.h"
#include "stopped.h"

/* An object or another file that is mapped. */
struct root_file {
	char *path;
	uint64_t bias, end; /* of an object */
	bool object;	    /* it is ELF */
};

struct root_range {
	uint64_t start, end; /* multiples of 8 */
	enum mprof_reach_kind kind;
	bool exact;    /* only pointers to the beginning of a block count */
	bool late;     /* VARIABLE: what others lead to, too, is held by them */
	int32_t tid;   /* THREAD, STACK */
	uint32_t file; /* VARIABLE: index in roots.file */
};

struct roots {
	struct root_range
	    *range; /* variables first, the C library's last; then others, stacks last */
	size_t ranges, room;
	struct root_file *file;
	size_t files, file_room;
};

/*
 * waiting: the thread that called exit(), whose address is exit_at; what is above that call on its
 * stack is only the way out; 0 if none did.  glibc: its malloc serves the program.  0 or
 * -errno.
 */
int roots_find(struct roots *r, const struct stopped *s, const struct last_blocks *b, pid_t waiting,
	       uint64_t exit_at, bool glibc);
void roots_release(struct roots *r);
