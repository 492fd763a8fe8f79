// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay.c - `mprof replay`: finds what a program's calls cost on other allocators. */
#include <stdbool.h>
#include <stdio.h>

#include "cmd.h"
#include "replay_change.h"
#include "replay_run.h"
#include "running.h"
#include "usage.h"

struct options {
	const char *path;
	struct replay_cli cli;
	struct change_cli change;
	bool json;
};

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_JSON(json),
	OPTION_ROWS(option_replay, cli),
	OPTION_ROWS(option_change, change),
	OPTION_ROWS_ALONE(option_memory),
	OPTION_ROWS_ALONE(option_colour),
	OPTION_ROWS_ALONE(option_pager),
	OPTION_END,
};

static int check(void *options, struct error *err)
{
	return replay_cli_finish(&((struct options *)options)->cli, err);
}

static const struct usage usage = {
	.options = options,
	.args = "LOG",
	.doc = "Plays the calls of a trace, or of a playback file, on other allocators, and shows "
	       "how much memory and time each of them takes." RUNNING_HELP,
	.words = USAGE_FILE,
	.at = offsetof(struct options, path),
	.missing = "no trace given; for example: mprof replay mprof.log",
	.check = check,
};

static int replay(struct options *o)
{
	struct replay_run run;
	int status;

	if (o->change.rules)
		return change_run(o->path, &o->change, &o->cli, o->json);
	status = replay_run_make(&run, o->path, &o->cli);
	if (!status)
		status = replay_run_print(&run, o->json, true, replay_text);
	replay_run_release(&run);
	return status;
}

int cmd_replay(int argc, char **argv)
{
	struct options o = { .path = NULL };
	int status = STATUS_USAGE;

	replay_cli_init(&o.cli);
	if (!usage_take(&usage, argc, argv, &o))
		status = running_find((char **)&o.path, 1) ?: replay(&o);
	replay_cli_release(&o.cli);
	change_cli_release(&o.change);
	return status;
}
