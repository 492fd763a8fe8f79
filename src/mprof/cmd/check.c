/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * check.c - `mprof check`: compares a trace with limits, for scripts and CI.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../print/print_check.h"
#include "../print/text.h"
#include "../export/exports.h"
#include "../profile/reachable.h"
#include "../util/ranges.h"
#include "../util/alloc.h"
#include "../util/styled.h"
#include "../util/pager.h"
#include "cmd.h"
#include "profile_options.h"
#include "running.h"
#include "two_profiles.h"
#include "usage.h"

#define TOLERANCE 5 /* percent, unless --tolerance says otherwise */

struct options {
	const char *log[DIFF_SIDES]; /* of the baseline, of the trace */
	struct profile_cli cli;
	struct check_options check;
	struct check_limit *limit;
	size_t limit_room;
	bool tolerance_given, all, json;
	const char *junit, *markdown;
};

/* ---- limits ---- */

/* [FUNCTION=]AMOUNT; operators of C++ have = in their names, amounts never. */
static int take_limit(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	const enum profile_value value = (enum profile_value)row->least;
	const bool bytes = *profile_value_unit(value) == 'b';
	struct options *o = to;
	const char *equals = strrchr(arg, '='), *amount = equals ? equals + 1 : arg;
	uint64_t most;

	if (bytes ? parse_size(amount, &most) : parse_whole(amount, 0, UINT64_MAX, &most))
		return option_invalid(err, row, arg, "%s",
				      bytes ? "SIZE or FUNCTION=SIZE, such as 64K or main=1.5M"
					    : "N or FUNCTION=N, such as 1000 or main=50");
	GROW(o->limit, o->check.limits + 1, o->limit_room);
	o->check.limit = o->limit;
	o->limit[o->check.limits++] = (struct check_limit){
		.value = value,
		.function = equals ? must_strndup(arg, (size_t)(equals - arg)) : NULL,
		.most = most,
	};
	return 0;
}

static const struct option_type limit_type = { "limit", take_limit, NULL, COMPLETE_NOTHING };

/* ---- options ---- */

#define LIMIT_CALLS "[FUNCTION=]N"
#define LIMIT_BYTES "[FUNCTION=]SIZE"
#define LIMIT_NS    ""
#define OPTIONS	    struct options
static const struct option_row limits[] = {
	OPTION_TITLE("Limits for the run, or for stacks through a FUNCTION:"),
#define VALUE(id, limit, blocks, roles, member, unit, add, from, json, what) \
	{ .name = (roles)&ROLE_LIMIT ? "max-" limit : NULL,                  \
	  .arg = LIMIT_##unit,                                               \
	  .help = (roles)&ROLE_LIMIT ? "Limit " what : NULL,                 \
	  .type = &limit_type,                                               \
	  .least = VALUE_##id },
#include "../pass/figures.def"
	OPTION_FLAG(0, "allow-lost", check.allow_lost, "Do not fail if calls are missing"),
	OPTION_FLAG(0, "allow-missing", check.allow_missing,
		    "Accept a FUNCTION that is in no stack"),
	OPTION_END,
};

static const struct option_row options[] = {
	OPTION_ROWS_ALONE(limits),
	OPTION_TITLE("Comparison with an earlier trace:"),
	OPTION_FILE(0, "baseline", "LOG", log[DIFF_BEFORE],
		    "Fail if calls, total, peak or leaked bytes grew"),
	OPTION_PERCENT(0, "tolerance", check.tolerance, 1e6, "Allow them to grow by this much [5]",
		       .given = OPTION_AT(tolerance_given)),
	OPTION_FLAG(0, "no-new-leaks", check.no_new_leaks, "Fail if any call stack leaks more"),
	OPTION_TITLE("Output:"),
	OPTION_FLAG(0, "all", all, "Print checks that passed, too, and each new leak"),
	OPTION_JSON(json),
	OPTION_FILE(0, "junit", "FILE", junit, "Write JUnit XML to FILE"),
	OPTION_FILE(0, "markdown", "FILE", markdown,
		    "Write a Markdown table for a comment to FILE"),
	OPTION_ROWS(option_profile, cli),
	OPTION_ROWS_ALONE(option_memory),
	OPTION_ROWS_ALONE(option_colour),
	OPTION_ROWS_ALONE(option_pager),
	OPTION_END,
};

static int check_rules(void *options, struct error *err)
{
	const struct options *o = options;
	const char *compares = o->check.no_new_leaks ? "no-new-leaks"
			       : o->tolerance_given  ? "tolerance"
						     : NULL;

	if (compares && !o->log[DIFF_BEFORE])
		return fail(err, -EINVAL, "--%s needs an earlier trace; add --baseline LOG",
			    compares);
	if (!o->check.limits && !o->log[DIFF_BEFORE])
		return fail(
		    err, -EINVAL,
		    "nothing to check; give a limit such as --max-peak SIZE, or --baseline LOG");
	return 0;
}

static const struct usage usage = {
	.options = options,
	.args = "LOG",
	.doc = "Fails (exit status 1) if a trace exceeds a limit, or grew since an earlier one. "
	       "Prints one line for each check that failed." RUNNING_HELP,
	.words = USAGE_FILE,
	.at = offsetof(struct options, log[DIFF_AFTER]),
	.missing = "no trace given; for example: mprof check --max-peak 100M mprof.log",
	.check = check_rules,
};

/* ---- the answer ---- */

static int to_file(const char *path, const struct checks *c, const struct check_print *how,
		   void (*print)(const struct checks *, const struct check_print *, FILE *),
		   struct error *err)
{
	struct export_file f;
	int ret;

	if (!path)
		return 0;
	ret = export_file_open(&f, path, err);
	if (ret < 0)
		return ret;
	print(c, how, f.out);
	return export_file_done(&f, 0, err);
}

static int answer(const struct checks *c, const struct options *o, struct error *err)
{
	const struct check_print how = { { o->log[DIFF_BEFORE], o->log[DIFF_AFTER] }, o->all };
	int ret;

	if (o->json) {
		json_print(stdout, check_json(c, &how));
	} else {
		pager_start();
		terminal_fit();
		check_text(c, &how, stdout);
	}
	ret = to_file(o->junit, c, &how, check_junit, err);
	if (!ret)
		ret = to_file(o->markdown, c, &how, check_markdown, err);
	return ret;
}

/* Were blocks of all processes examined? */
static int check_reach(const struct profile *p, struct error *err)
{
	const char *why = reachable_why_not(p->trace);
	const struct tree_process *first;
	char missed[640];
	size_t n;

	first = reachable_missed(p->trace, &p->tree, p->sites.options.filter.process, &n);
	if (!*why && !first)
		return 0;
	if (!*why)
		snprintf(missed, sizeof(missed), "%s (pid %d) was not examined: it %s",
			 text_process(first, 40).s, first->pid, text_end(first).s);
	return fail(err, -EINVAL,
		    "'%s' does not say all that is unreachable: %s%s; --allow-lost accepts that",
		    trace_path(p->trace), *why ? "a process could not be examined: " : "",
		    *why ? why : missed);
}

/* A limit on a figure that the file does not have would always pass. */
static int check_values(const struct options *o, const struct profile *p, struct error *err)
{
	for (size_t i = 0; i < o->check.limits; i++) {
		if (profile_value_check(p->trace, o->check.limit[i].value, err))
			return STATUS_USAGE;
		if (o->check.limit[i].value == VALUE_UNREACHABLE && !o->check.allow_lost &&
		    check_reach(p, err))
			return STATUS_USAGE;
	}
	return STATUS_OK;
}

/* Might other names of functions let a check fail that passed? */
static bool depends_on_names(const struct options *o)
{
	size_t i = 0;

	while (i < o->check.limits && !o->check.limit[i].function)
		i++;
	return i < o->check.limits || o->check.no_new_leaks || o->cli.filter ||
	       o->cli.options.sym.stop || o->cli.options.sym.rewrite || o->all;
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
		status = check_values(o, &two.profile[DIFF_AFTER], &err);
	if (!status)
		ret = checks_make(&c, &two.profile[DIFF_AFTER], baseline, &o->check, &err);
	if (ret)
		status = ret == -EINVAL ? STATUS_USAGE : STATUS_FOUND;
	else if (!status && answer(&c, o, &err))
		status = STATUS_FILE; /* 1 would say that a check failed */
	if (status)
		cmd_error(status, "%s", err.text);
	else if (c.failed)
		status = STATUS_FOUND;
	if (!*err.text)
		two_profiles_tell(&two, c.failed || depends_on_names(o));
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
	if (!usage_take(&usage, argc, argv, &o))
		status = running_find((char **)o.log, DIFF_SIDES);
	if (!status)
		status = check(&o);
	profile_cli_release(&o.cli);
	for (i = 0; i < o.check.limits; i++)
		free((char *)o.limit[i].function);
	free(o.limit);
	return status;
}
