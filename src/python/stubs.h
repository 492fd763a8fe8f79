/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stubs.h - code through which the functions of a script are entered, each through its own.
 *
 * Stubs, their names and the addresses that stand for lines stay until the process ends, so a file
 * of names fits all stacks of a run.
 *
 * Threads: one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define STUB_NAME_MOST 900u /* bytes of a function's name and file; mprof reads 1,024 of a line */

typedef void *evaluate(void *thread, void *frame, int throwing);
typedef void *stub(void *thread, void *frame, int throwing, evaluate *real, void *data);

/* A function of a script. */
struct function {
	char name[STUB_NAME_MOST]; /* "work:/app/t.py" */
	unsigned first;		   /* the line where it begins */
	const uint8_t *table;	   /* where instructions are in the source; NULL if unknown */
	size_t bytes;		   /* of the table */
};

/* Returns the stub of the function: a new one unless there is one of its name and lines.  NULL
 * without memory, beyond the most stubs, or if the name cannot be written. */
stub *stub_named(const struct function *f);
