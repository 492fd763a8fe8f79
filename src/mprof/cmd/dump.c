/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * dump.c - `mprof dump`: the calls of a trace, one line each.
 */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../print/print_dump.h"
#include "argument.h"
#include "../util/pager.h"
#include "cmd.h"
#include "foreign.h"
#include "usage.h"

struct options {
	const char *log;
	struct dump_filter filter;
	bool json;
};

enum { JSON_LINES = 256, PROCESS, PID, THREAD, FUNCTION, FROM, TO, MARKS, NUMBERS, STACKS, FILES };

static const struct argp_option options[] = {
	{ "json-lines", JSON_LINES, NULL, 0, "Print one JSON object for each call", 0 },
	{ "process", PROCESS, "NUMBER", 0, "Only this process, by its number in the run", 1 },
	{ "pid", PID, "PID", 0, "Only the process with this pid", 1 },
	{ "thread", THREAD, "NUMBER", 0, "Only this thread, by its number in the run", 1 },
	{ "function", FUNCTION, "NAME", 0, "Only calls of this function; may be repeated", 1 },
	{ "from", FROM, "SECONDS", 0, "Only calls from this time on, since the start of the run",
	  1 },
	{ "to", TO, "SECONDS", 0, "Only calls before this time", 1 },
	{ "marks", MARKS, NULL, 0, "Print threads, forks, execs and losses, too, in lines with #",
	  1 },
	{ "numbers", NUMBERS, NULL, 0, "Print the number of each event first, as in mprof report",
	  1 },
	{ "stacks", STACKS, NULL, 0,
	  "Print the stack of each call as @NUMBER, defined in lines before its first use", 1 },
	{ "files", FILES, NULL, 0,
	  "Print the program and libraries that were loaded first, in lines with %", 1 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static void add_function(struct options *o, const char *name, struct argp_state *state)
{
	static const char *const names[] = {
#define MPROF_FUNCTION(id, code, name, class) name,
#include <mprof/functions.def>
		NULL,
	};
	static const uint8_t codes[] = {
#define MPROF_FUNCTION(id, code, name, class) code,
#include <mprof/functions.def>
	};
	struct error err;
	int i = words_among("--function", name, names, &err);

	if (i < 0)
		argp_error(state, "%s", err.text);
	else
		o->filter.functions |= 1u << codes[i];
}

static int64_t seconds(const char *arg, struct argp_state *state)
{
	char *end;
	double s = strtod(arg, &end);

	if (*end || end == arg || !(s > -9e9 && s < 9e9))
		argp_error(state, "invalid time '%s': expected seconds, such as 1.5", arg);
	return (int64_t)(s * 1e9 + (s < 0 ? -0.5 : 0.5));
}

static error_t parse_filter(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case PROCESS:
		o->filter.process = argument_number(arg, "process", state);
		return 0;
	case PID:
		o->filter.pid = (int32_t)argument_number(arg, "pid", state);
		return 0;
	case THREAD:
		o->filter.thread = argument_number(arg, "thread", state);
		return 0;
	case FUNCTION:
		add_function(o, arg, state);
		return 0;
	case FROM:
		o->filter.from_ns = seconds(arg, state);
		return 0;
	case TO:
		o->filter.to_ns = seconds(arg, state);
		return 0;
	case MARKS:
		o->filter.marks = true;
		return 0;
	case NUMBERS:
		o->filter.numbers = true;
		return 0;
	case STACKS:
		o->filter.stacks = true;
		return 0;
	case FILES:
		o->filter.files = true;
		return 0;
	default:
		return argument_file(key, arg, state, &o->log,
				     "which trace? for example: mprof dump mprof.log");
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case JSON_LINES:
		o->json = true;
		return 0;
	default:
		return parse_filter(key, arg, state);
	}
}

static const struct argp_child children[] = {
	{ &memory_argp, 0, NULL, 0 },
	{ &terminal_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = children,
	.args_doc = "LOG",
	.doc = "Prints the calls of a trace in order of time, one line each, with fields separated "
	       "by tabs: seconds since the start, process number/pid, thread number, function, "
	       "arguments and result. Sizes are decimal, addresses hexadecimal.",
};

int cmd_dump(int argc, char **argv)
{
	struct options o = { .filter = { .from_ns = INT64_MIN, .to_ns = INT64_MAX } };
	struct error err;
	struct trace *t;
	int ret;

	if (usage_parse(&argp, argc, argv, 0, &o))
		return STATUS_USAGE;
	if (import_open(&t, o.log, MPROF_MAGIC_TRACE, &err) < 0)
		return cmd_error(STATUS_FILE, "%s", err.text);
	if (!o.json)
		pager_start();
	ret = dump_print(t, &o.filter, o.json, stdout, &err);
	if (ret >= 0)
		foreign_tell_times(t);
	trace_close(t);
	if (ret < 0 && pager_left())
		return STATUS_OK;
	if (ret > 0)
		cmd_warn("%s", err.text);
	if (ret == -EINVAL)
		return cmd_error(STATUS_USAGE, "%s", err.text);
	return ret < 0 ? cmd_error(STATUS_FOUND, "%s", err.text) : STATUS_OK;
}
