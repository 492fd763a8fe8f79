/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * mode.c - `mprof -m MODE PROGRAM [ARGS]`: runs a program in one MODE, with
 * everything else as MPROF_CONF says.
 */
#include "forms.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "run_messages.h"
#include "cmd.h"
#include "help.h"

static int run(struct run_plan *plan)
{
	struct run_result result;
	struct error err;
	int code = run_program(plan, &result, &err), status;

	if (code)
		return run_messages_refused(&result, code, &err);
	run_messages_tell(plan, &result);
	if (result.path)
		fprintf(stderr, "mprof: recorded in %s\n", cmd_path(result.path));
	status = run_messages_status(&result);
	run_release(&result);
	return status;
}

int mode_run(const char *mode, char **argv)
{
	struct run_plan plan = { .with_samples = true };
	int status = STATUS_USAGE;

	if (!strcasecmp(mode, "HELP")) {
		help_modes(stdout);
		return STATUS_OK;
	}
	if (!argv || !argv[0])
		return cmd_error(STATUS_USAGE,
				 "-m %s needs a program to run: mprof -m %s -- PROGRAM", mode,
				 mode);
	if (run_messages_plan(&plan, argv, mode, CONF_KEYS, NULL))
		status = run(&plan);
	run_messages_release(&plan);
	return status;
}
