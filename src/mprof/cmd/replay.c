// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay.c - `mprof replay`: what a program's calls cost on other allocators. */
#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

#include "argument.h"
#include "cmd.h"
#include "replay_change.h"
#include "replay_run.h"
#include "usage.h"

struct options {
	const char *path;
	struct replay_cli cli;
	struct change_cli change;
	bool json;
};

enum { AS_JSON = 256 };

static const struct argp_option options[] = {
	{ "json", AS_JSON, NULL, 0, "Print one JSON object", 1 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->cli;
		state->child_inputs[1] = &o->change;
		return 0;
	case AS_JSON:
		o->json = true;
		return 0;
	default:
		return argument_file(key, arg, state, &o->path,
				     "which recording? for example: mprof replay mprof.log");
	}
}

static const struct argp_child children[] = {
	{ &replay_argp, 0, NULL, 0 },	{ &change_argp, 0, NULL, 0 }, { &memory_argp, 0, NULL, 0 },
	{ &terminal_argp, 0, NULL, 0 }, { NULL, 0, NULL, 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = children,
	.args_doc = "LOG",
	.doc = "Plays the calls of a trace, or of a playback file, on other allocators, and shows "
	       "how much memory and time each of them takes.",
};

static int print(const struct replay_answer *a, bool as_json, struct error *err)
{
	return as_json ? json_print(stdout, replay_json(a), err) : replay_text(a, stdout, err);
}

static int replay(struct options *o)
{
	struct error err = { "" };
	struct replay_run run;
	int status;

	if (o->change.rules)
		return change_run(o->path, &o->change, &o->cli, o->json);
	status = replay_run_make(&run, o->path, &o->cli);
	if (!status)
		status = print(&run.answer, o->json, &err) ? cmd_error(STATUS_FOUND, "%s", err.text)
							   : replay_run_status(&run);
	replay_run_release(&run);
	return status;
}

int cmd_replay(int argc, char **argv)
{
	struct options o = { .path = NULL };
	int status = STATUS_USAGE;

	replay_cli_init(&o.cli);
	if (!usage_parse(&argp, argc, argv, 0, &o))
		status = replay(&o);
	replay_cli_release(&o.cli);
	change_cli_release(&o.change);
	return status;
}
