/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* output.h - the file that a command makes of a recording. */
#ifndef MPROF_CMD_OUTPUT_H
#define MPROF_CMD_OUTPUT_H

#include <stdbool.h>

/*
 * Before the work: could it be written, and may what is there be replaced?  Never what it is made
 * of, nor a recording; and, under a name that the user did not choose, only what mprof made.
 * input NULL: none.  Says what is wrong and returns the exit status.
 */
int output_check(const char *path, const char *input, bool chosen);

#endif
