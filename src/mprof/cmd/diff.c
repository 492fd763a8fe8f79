/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* diff.c - `mprof diff`: shows what changed from one trace to another. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../print/print_diff.h"
#include "../util/ranges.h"
#include "../util/pager.h"
#include "../util/styled.h"
#include "cmd.h"
#include "profile_options.h"
#include "running.h"
#include "two_profiles.h"
#include "usage.h"

struct options {
	struct arguments log;
	struct profile_cli cli;
	struct diff_options diff;
	bool all, json, markdown;
};

static int take_least(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	const size_t n = strlen(arg);
	struct diff_options *o = to;

	if (n && arg[n - 1] == '%') {
		if (!parse_fraction(arg, "%", &o->least_percent) && o->least_percent <= 1e6)
			return 0;
	} else if (!parse_size(arg, &o->least)) {
		return 0;
	}
	return option_invalid(err, row, arg, "a size such as 4K, or a percentage such as 2%%");
}

static const struct option_type least_type = { "size", take_least, NULL, COMPLETE_NOTHING };

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_WORD(0, "by", "WHAT", diff.by, words_DIFF_BY, "Compare by %s [function]"),
	OPTION_WORD(
	    0, "value", "VALUE", diff.value, profile_value_names,
	    "Compare this figure: peak, calls, total, live, leaked ... [peak; of two dumps of "
	    "one run: live]"),
	OPTION_CUSTOM(0, "min-change", "SIZE|PERCENT%", struct diff_options, diff, &least_type,
		      "Ignore smaller changes, such as 4K or 2%; a size and a percentage may be "
		      "given"),
	OPTION_FLAG(0, "no-renames", diff.no_renames,
		    "Do not look for functions that were renamed"),
	OPTION_FLAG(0, "all", all, "Print every row, even without a change"),
	OPTION_JSON(json),
	OPTION_FLAG(0, "markdown", markdown, "Print tables for a comment, in Markdown"),
	OPTION_ROWS(option_profile, cli),
	OPTION_ROWS_ALONE(option_memory),
	OPTION_ROWS_ALONE(option_colour),
	OPTION_ROWS_ALONE(option_pager),
	OPTION_END,
};

static int check(void *options, struct error *err)
{
	const struct options *o = options;

	if (o->log.count < DIFF_SIDES)
		return fail(err, -EINVAL,
			    "only one trace given; for example: mprof diff old.log new.log");
	if (o->log.count > DIFF_SIDES)
		return fail(err, -EINVAL, "unexpected argument '%s': expected two traces",
			    o->log.item[DIFF_SIDES]);
	if (o->json && o->markdown)
		return fail(err, -EINVAL, "--json and --markdown: choose one");
	return 0;
}

static const struct usage usage = {
	.options = options,
	.args = "BEFORE.log AFTER.log",
	.doc = "Shows what changed from one trace to another. Call stacks are matched by the "
	       "names of functions and modules, so builds, lines and addresses may "
	       "differ." RUNNING_HELP,
	.words = USAGE_FILES,
	.at = offsetof(struct options, log),
	.missing = "no traces given; for example: mprof diff old.log new.log",
	.check = check,
};

static void print(const struct diff *d, const struct options *o)
{
	const struct diff_print how = { { o->log.item[DIFF_BEFORE], o->log.item[DIFF_AFTER] },
					o->all };

	if (o->json) {
		json_print(stdout, diff_json(d, &how));
	} else if (o->markdown) {
		diff_markdown(d, &how, stdout);
	} else {
		pager_start();
		terminal_fit();
		diff_text(d, &how, stdout);
	}
}

/* Were processes of the run still running when this was written? */
static bool runs_on(const struct tree *tree)
{
	size_t i = 0;

	while (i < tree->processes && !tree->process[i].ran_on)
		i++;
	return i < tree->processes;
}

/* Two dumps of a process that runs on differ in what is live: its peak may be long past. */
static void choose_value(struct diff_options *o, const struct two_profiles *two)
{
	const struct mprof_file_header *before = trace_header(two->trace[DIFF_BEFORE]);
	const struct mprof_file_header *after = trace_header(two->trace[DIFF_AFTER]);

	o->one_run = runs_on(&two->profile[DIFF_BEFORE].tree) &&
		     !memcmp(before->run_id, after->run_id, sizeof(before->run_id)) &&
		     before->paused >> 1 == after->paused >> 1; /* not cleared in between */
	if (o->value == VALUE_COUNT)
		o->value = o->one_run ? VALUE_LIVE : VALUE_PEAK;
}

static int compare(struct options *o, struct error *err)
{
	struct two_profiles two;
	struct diff d = { .groups = 0 };
	int status =
		two_profiles_make(&two, (const char *const *)o->log.item, &o->cli.options, err),
	    side;

	if (!status)
		choose_value(&o->diff, &two);
	for (side = 0; !status && side < DIFF_SIDES; side++)
		if (profile_value_check(two.trace[side], o->diff.value, err))
			status = STATUS_USAGE;
	if (!status) {
		diff_make(&d, &two.profile[DIFF_BEFORE], &two.profile[DIFF_AFTER], &o->diff);
		print(&d, o);
		two_profiles_tell(&two, true);
	}
	diff_release(&d);
	two_profiles_release(&two);
	return status ? cmd_error(status, "%s", err->text) : STATUS_OK;
}

int cmd_diff(int argc, char **argv)
{
	struct options o = { .diff = { .value = VALUE_COUNT } };
	struct error err = { "" };
	int status = STATUS_USAGE;

	profile_cli_init(&o.cli);
	if (!usage_take(&usage, argc, argv, &o))
		status = running_find(o.log.item, o.log.count);
	if (!status)
		status = compare(&o, &err);
	profile_cli_release(&o.cli);
	return status;
}
