/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * mode.c - `mprof -m MODE PROGRAM [ARGS]`: runs a program in one MODE, with all other settings from
 * MPROF_CONF.
 */
#include "forms.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "../print/print_errors.h"
#include "event_count.h"
#include "run_keys.h"
#include "run_messages.h"
#include "cmd.h"

#define ERRORS_SHOWN 20u

/* What was not checked.  An object that bypasses the library also frees past it. */
static void tell_own(const struct trace *t, const struct run_result *r)
{
	struct event_count_own own = { .count = 0 };

	event_count_own(&own, t);
	run_messages_own(&own, r);
	if (*own.object)
		cmd_warn("MODE=Guard does not fit this program: if %s frees a guarded block, libc "
			 "ends the program (\"invalid pointer\" or the like)",
			 own.objects ? "such an object" : "that object");
}

/* Prints what MODE=Guard found. */
static void tell_errors(const struct run_result *r, bool quiet)
{
	struct profile_options o = { 0 };
	struct profile p;
	struct errors e;
	struct trace *t;
	struct error err;
	int ret = trace_open(&t, r->path, MPROF_MAGIC_TRACE, &err);

	if (!ret) {
		if (!quiet)
			tell_own(t, r);
		ret = profile_names(&p, t, &o, &err);
		if (!ret) {
			errors_find(&e, &p);
			errors_text(&e, ERRORS_SHOWN, 0, stderr);
			if (e.count || !quiet) {
				fputs(e.count ? "\n" : "", stderr);
				errors_summary(&e, "mprof: ", stderr);
			}
			errors_release(&e);
			profile_release(&p);
		}
		trace_close(t);
	}
	if (ret)
		cmd_warn("%s", err.text);
}

static void after(const struct run_plan *plan, struct run_result *r, unsigned form)
{
	run_messages_tell(plan, r);
	if (r->path && !strcmp(conf_get(&plan->conf, CONF_MODE), "Guard"))
		tell_errors(r, plan->quiet);
	if (r->path && !plan->quiet)
		fprintf(stderr, "mprof: recorded in %s\n", cmd_path(r->path));
}

int mode_run(const char *mode, char **argv, const struct run_keys *keys)
{
	struct run_plan plan = { .with_samples = true };
	int status = STATUS_USAGE;

	if (!strcasecmp(mode, "HELP")) {
		help_modes(stdout);
		return STATUS_OK;
	}
	if ((!argv || !argv[0]) && !keys->show)
		return cmd_error(STATUS_USAGE,
				 "-m %s needs a program to run: mprof -m %s -- PROGRAM", mode,
				 mode);
	if (run_messages_plan(&plan, argv, NULL, CONF_KEYS, NULL) &&
	    run_keys_set(&plan, keys, mode, CONF_NONE, NULL))
		status = run_messages_run(&plan, keys->show, after, 0);
	run_messages_release(&plan);
	return status;
}
