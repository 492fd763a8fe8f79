/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * input.h - the standard input of a program that runs more than once: each run reads the same.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct input {
	bool file; /* it can be read again, from this offset */
	off_t from;
	bool open; /* a pipe or socket from which something may still come */
};

/* Call it before the first run. */
struct input input_before(void);
/* Call it before each further one: rewinds a file, and warns once if a pipe has ended. */
void input_again(struct input *i);
