/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * test.c - `mprof test "COMMAND"`, which is `mprof -t "COMMAND"`: counts, then
 * records with room for as many events as were counted, then reports.
 *
 * The command runs twice.  What differs between the two runs is said, because
 * the report is about the second one only.
 */
#include "test.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "after.h"
#include "cmd.h"
#include "counts.h"
#include "record.h"
#include "tally.h"

#define RECORDS_PER_THREAD 100 /* room besides its calls */
#define CACHE_RECORDS	   100

struct options {
	const char *counts, *log;
	bool plain;
	char **argv;
};

enum { NO_COMPRESS = 256 };

static const struct argp_option options[] = {
	{ "counts", 'c', "COUNTS", 0, "The counts file to write [./mprof.counts]", 0 },
	{ "log", 'l', "LOG", 0, "The trace to write [./mprof.log]", 0 },
	{ "no-compress", NO_COMPRESS, NULL, 0, "Leave the trace as it was written", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'c':
		o->counts = arg;
		return 0;
	case 'l':
		o->log = arg;
		return 0;
	case NO_COMPRESS:
		o->plain = true;
		return 0;
	case ARGP_KEY_ARG:
		o->argv = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which command? for example: mprof test \"ls -l\"");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "\"SHELL LINE\"\n[--] PROGRAM ARGS...",
	.doc = "Runs a command twice: the first time to count its calls, the second time to record"
	       " them all; then reports. One word is a line for the shell, several words are a"
	       " program and its arguments."
	       "\vThe exit status is the command's own, of the second run.",
};

/* What was counted, and how the counting run ended. */
struct counted {
	struct counts counts;
	int status;
	bool interrupted; /* then it is not recorded */
};

static int count(struct counted *counted, char **argv, const char *path)
{
	struct run_plan plan = { 0 };
	struct run_result result;
	struct error err;
	int status = STATUS_USAGE, code;

	if (after_plan(&plan, argv, "Count", CONF_COUNTS_PATH, path)) {
		code = run_program(&plan, &result, &err);
		status = code ? after_refused(&result, code, &err) : STATUS_OK;
		if (!code) {
			counted->status = result.end.status;
			after_tell(&plan, &result);
			counted->interrupted = after_interrupted(&result);
			if (counted->interrupted)
				status = after_status(&result);
			if (result.path && counts_read(&counted->counts, result.path, &err))
				cmd_warn("%s", err.text);
			run_release(&result);
		}
	}
	after_release(&plan);
	return status;
}

static void say_status(char *text, size_t size, int status)
{
	if (WIFSIGNALED(status))
		snprintf(text, size, "was killed by signal %d", WTERMSIG(status));
	else
		snprintf(text, size, "ended with status %d", WEXITSTATUS(status));
}

/* One call in a thousand more or less is usual: addresses differ from run to run. */
static bool differ(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) > (a > b ? a : b) / 1000;
}

/* The two runs, where they differ. */
static void compare(const struct counted *counted, const struct run_result *r,
		    const struct tally *tally)
{
	char first[48], second[48];
	unsigned i, shown = 0;

	if (counted->status != r->end.status) {
		say_status(first, sizeof(first), counted->status);
		say_status(second, sizeof(second), r->end.status);
		cmd_warn("the command %s when it was counted, and %s when it was recorded", first,
			 second);
	}
	for (i = 0; i < MPROF_FN_MAX; i++) {
		if (!differ(counted->counts.all.fn[i].calls, tally->calls[i]))
			continue;
		if (!shown++)
			cmd_warn("the two runs made different calls; the report is about the"
				 " recorded one");
		fprintf(stderr, "  %-20s %" PRIu64 " counted, %" PRIu64 " recorded\n",
			counts_function(i) ? counts_function(i) : "?",
			counted->counts.all.fn[i].calls, tally->calls[i]);
	}
}

static int report(const struct counted *counted, const struct run_result *r,
		  const struct tally *tally)
{
	int status;

	compare(counted, r, tally);
	status = cmd_call("report", r->path);
	fflush(stdout);
	fprintf(stderr, "mprof: the trace is %s; look again with: mprof report %s\n", r->path,
		r->path);
	return status;
}

static int record(const struct counted *counted, char **argv, const char *path, bool compress)
{
	uint64_t room =
	    counted->counts.all.calls + RECORDS_PER_THREAD * (counted->counts.all_threads + 1);
	struct run_plan plan = { .with_samples = true };
	struct run_result result;
	struct tally tally;
	struct error err;
	int status = STATUS_USAGE, code, reported;

	if (after_plan(&plan, argv, "LogMmap", CONF_LOG_PATH, path) &&
	    !conf_set_number(&plan.conf, CONF_LOG_QTY, room, &err) &&
	    !conf_set_number(&plan.conf, CONF_CACHE_QTY, CACHE_RECORDS, &err)) {
		code = run_program(&plan, &result, &err);
		status = code ? after_refused(&result, code, &err) : STATUS_OK;
		if (!code) {
			if (record_finish(&plan, &result, compress ? 0 : RECORD_PLAIN, &tally))
				reported = report(counted, &result, &tally);
			else
				reported = result.path ? STATUS_FILE : STATUS_OK;
			status = after_status(&result);
			status = status ? status : reported;
			run_release(&result);
		}
	}
	after_release(&plan);
	return status;
}

int test_run(char **argv, const char *counts, const char *log, bool compress)
{
	static char shell[] = "/bin/sh", dash_c[] = "-c";
	char *line[] = { shell, dash_c, argv[0], NULL };
	char **program = argv[1] ? argv : line;
	struct counted counted = { .status = 0 };
	int status = count(&counted, program, counts);

	if (!status && !counted.interrupted)
		status = record(&counted, program, log, compress);
	counts_release(&counted.counts);
	return status;
}

int cmd_test(int argc, char **argv)
{
	struct options o = { 0 };

	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o))
		return STATUS_USAGE;
	return test_run(o.argv, o.counts, o.log, !o.plain);
}
