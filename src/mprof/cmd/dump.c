/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * dump.c - `mprof dump`: the calls of a trace, one line each.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../print/print_dump.h"
#include "../util/pager.h"
#include "cmd.h"
#include "missing.h"
#include "profile_options.h"
#include "running.h"
#include "usage.h"

struct options {
	const char *log;
	struct dump_filter filter;
	bool json;
};

static const char *const functions[] = {
#define MPROF_FUNCTION(id, code, name, class) name,
#include <mprof/functions.def>
	"new", "new[]", "delete", "delete[]", NULL,
};
static const uint8_t codes[] = {
#define MPROF_FUNCTION(id, code, name, class) code,
#include <mprof/functions.def>
	MPROF_FN_NEW,
	MPROF_FN_NEW_ARRAY,
	MPROF_FN_DELETE,
	MPROF_FN_DELETE_ARRAY,
};

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_FLAG(0, "json-lines", json, "Print one JSON object for each call"),
	OPTION_NUMBER(0, "process", "NUMBER", filter.process, 1, UINT32_MAX,
		      "Print only this process, by its number in the run", .once = true),
	OPTION_NUMBER(0, "pid", "PID", filter.pid, 1, INT32_MAX,
		      "Print only the process with this pid", .once = true),
	OPTION_CUSTOM(0, "thread", "NUMBER|GLOB", struct thread_choice, filter.thread,
		      &option_threads,
		      "Print only this thread, by its number in the run, or threads whose names "
		      "match GLOB",
		      .once = true),
	OPTION_WORDS(0, "function", "NAME", filter.functions, functions,
		     "Print only calls of this function; may be repeated", .codes = codes),
	OPTION_TIME(0, "from", filter.from_ns,
		    "Print only calls from this time on, since the start of the run", .once = true),
	OPTION_TIME(0, "to", filter.to_ns, "Print only calls before this time", .once = true),
	OPTION_FLAG(0, "marks", filter.marks,
		    "Also print threads, forks, execs and losses, in lines that begin with #"),
	OPTION_FLAG(0, "numbers", filter.numbers,
		    "Begin each line with the number of its event, which mprof report names"),
	OPTION_FLAG(0, "stacks", filter.stacks,
		    "Print the stack of each call as @NUMBER, defined in lines before its first "
		    "use"),
	OPTION_FLAG(0, "files", filter.files,
		    "First print the program and its libraries, in lines that begin with %"),
	OPTION_ROWS_ALONE(option_memory),
	OPTION_ROWS_ALONE(option_colour),
	OPTION_ROWS_ALONE(option_pager),
	OPTION_END,
};

static const struct usage usage = {
	.options = options,
	.args = "LOG",
	.doc = "Prints the calls of a trace in chronological order, one line each, with fields "
	       "separated "
	       "by tabs: seconds since the start, process number/pid, thread number, function, "
	       "arguments and result. Sizes are decimal, addresses hexadecimal." RUNNING_HELP,
	.words = USAGE_FILE,
	.at = offsetof(struct options, log),
	.missing = "no trace given; for example: mprof dump mprof.log",
};

int cmd_dump(int argc, char **argv)
{
	struct options o = { .filter = { .from_ns = INT64_MIN, .to_ns = INT64_MAX } };
	struct error err;
	struct trace *t;
	int ret;

	if (usage_take(&usage, argc, argv, &o))
		return STATUS_USAGE;
	if (running_find((char **)&o.log, 1))
		return STATUS_FILE;
	if (running_open(&t, o.log, MPROF_MAGIC_TRACE, &err) < 0)
		return cmd_error(STATUS_FILE, "%s", err.text);
	if (!o.json)
		pager_start();
	ret = dump_print(t, &o.filter, o.json, stdout, &err);
	if (ret >= 0) {
		missing_times(t);
		missing_names(t, &o.filter.thread);
		missing_parts(t, "printed");
	}
	trace_close(t);
	if (ret < 0 && pager_left())
		return STATUS_OK;
	if (ret > 0)
		cmd_warn("%s", err.text);
	if (ret == -EINVAL)
		return cmd_error(STATUS_USAGE, "%s", err.text);
	return ret < 0 ? cmd_error(STATUS_FOUND, "%s", err.text) : STATUS_OK;
}
