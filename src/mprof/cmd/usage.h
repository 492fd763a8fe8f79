/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * usage.h - parses the arguments of a command, and explains them.
 *
 * All that is said of a command's options comes from its argp rows: --help, the
 * section OPTIONS of its manual page, and the completion of the shells.
 */
#ifndef MPROF_CMD_USAGE_H
#define MPROF_CMD_USAGE_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * As argp_parse(), with --help, -h and --usage of our own.  argv[0] is "mprof NAME".
 * Returns an error, which is STATUS_USAGE for the caller, only without memory or after
 * `mprof help --rows`.
 */
int usage_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/* The rows of one command for scripts/gendoc, as usage.c describes them. */
void usage_rows(FILE *out, const char *name, const struct argp *argp);

/* What a command's --help prints; all: with every option.  name: "mprof report". */
void usage_help(FILE *out, const char *name, const struct argp *argp, bool all);

/* The argument with which a command prints its rows: for scripts/gendoc only. */
#define USAGE_ROWS "--rows"

#endif
