/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * merge_profiles.c - `mprof merge`: several profiles as one.
 */
#include <errno.h>
#include <stdio.h>

#include "../export/exports.h"
#include "../trace/combine.h"
#include "../util/format.h"
#include "cmd.h"
#include "running.h"
#include "usage.h"

struct options {
	const char *output;
	struct arguments from;
};

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_FILE('o', "output", "FILE", output, "Write the merged profile to FILE"),
	OPTION_ROWS_ALONE(option_memory),
	OPTION_END,
};

static int check(void *options, struct error *err)
{
	const struct options *o = options;

	return o->output
		   ? 0
		   : fail(err, -EINVAL, "no output file given; for example: -o merged.profile");
}

static const struct usage usage = {
	.options = options,
	.args = "PROFILE... -o FILE",
	.doc = "Adds up profiles of mprof profile: of the ranks of a parallel program, of hosts, or"
	       " of several runs. Each process keeps its own figures. The order of the profiles"
	       " makes no difference, and a merged profile can be merged again."
	       "\vmprof report, export, diff and check read the result like any profile.",
	.words = USAGE_FILES,
	.at = offsetof(struct options, from),
	.missing =
	    "no profiles given; for example: mprof merge a.profile b.profile -o both.profile",
	.check = check,
};

static int merge(const struct options *o, struct error *err)
{
	struct export_file f;
	int ret;

	for (size_t i = 0; i < o->from.count; i++)
		if (running_is_pid(o->from.item[i]))
			return fail(
			    err, -ENOENT,
			    "'%s' is not a file, and merge does not accept a PID: 'mprof ctl %s "
			    "dump' writes what a program has so far",
			    o->from.item[i], o->from.item[i]);
	ret = export_file_open_recording(&f, o->output, err);
	if (ret)
		return ret;
	ret = trace_combine(f.out, (const char *const *)o->from.item, o->from.count, 0, err);
	return export_file_done(&f, ret, err);
}

static void tell(const char *path, size_t profiles)
{
	fprintf(stderr, "mprof: %s in %s; ", format_many(profiles, "profile", "profiles").s,
		format_bytes(cmd_file_bytes(path)).s);
	cmd_next(path);
}

int cmd_merge(int argc, char **argv)
{
	struct options o = { .output = NULL };
	struct error err;
	int status = STATUS_USAGE, ret;

	if (!usage_take(&usage, argc, argv, &o)) {
		ret = merge(&o, &err);
		status = STATUS_OK;
		if (ret == -EBADMSG || ret == -ENOENT || ret == -EACCES)
			status = cmd_error(STATUS_FILE, "%s", err.text);
		else if (ret)
			status = cmd_failed(ret, &err);
		else
			tell(o.output, o.from.count);
	}
	return status;
}
