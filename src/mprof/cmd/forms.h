/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* forms.h - mprof without a command: its options -t and -m.  Each function returns the exit status.
 */
#pragma once

#include <stdbool.h>

struct run_keys;

/* Implements -m: runs argv, which ends with NULL, in this MODE with these settings; "HELP" lists
 * the modes. */
int mode_run(const char *mode, char **argv, const struct run_keys *keys);

/*
 * Implements -t: counts, records and reports on argv, which ends with NULL; a single word is a line
 * for /bin/sh.  keys: settings of both runs.  counts and log are paths; NULL = as MPROF_CONF says.
 */
int test_run(char **argv, const struct run_keys *keys, const char *counts, const char *log,
	     bool compress);

/* Prints the end of -t: the first screen of the trace, its largest size classes and compactness. */
int report_after_test(const char *path);
