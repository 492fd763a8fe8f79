/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* output.h - the file that a command makes from a recording. */
#pragma once

#include <stdbool.h>

/*
 * Before the work: can it be written, and may an existing file be replaced? Never the input or a
 * recording; and, under a name that the user did not choose, only a file that mprof made. input
 * NULL: none. Prints what is wrong and returns the exit status.
 */
int output_check(const char *path, const char *input, bool chosen);
