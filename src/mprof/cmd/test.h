/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * test.h - count, record, report: the option -t of mprof itself.
 */
#ifndef MPROF_CMD_TEST_H
#define MPROF_CMD_TEST_H

#include <stdbool.h>

/*
 * argv ends with NULL; one word is a line for /bin/sh.  counts and log are
 * paths, NULL: as MPROF_CONF says.  Returns the command's exit status.
 */
int test_run(char **argv, const char *counts, const char *log, bool compress);

#endif
