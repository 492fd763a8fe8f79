/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * check.c - `mprof check`: a trace held against limits, for scripts and CI.
 */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../print/print_check.h"
#include "../export/exports.h"
#include "../util/ranges.h"
#include "argument.h"
#include "cmd.h"
#include "profile_options.h"
#include "two_profiles.h"
#include "usage.h"

#define TOLERANCE 5 /* percent, when --tolerance does not say */

struct options {
	const char *log[DIFF_SIDES]; /* the baseline's, the trace's */
	struct profile_cli cli;
	struct check_options check;
	struct check_limit *limit;
	bool all, json;
	const char *junit, *markdown;
};

enum {
	MAX = 256, /* + enum profile_value */
	NO_NEW_LEAKS = MAX + VALUE_COUNT,
	BASELINE,
	TOLERANCE_KEY,
	ALLOW_LOST,
	ALLOW_MISSING,
	JUNIT,
	MARKDOWN,
	AS_JSON,
	ALL,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Limits for the run, or for stacks through a FUNCTION:", 1 },
	{ "max-peak", MAX + VALUE_PEAK, "[FUNCTION=]SIZE", 0, "Limit bytes at the peak of the run",
	  1 },
	{ "max-live", MAX + VALUE_LIVE, "[FUNCTION=]SIZE", 0, "Limit bytes never freed", 1 },
	{ "max-leaked", MAX + VALUE_LEAKED, "[FUNCTION=]SIZE", 0,
	  "Limit bytes never freed and not suppressed", 1 },
	{ "max-calls", MAX + VALUE_CALLS, "[FUNCTION=]N", 0, "Limit calls that allocate", 1 },
	{ "max-total", MAX + VALUE_TOTAL, "[FUNCTION=]SIZE", 0, "Limit bytes allocated in total",
	  1 },
	{ "max-temporary", MAX + VALUE_TEMPORARY, "[FUNCTION=]N", 0,
	  "Limit calls whose block is freed at once", 1 },
	{ "allow-lost", ALLOW_LOST, NULL, 0, "Do not fail if calls were lost", 1 },
	{ "allow-missing", ALLOW_MISSING, NULL, 0, "Accept a FUNCTION that is in no stack", 1 },
	{ NULL, 0, NULL, 0, "Comparison with an earlier trace:", 2 },
	{ "baseline", BASELINE, "LOG", 0, "Fail if calls, total, peak or leaked bytes grew", 2 },
	{ "tolerance", TOLERANCE_KEY, "PERCENT", 0, "Allow them to grow by this much [5]", 2 },
	{ "no-new-leaks", NO_NEW_LEAKS, NULL, 0, "Fail if any call stack leaks more", 2 },
	{ NULL, 0, NULL, 0, "Output:", 3 },
	{ "all", ALL, NULL, 0, "Print checks that passed, too, and each new leak", 3 },
	{ "json", AS_JSON, NULL, 0, "Print one JSON object", 3 },
	{ "junit", JUNIT, "FILE", 0, "Write JUnit XML to FILE", 3 },
	{ "markdown", MARKDOWN, "FILE", 0, "Write a Markdown table for a comment to FILE", 3 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

/* ---- words ---- */

static uint64_t amount(enum profile_value value, const char *arg, struct argp_state *state)
{
	struct error err;
	uint64_t n = 0;

	if (*profile_value_unit(value) == 'b') {
		if (parse_size(arg, &n, &err))
			argp_error(state, "%s", err.text);
		return n;
	}
	if (parse_whole(arg, 0, UINT64_MAX, &n))
		argp_error(state, "invalid number of calls '%s': expected a number such as 1000",
			   arg);
	return n;
}

/* [FUNCTION=]AMOUNT; operators of C++ have = in their names, amounts never. */
static void add_limit(struct options *o, enum profile_value value, char *arg,
		      struct argp_state *state)
{
	struct check_limit *grown = reallocarray(o->limit, o->check.limits + 1, sizeof(*o->limit));
	char *equals = strrchr(arg, '=');

	if (!grown) {
		argp_failure(state, STATUS_FOUND, ENOMEM, "options");
		return;
	}
	o->limit = grown;
	o->check.limit = grown;
	grown[o->check.limits++] = (struct check_limit){
		.value = value,
		.function = equals ? strndup(arg, (size_t)(equals - arg)) : NULL,
		.most = amount(value, equals ? equals + 1 : arg, state),
	};
}

static double percent(const char *arg, struct argp_state *state)
{
	char *end;
	double p = strtod(arg, &end);

	if (*end == '%')
		end++;
	if (*end || end == arg || !(p >= 0 && p < 1e6))
		argp_error(state, "invalid --tolerance '%s': expected a percentage such as 5", arg);
	return p;
}

static void check_words(const struct options *o, struct argp_state *state)
{
	if (o->check.no_new_leaks && !o->log[DIFF_BEFORE])
		argp_error(state, "--no-new-leaks needs an earlier trace: --baseline LOG");
	if (!o->check.limits && !o->log[DIFF_BEFORE])
		argp_error(state,
			   "nothing to check: --max-peak SIZE, --max-calls N, --baseline LOG ..."
			   " say what");
}

static error_t parse_answer(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ALLOW_LOST:
		o->check.allow_lost = true;
		return 0;
	case ALLOW_MISSING:
		o->check.allow_missing = true;
		return 0;
	case ALL:
		o->all = true;
		return 0;
	case AS_JSON:
		o->json = true;
		return 0;
	case JUNIT:
		o->junit = arg;
		return 0;
	case MARKDOWN:
		o->markdown = arg;
		return 0;
	default:
		return argument_file(
		    key, arg, state, &o->log[DIFF_AFTER],
		    "which trace? for example: mprof check --max-peak 100M mprof.log");
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	if (key >= MAX && key < MAX + VALUE_COUNT) {
		add_limit(o, (enum profile_value)(key - MAX), arg, state);
		return 0;
	}
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->cli;
		return 0;
	case NO_NEW_LEAKS:
		o->check.no_new_leaks = true;
		return 0;
	case BASELINE:
		o->log[DIFF_BEFORE] = arg;
		return 0;
	case TOLERANCE_KEY:
		o->check.tolerance = percent(arg, state);
		return 0;
	case ARGP_KEY_END:
		check_words(o, state);
		return 0;
	default:
		return parse_answer(key, arg, state);
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
	.args_doc = "LOG",
	.doc = "Fails (exit status 1) if a trace exceeds a limit, or grew since an earlier one. "
	       "Prints one line for each check that failed.",
};

/* ---- the answer ---- */

static int to_file(const char *path, const struct checks *c, const struct check_print *how,
		   int (*print)(const struct checks *, const struct check_print *, FILE *,
				struct error *),
		   struct error *err)
{
	struct export_file f;
	int ret;

	if (!path)
		return 0;
	ret = export_file_open(&f, path, err);
	if (ret < 0)
		return ret;
	return export_file_done(&f, print(c, how, f.out, err), err);
}

static int answer(const struct checks *c, const struct options *o, struct error *err)
{
	const struct check_print how = { { o->log[DIFF_BEFORE], o->log[DIFF_AFTER] }, o->all };
	int ret = o->json ? json_print(stdout, check_json(c, &how), err)
			  : check_text(c, &how, stdout, err);

	if (!ret)
		ret = to_file(o->junit, c, &how, check_junit, err);
	if (!ret)
		ret = to_file(o->markdown, c, &how, check_markdown, err);
	return ret;
}

static int check(struct options *o)
{
	struct two_profiles two;
	struct checks c = { .check = NULL };
	struct error err = { "" };
	int status = two_profiles_make(&two, o->log, &o->cli.options, &err);
	struct profile *baseline = two.made[DIFF_BEFORE] ? &two.profile[DIFF_BEFORE] : NULL;
	int ret = 0;

	if (!status)
		ret = checks_make(&c, &two.profile[DIFF_AFTER], baseline, &o->check, &err);
	if (!status && !ret)
		ret = answer(&c, o, &err);
	if (ret)
		status = ret == -EINVAL ? STATUS_USAGE : STATUS_FOUND;
	if (status)
		cmd_error(status, "%s", err.text);
	else if (c.failed)
		status = STATUS_FOUND;
	if (!*err.text)
		two_profiles_tell(&two);
	checks_release(&c);
	two_profiles_release(&two);
	return status;
}

int cmd_check(int argc, char **argv)
{
	struct options o = { .check = { .tolerance = TOLERANCE } };
	int status = STATUS_USAGE;
	size_t i;

	profile_cli_init(&o.cli);
	if (!usage_parse(&argp, argc, argv, 0, &o))
		status = check(&o);
	profile_cli_release(&o.cli);
	for (i = 0; i < o.check.limits; i++)
		free((char *)o.limit[i].function);
	free(o.limit);
	return status;
}
