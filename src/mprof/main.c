/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * main.c - `mprof`: the first form of the command line (only options, as in the first version), and
 * the dispatch to commands.
 *
 * A first word that is not an option names a command, which gets the rest; after -m it names the
 * program to run instead.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/counts.h"
#include "cmd/forms.h"
#include "cmd/run_keys.h"
#include "cmd/usage.h"
#include "run/launch.h"
#include "run/library.h"
#include "util/own_stack.h"
#include "util/pager.h"
#include "util/plain.h"
#include "util/terminal.h"

struct form {
	const char *test, *mode, *counts, *log;
	struct run_keys keys; /* for -m */
	char **argv;	      /* the first word that is not an option, and all after it; NULL */
};

static int take_version(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	puts("mprof " MPROF_VERSION);
	exit(STATUS_OK);
}

static const char *const modes[] = {
#define MPROF_MODE(name, ops, key, kind, help) #name,
#include <mprof/modules.def>
#undef MPROF_MODE
	"HELP",
	NULL,
};

static const struct option_type version = { "flag", take_version, NULL, COMPLETE_NOTHING };

#define WITH_MODE "Settings of -m MODE and -t:"

#define OPTIONS struct form
static const struct option_row options[] = {
	OPTION_CUSTOM('t', "test", "COMMAND", const char *, test, &option_command,
		      "Run a shell command twice, to count and then record its calls, and report"),
	OPTION_CUSTOM('m', "mode", "MODE", const char *, mode, &option_file,
		      "Run a program in this MODE; -m HELP lists the modes", .words = modes),
	OPTION_FILE('c', "counts", "FILE", counts,
		    "Show this counts file; with -t: write the counts to it"),
	OPTION_FILE('l', "log", "LOG", log, "Report on this trace; with -t: write the trace to it"),
	OPTION_CALL('V', "version", NULL, &version, "Show the version"),
	OPTION_ROWS_ALONE(option_colour),
	OPTION_ROWS_ALONE(option_pager),
	OPTION_TITLE(WITH_MODE),
	OPTION_ALLOCATOR(keys.allocator),
	OPTION_RUN_STACKS(keys),
	OPTION_RUN_TOTALS(keys),
	OPTION_RUN_SETTINGS(keys),
	OPTION_END,
};

/* A wrong name of an allocator is the first mistake, as wrong values of the other options are. */
static int check(void *options, struct error *err)
{
	const struct form *form = options;
	char *path;

	if (!form->keys.allocator)
		return 0;
	path = allocator_resolve(form->keys.allocator, err);
	free(path);
	return path ? 0 : -EINVAL;
}

static char *lists(void)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return NULL;
	help_commands(out);
	return fclose(out) ? NULL : text;
}

static const struct usage usage = {
	.options = options,
	.args =
	    "COMMAND [ARGS]\n-t \"SHELL COMMAND\" [-c COUNTS] [-l LOG]\n-m MODE PROGRAM [ARGS]\n"
	    "[-c COUNTS]\n-l LOG",
	.doc = HELP_ABOUT "\v'mprof COMMAND --help' explains a command. " HELP_SETTINGS,
	.more = lists,
	.check = check,
	.brief = WITH_MODE,
	.whole = "test",
	.words = USAGE_PROGRAM,
	.at = offsetof(struct form, argv),
};

static int run_command(char **argv)
{
	const struct command *c = cmd_find(argv[0]);
	char title[64];
	int argc = 0;

	if (!c)
		return cmd_unknown(argv[0]);
	snprintf(title, sizeof(title), "mprof %s", c->name);
	argv[0] = title;
	while (argv[argc])
		argc++;
	return cmd_run(c, argc, argv);
}

/* Accepts -m NAME in its old meaning, modes of the library: the same as -t and no option. */
static bool old_mode(const struct form *form, const char *name)
{
	return form->mode && !strcasecmp(form->mode, name) && !form->argv;
}

static int dispatch(const struct form *form)
{
	char *line[] = { (char *)form->test, NULL };
	bool mode = form->mode && !old_mode(form, "TEST") && !old_mode(form, "DUMP");

	if (form->test && (mode || form->argv))
		return cmd_error(
		    STATUS_USAGE,
		    "-t %s: put the whole command in quotes, as in: mprof -t \"ls -l\"",
		    mode ? "cannot be combined with -m" : "takes one argument");
	if (form->test)
		return test_run(line, &form->keys, form->counts, form->log, true);
	if (old_mode(form, "TEST"))
		return cmd_error(STATUS_USAGE, "no command given; for example: mprof -t \"ls -l\"");
	if (mode)
		return mode_run(form->mode, form->argv, &form->keys);
	if (run_keys_given(&form->keys))
		return cmd_error(STATUS_USAGE,
				 "these options belong to -m and -t: mprof -m MODE PROGRAM");
	if (form->argv)
		return run_command(form->argv);
	if (form->log && !form->counts)
		return cmd_call("report", form->log);
	if (!form->counts && !counts_here()) {
		help_start(stdout);
		return STATUS_OK;
	}
	return cmd_call("counts", form->counts);
}

/* Flushes, however we end, also by exit() after --help: a truncated answer is a failure. */
static void flush(int status, void *unused)
{
	int now = cmd_flush(status);

	pager_end();
	if (now != status)
		_exit(now);
}

/*
 * A stream that we were started without must not become one of our own files. It stays unusable,
 * also in the program that we start.
 */
static void hold_streams(void)
{
	int fd;

	for (fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
}

static int run(int argc, char **argv)
{
	static char name[] = "mprof";
	struct form form = { 0 };

	hold_streams();
	launch_umask();
	terminal_start();
	plain_streams();
	on_exit(flush, NULL);
	if (argc > 0)
		argv[0] = name;
	if (usage_take(&usage, argc, argv, &form))
		return STATUS_USAGE;
	return dispatch(&form);
}

int main(int argc, char **argv)
{
	return own_stack_run(run, argc, argv);
}
