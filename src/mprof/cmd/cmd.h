/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * cmd.h - commands and their exit statuses.
 *
 * To add a command: a file of its name in this directory that ends with
 * int cmd_NAME(int argc, char **argv), a row in commands.def, a page
 * man/mprof-NAME.1.in, three examples in examples.def, a test in tests/cli.
 *
 * argv[0] is "mprof NAME", so that usage lines and messages read right.  A command
 * parses with usage_take (option.h has the types of values), prints its answer on
 * stdout (JSON by json_print) and the conversation on stderr, and returns the
 * exit status; only commands print.  main flushes stdout afterwards and fails
 * if that fails.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../util/error.h"

enum cmd_status {
	STATUS_OK = 0,
	STATUS_FOUND =
	    1, /* found what it was asked to fail on, or the answer could not be written */
	STATUS_USAGE = 2, /* wrong use; nothing was started */
	STATUS_FILE = 3,  /* a file that is missing, unreadable or not ours; of check, whose
			   * STATUS_FOUND means something else, an answer, too */
	STATUS_NOT_RUNNABLE = 126, /* the program to run is not executable, as env(1) */
	STATUS_NOT_FOUND = 127,	   /* the program to run does not exist, as env(1) */
};

/* Declares every cmd_NAME of the table. */
#define MPROF_COMMAND(name, function, group, args, help) int function(int argc, char **argv);
#include "commands.def"
#undef MPROF_COMMAND

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *group; /* heading in the list */
	const char *args;  /* after the name in usage lines */
	const char *help;
};

/* The table; ends with a row whose name is NULL. */
extern const struct command cmd_table[];

/* Runs it, within the memory that it may take (util/memory.h). */
int cmd_run(const struct command *c, int argc, char **argv);

/* Exact name, else NULL. */
const struct command *cmd_find(const char *name);

/* Says that there is no such command, and the nearest one; returns STATUS_USAGE. */
int cmd_unknown(const char *name);

/* One line "mprof: ..." on stderr; returns status, for `return cmd_error(...)`. */
int cmd_error(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for what returned ret: STATUS_USAGE of a refused request (-EINVAL, -ERANGE,
 * -EEXIST, -EISDIR), else STATUS_FOUND. */
int cmd_failed(int ret, const struct error *err);
/* One line "mprof: warning: ..." on stderr. */
void cmd_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An absolute path as it can be typed here: relative if it lies below this directory. */
const char *cmd_path(const char *path);
/* Returns the size of a file, 0 if it is unknown. */
uint64_t cmd_file_bytes(const char *path);
/* Ends a line on stderr with "next: mprof report PATH", as it can be typed here. */
void cmd_next(const char *path);
/* The same with a view of the report. */
void cmd_next_view(const char *view, const char *path);

/* As `mprof NAME PATH`, or `mprof NAME` for NULL; returns its status. */
int cmd_call(const char *name, const char *path);

/* Flushes stdout and says when that fails.  Returns status, or STATUS_FOUND instead of 0. */
int cmd_flush(int status);

/*
 * Before a command makes a file from a recording: can it be written, and may an existing file be
 * replaced?  Never the input (NULL: none) or a recording; and only a file that mprof made, unless
 * the user chose its name.  Prints what is wrong and returns the exit status.
 */
int output_check(const char *path, const char *input, bool chosen);

/* The MODEs, as `-m HELP` prints them. */
void help_modes(FILE *out);
/* What mprof is, and the commands to start with. */
void help_start(FILE *out);
/* The commands, by group. */
void help_commands(FILE *out);
#define HELP_SETTINGS "'mprof help settings' lists the modes, modules and keys of MPROF_CONF."
#define HELP_ABOUT                                                                               \
	"Records every call that a program makes to malloc and related functions, and explains " \
	"how it uses memory. Start with: mprof -t \"COMMAND\""
