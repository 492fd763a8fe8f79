/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * diff.c - `mprof diff`: what changed from one trace to another.
 */
#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../print/print_diff.h"
#include "../util/ranges.h"
#include "argument.h"
#include "../util/pager.h"
#include "cmd.h"
#include "profile_options.h"
#include "two_profiles.h"
#include "usage.h"

enum form { TEXT, JSON, MARKDOWN };

struct options {
	const char *log[DIFF_SIDES];
	int logs;
	struct profile_cli cli;
	struct diff_options diff;
	bool all;
	enum form form;
};

enum { BY = 256, VALUE, MIN_CHANGE, NO_RENAMES, AS_JSON, AS_MARKDOWN, ALL };

static const struct argp_option options[] = {
	{ "by", BY, "WHAT", 0, "Compare by function, stack, line, file or module [function]", 0 },
	{ "value", VALUE, "VALUE", 0,
	  "Compare this figure: peak, calls, total, live, leaked ... [peak]", 0 },
	{ "min-change", MIN_CHANGE, "SIZE|PERCENT%", 0,
	  "Ignore smaller changes, such as 4K or 2%; a size and a percentage may be given", 0 },
	{ "no-renames", NO_RENAMES, NULL, 0, "Do not look for functions that were renamed", 0 },
	{ "all", ALL, NULL, 0, "Print every row, even without a change", 0 },
	{ "json", AS_JSON, NULL, 0, "Print one JSON object", 1 },
	{ "markdown", AS_MARKDOWN, NULL, 0, "Print tables for a comment, in Markdown", 1 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static void set_min_change(struct diff_options *o, const char *arg, struct argp_state *state)
{
	size_t n = strlen(arg);
	struct error err;
	char *end;

	if (n && arg[n - 1] == '%') {
		o->least_percent = strtod(arg, &end);
		if (end != arg + n - 1 || end == arg || !(o->least_percent >= 0))
			argp_error(state,
				   "invalid --min-change '%s': expected a size such as 4K or a "
				   "percentage such as 2%%",
				   arg);
	} else if (parse_size(arg, &o->least, &err)) {
		argp_error(state, "invalid --min-change: %s; expected a size or a percentage",
			   err.text);
	}
}

static void add_log(struct options *o, const char *arg, struct argp_state *state)
{
	if (o->logs == DIFF_SIDES)
		argp_error(state, "expected two traces, got '%s' as well", arg);
	else
		o->log[o->logs++] = arg;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct error err;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->cli;
		return 0;
	case BY:
		if (diff_by_find(arg, &o->diff.by, &err))
			argp_error(state, "%s", err.text);
		return 0;
	case VALUE:
		if (profile_value_find(arg, &o->diff.value, &err))
			argp_error(state, "%s", err.text);
		return 0;
	case MIN_CHANGE:
		set_min_change(&o->diff, arg, state);
		return 0;
	case NO_RENAMES:
		o->diff.no_renames = true;
		return 0;
	case ALL:
		o->all = true;
		return 0;
	case AS_JSON:
		o->form = JSON;
		return 0;
	case AS_MARKDOWN:
		o->form = MARKDOWN;
		return 0;
	case ARGP_KEY_ARG:
		add_log(o, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (o->logs < DIFF_SIDES)
			argp_error(state,
				   "which two traces? for example: mprof diff old.log new.log");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &profile_argp, 0, NULL, 0 },
	{ &memory_argp, 0, NULL, 0 },
	{ &terminal_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = children,
	.args_doc = "BEFORE.log AFTER.log",
	.doc = "Shows what changed from one trace to another. Sites are matched by the names of "
	       "functions and modules, so builds, lines and addresses may differ.",
};

static int print(const struct diff *d, const struct options *o, struct error *err)
{
	const struct diff_print how = { { o->log[0], o->log[1] }, o->all };

	switch (o->form) {
	case TEXT:
		pager_start();
		return diff_text(d, &how, stdout, err);
	case MARKDOWN:
		return diff_markdown(d, &how, stdout, err);
	case JSON:
		break;
	}
	return json_print(stdout, diff_json(d, &how), err);
}

static int compare(struct options *o, struct error *err)
{
	struct two_profiles two;
	struct diff d = { .groups = 0 };
	int status = two_profiles_make(&two, o->log, &o->cli.options, err), side;

	for (side = 0; !status && side < DIFF_SIDES; side++)
		if (profile_value_check(two.trace[side], o->diff.value, err))
			status = STATUS_USAGE;
	if (!status && (diff_make(&d, &two.profile[DIFF_BEFORE], &two.profile[DIFF_AFTER], &o->diff,
				  err) < 0 ||
			print(&d, o, err) < 0))
		status = STATUS_FOUND;
	if (!status)
		two_profiles_tell(&two);
	diff_release(&d);
	two_profiles_release(&two);
	return status ? cmd_error(status, "%s", err->text) : STATUS_OK;
}

int cmd_diff(int argc, char **argv)
{
	struct options o = { .diff = { .value = VALUE_PEAK } };
	struct error err = { "" };
	int status = STATUS_USAGE;

	profile_cli_init(&o.cli);
	if (!usage_parse(&argp, argc, argv, 0, &o))
		status = compare(&o, &err);
	profile_cli_release(&o.cli);
	return status;
}
