/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * merge_profiles.c - `mprof merge`: several profiles as one.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "../export/exports.h"
#include "../trace/combine.h"
#include "../util/format.h"
#include "argument.h"
#include "cmd.h"
#include "usage.h"

struct options {
	const char *output;
	struct argument_list from;
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "Write the merged profile to FILE", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'o':
		o->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		argument_add(&o->from, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (!o->from.count)
			argp_error(state,
				   "which profiles? for example: mprof merge a.profile b.profile"
				   " -o both.profile");
		if (!o->output)
			argp_error(state, "where to? for example: -o merged.profile");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &memory_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = children,
	.args_doc = "PROFILE... -o FILE",
	.doc = "Adds up profiles of mprof profile: of the ranks of a parallel program, of hosts, or"
	       " of several runs. Each process keeps its own figures. The order of the profiles"
	       " makes no difference, and a merged profile can be merged again."
	       "\vmprof report, export, diff and check read the result like any profile.",
};

static int merge(const struct options *o, struct error *err)
{
	struct export_file f;
	int ret = export_file_open(&f, o->output, err);

	if (ret)
		return ret;
	ret = trace_combine(f.out, o->from.item, o->from.count, err);
	return export_file_done(&f, ret, err);
}

static void tell(const char *path, size_t profiles)
{
	struct stat st;

	fprintf(stderr, "mprof: %s in %s; next: mprof report %s\n",
		text_many(profiles, "profile", "profiles").s,
		text_bytes(stat(path, &st) ? 0 : (uint64_t)st.st_size).s, cmd_path(path));
}

int cmd_merge(int argc, char **argv)
{
	struct options o = { .output = NULL };
	struct error err;
	int status = STATUS_USAGE, ret;

	if (!usage_parse(&argp, argc, argv, 0, &o)) {
		ret = merge(&o, &err);
		status = STATUS_OK;
		if (ret)
			status = cmd_error(ret == -EBADMSG || ret == -ENOENT || ret == -EACCES
					       ? STATUS_FILE
					       : STATUS_FOUND,
					   "%s", err.text);
		else
			tell(o.output, o.from.count);
	}
	free(o.from.item);
	return status;
}
