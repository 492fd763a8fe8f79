/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * main.c - `mprof`: the first form of the command line (options only, as the
 * program has always had it), and the way to the commands.
 *
 * A first word that is no option names a command and the rest is his; after
 * -m it is the program to run instead.
 */
#include <argp.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/counts.h"
#include "cmd/help.h"
#include "cmd/forms.h"
#include "util/pager.h"
#include "util/plain.h"
#include "util/terminal.h"

struct form {
	const char *test, *mode, *counts, *log;
	int argc;
	char **argv; /* the first word that is no option, and all behind it */
};

enum { USAGE = 256, COLOUR, NO_PAGER };

static const struct argp_option options[] = {
	{ "test", 't', "COMMAND", 0,
	  "Run a shell line twice: count its calls, then record them; report", 0 },
	{ "mode", 'm', "MODE", 0, "Run a program in this MODE; -m HELP lists the modes", 0 },
	{ "counts", 'c', "FILE", 0, "Show this counts file; with -t: write the counts to it", 0 },
	{ "log", 'l', "LOG", 0, "Report on this trace; with -t: write the trace to it", 0 },
	{ "color", COLOUR, "WHEN", OPTION_ARG_OPTIONAL,
	  "Use colour: auto (on a terminal), always or never [auto]", 0 },
	{ "no-pager", NO_PAGER, NULL, 0, "Do not send a long answer on a terminal to a pager", 0 },
	{ "help", 'h', NULL, 0, "Show this", -1 },
	{ "version", 'V', NULL, 0, "Show the version", -1 },
	{ "usage", USAGE, NULL, OPTION_HIDDEN, NULL, -1 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct form *form = state->input;

	switch (key) {
	case 't':
		form->test = arg;
		return 0;
	case 'm':
		form->mode = arg;
		return 0;
	case 'c':
		form->counts = arg;
		return 0;
	case 'l':
		form->log = arg;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_LONG);
		putchar('\n');
		help_all(stdout);
		exit(STATUS_OK);
	case COLOUR:
		if (!terminal_set_colour(arg ? arg : "always"))
			argp_error(state, "invalid --color '%s': expected auto, always or never",
				   arg);
		return 0;
	case NO_PAGER:
		pager_off();
		return 0;
	case USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE);
		exit(STATUS_OK);
	case 'V':
		puts("mprof " MPROF_VERSION);
		exit(STATUS_OK);
	case ARGP_KEY_ARG:
		form->argv = state->argv + state->next - 1;
		form->argc = state->argc - state->next + 1;
		state->next = state->argc;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc =
	    "COMMAND [ARGS]\n-t \"SHELL LINE\" [-c COUNTS] [-l LOG]\n-m MODE PROGRAM [ARGS]\n"
	    "[-c COUNTS]\n-l LOG",
};

static int run_command(int argc, char **argv)
{
	const struct command *c = cmd_find(argv[0]);
	char title[64];

	if (!c)
		return cmd_unknown(argv[0]);
	snprintf(title, sizeof(title), "mprof %s", c->name);
	argv[0] = title;
	return cmd_run(c, argc, argv);
}

/* What -m said before it named modes of the library: the same as -t, and as no option. */
static bool old_mode(const struct form *form, const char *name)
{
	return form->mode && !strcasecmp(form->mode, name) && !form->argc;
}

static int dispatch(const struct form *form)
{
	char *line[] = { (char *)form->test, NULL };
	bool mode = form->mode && !old_mode(form, "TEST") && !old_mode(form, "DUMP");

	if (form->test && (mode || form->argc))
		return cmd_error(
		    STATUS_USAGE,
		    "-t %s: put the whole command in quotes, as in: mprof -t \"ls -l\"",
		    mode ? "cannot be combined with -m" : "takes one argument");
	if (form->test)
		return test_run(line, form->counts, form->log, true);
	if (old_mode(form, "TEST"))
		return cmd_error(STATUS_USAGE, "which command? for example: mprof -t \"ls -l\"");
	if (mode)
		return mode_run(form->mode, form->argc ? form->argv : NULL);
	if (form->argc)
		return run_command(form->argc, form->argv);
	if (form->log && !form->counts)
		return cmd_call("report", form->log);
	if (!form->counts && !counts_here()) {
		help_start(stdout);
		return STATUS_OK;
	}
	return cmd_call("counts", form->counts);
}

/* Whichever way we end, also by argp's own exit: a cut answer is a failure. */
static void flush(int status, void *unused)
{
	int now = cmd_flush(status);

	(void)unused;
	pager_end();
	if (now != status)
		_exit(now);
}

/*
 * A stream that we were started without must not become one of our own files.
 * It stays unusable, and the program that we start will not have it either.
 */
static void hold_streams(void)
{
	int fd;

	for (fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
}

int main(int argc, char **argv)
{
	static char name[] = "mprof";
	struct form form = { 0 };

	hold_streams();
	terminal_start();
	plain_streams();
	argp_err_exit_status = STATUS_USAGE;
	on_exit(flush, NULL);
	if (argc > 0)
		argv[0] = name;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP, NULL, &form))
		return STATUS_USAGE;
	return dispatch(&form);
}
