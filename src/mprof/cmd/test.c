/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * test.c - `mprof test "COMMAND"`, which is `mprof -t "COMMAND"`: counts, then
 * records with room for as many events as were counted, then reports.
 *
 * The command runs twice.  Differences between the two runs are reported, because the report covers
 * only the second one.
 */
#include "forms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "../print/quote.h"
#include "../util/format.h"
#include "run_keys.h"
#include "run_messages.h"
#include "cmd.h"
#include "counts.h"
#include "input.h"
#include "record.h"
#include "event_count.h"
#include "usage.h"
#include "../util/memory.h"
#include "../util/styled.h"

#define RECORDS_PER_THREAD 100 /* records for a thread besides its calls */
#define CACHE_RECORDS	   100

struct options {
	const char *counts, *log;
	bool plain;
	struct run_keys keys;
	char **argv;
};

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_FILE('c', "counts", "COUNTS", counts, "Write the counts to COUNTS [./mprof.counts]"),
	OPTION_FILE('l', "log", "LOG", log, "Write the trace to LOG [./mprof.log]"),
	OPTION_FLAG(0, "no-compress", plain, "Do not compress the trace"),
	OPTION_ALLOCATOR(keys.allocator),
	OPTION_RUN_STACKS(keys),
	OPTION_RUN_SETTINGS(keys),
	OPTION_END,
};

static const struct usage usage = {
	.options = options,
	.args = "\"SHELL COMMAND\"\n[--] PROGRAM ARGS...",
	.doc = "Runs a command twice, first to count its calls and then to record them, and "
	       "reports on the second run. A single argument is a shell command line; several are "
	       "a program and its arguments.\vThe exit status is that of the second run.",
	.words = USAGE_PROGRAM,
	.at = offsetof(struct options, argv),
	.missing = "no command given; for example: mprof test \"ls -l\"",
};

/* The counts, and how the run that counted ended. */
struct counted {
	struct counts counts;
	int status;
	bool stop; /* true if it must not run again */
};

static void say_first(const struct program *program)
{
	fputs("mprof: run 1 of 2: counting calls\n", stderr);
	run_messages_starting(program);
}

static void say_second(const struct program *program)
{
	fputs("mprof: run 2 of 2: recording every call\n", stderr);
	run_messages_starting(program);
}

/* Plans the file of one of the runs, with the settings of both. */
static bool plan_run(struct run_plan *plan, char **argv, const struct run_keys *keys,
		     const char *mode, enum conf_key file, const char *path,
		     void (*starting)(const struct program *))
{
	const bool good = run_messages_plan(plan, argv, NULL, CONF_KEYS, NULL) &&
			  run_keys_set(plan, keys, mode, file, path);

	plan->starting = plan->quiet ? NULL : starting;
	return good;
}

/* Should it not run again?  Then the answer is what it did until then.  line: a shell ran it. */
static bool stops(const struct run_result *r, const struct counts *counts, bool line)
{
	if (line && run_status(r) == STATUS_NOT_FOUND) {
		fputs("mprof: the shell did not find the command, so the second run is skipped\n",
		      stderr);
		return true;
	}
	if (run_messages_interrupted(r)) {
		fputs("mprof: interrupted, so the second run is skipped; the calls counted up to "
		      "then:\n",
		      stderr);
		counts_print(stdout, counts, 0);
		return true;
	}
	if (!*r->program.why_not || counts->all.calls)
		return false;
	fputs("mprof: the second run is skipped, because nothing would be recorded\n", stderr);
	return true;
}

static int count(struct counted *counted, char **argv, bool line, const struct run_keys *keys,
		 const char *path)
{
	struct run_plan plan = { 0 };
	struct run_result result;
	struct error err;
	int status = STATUS_USAGE, code;

	if (plan_run(&plan, argv, keys, "Count", CONF_COUNTS_PATH, path, say_first)) {
		code = run_program(&plan, &result, &err);
		status = code ? run_messages_refused(&result, code, &err) : STATUS_OK;
		if (!code) {
			counted->status = result.end.status;
			run_messages_tell(&plan, &result);
			if (result.path && counts_read(&counted->counts, result.path, &err))
				cmd_warn("%s", err.text);
			counted->stop = stops(&result, &counted->counts, line);
			if (counted->stop)
				status = run_messages_status(&result);
			run_release(&result);
		}
	}
	run_messages_release(&plan);
	return status;
}

/* ---- two runs that are not the same ---- */

static void say_status(char *text, size_t size, int status)
{
	if (WIFSIGNALED(status))
		snprintf(text, size, "was killed by signal %d", WTERMSIG(status));
	else
		snprintf(text, size, "ended with status %d", WEXITSTATUS(status));
}

/* Do they differ by more than a tenth?  Less is usual: addresses and times differ from run to
 * run. */
static bool differ(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) > (a > b ? a : b) / 10;
}

/* Quotes a word for a shell. */
static void put_word(const char *word, bool plain)
{
	const char *harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			       "%+,-./:=@_ ";

	if (plain && *word && !word[strspn(word, harmless)]) {
		fputs(word, stdout);
		return;
	}
	putchar('\'');
	for (; *word; word++)
		fputs(*word == '\'' ? "'\\''" : (char[]){ *word, 0 }, stdout);
	putchar('\'');
}

static void put_command(char **argv, bool line)
{
	const char *word = argv[2];
	char *const *arg;

	fputs("mprof record --", stdout);
	if (line && word[strcspn(word, "|&;<>()$`\\\"'*?[#~\n{}!")]) {
		fputs(" sh -c ", stdout);
		put_word(word, false);
	} else if (line) {
		printf(" %s", word);
	} else {
		for (arg = argv; *arg; arg++) {
			putchar(' ');
			put_word(*arg, !strchr(*arg, ' '));
		}
	}
	putchar('\n');
}

static void put_run(const char *which, uint64_t calls, uint64_t bytes, uint64_t processes)
{
	printf("%s made %s for %s in %s", which, format_many(calls, "call", "calls").s,
	       format_bytes(bytes).s, format_many(processes, "process", "processes").s);
}

/* Called before the report, which describes only the second run. */
static void compare(const struct counted *counted, const struct run_result *r,
		    const struct event_count *event_count, char **argv, bool line)
{
	const struct counts *c = &counted->counts;
	uint64_t bytes = event_count_asked(c->all.fn);
	char first[48], second[48];

	if (counted->status != r->end.status) {
		say_status(first, sizeof(first), counted->status);
		say_status(second, sizeof(second), r->end.status);
		cmd_warn("the command %s when it was counted, and %s when it was recorded", first,
			 second);
	}
	if (event_count->ended || event_count->damaged ||
	    (!differ(c->all.calls, event_count->all + event_count->lost) &&
	     !differ(bytes, event_count->asked) && !differ(c->processes, event_count->processes)))
		return;
	terminal_fit();
	fputs("The two runs differ: ", stdout);
	put_run("run 1", c->all.calls, bytes, c->processes);
	put_run(", run 2", event_count->all, event_count->asked, event_count->processes);
	fputs(
	    ".\nThis report is about run 2. If the command cannot do the same work twice, undo its"
	    " work and record one run:\n      ",
	    stdout);
	put_command(argv, line);
}

static int report(const struct run_result *r)
{
	const char *path = cmd_path(r->path);
	int status = report_after_test(path);
	char *command = shell_command("mprof report ", path);

	fflush(stdout);
	fprintf(stderr, "mprof: the trace is %s; show the report again with: %s\n", path, command);
	free(command);
	return status;
}

static int record(const struct counted *counted, char **argv, bool line,
		  const struct run_keys *keys, const char *path, bool compress)
{
	uint64_t room =
	    counted->counts.all.calls + RECORDS_PER_THREAD * (counted->counts.all_threads + 1);
	struct run_plan plan = { .with_samples = true };
	struct run_result result;
	struct event_count event_count;
	struct error err;
	int status = STATUS_USAGE, code, reported;

	if (plan_run(&plan, argv, keys, "LogMmap", CONF_LOG_PATH, path, say_second) &&
	    !conf_set_number(&plan.conf, CONF_LOG_QTY, room, &err) &&
	    !conf_set_number(&plan.conf, CONF_CACHE_QTY, CACHE_RECORDS, &err)) {
		code = run_program(&plan, &result, &err);
		status = code ? run_messages_refused(&result, code, &err) : STATUS_OK;
		if (!code) {
			reported = result.path ? STATUS_FILE : STATUS_OK;
			if (record_finish(&plan, &result, compress ? 0 : RECORD_PLAIN,
					  &event_count)) {
				compare(counted, &result, &event_count, argv, line);
				memory_out_status(STATUS_FOUND);
				reported = report(&result);
			}
			status = run_messages_status(&result);
			status = status ? status : reported;
			run_release(&result);
		}
	}
	run_messages_release(&plan);
	return status;
}

/* Checks both files before anything is started. */
static int check_files(char **argv, const struct run_keys *keys, const char *counts,
		       const char *log)
{
	struct run_plan first = { 0 }, second = { 0 };
	struct error err;
	int status = STATUS_USAGE;

	if (plan_run(&first, argv, keys, "Count", CONF_COUNTS_PATH, counts, NULL) &&
	    plan_run(&second, argv, keys, "LogMmap", CONF_LOG_PATH, log, NULL)) {
		if (target_same(conf_get(&first.conf, CONF_COUNTS_PATH),
				conf_get(&second.conf, CONF_LOG_PATH)))
			cmd_error(0, "counts file and trace would be the same file '%s'",
				  conf_get(&second.conf, CONF_LOG_PATH));
		else if (run_check(&first, &err) || run_check(&second, &err))
			cmd_error(0, "%s", err.text);
		else
			status = STATUS_OK;
	}
	run_messages_release(&first);
	run_messages_release(&second);
	return status;
}

int test_run(char **argv, const struct run_keys *keys, const char *counts, const char *log,
	     bool compress)
{
	static char shell[] = "/bin/sh", dash_c[] = "-c";
	char *line[] = { shell, dash_c, argv[0], NULL };
	char **program = argv[1] ? argv : line;
	struct counted counted = { .status = 0 };
	struct input input = input_before();
	int status;

	if (keys->show)
		return cmd_error(STATUS_USAGE, "--show-config needs one MODE: mprof -m MODE "
					       "--show-config");
	if (program == line && !argv[0][strspn(argv[0], " \t\n")])
		return cmd_error(STATUS_USAGE, "no command given; for example: mprof -t \"ls -l\"");
	status = check_files(program, keys, counts, log);
	if (!status)
		status = count(&counted, program, program == line, keys, counts);
	if (!status && !counted.stop) {
		input_again(&input);
		status = record(&counted, program, program == line, keys, log, compress);
	}
	counts_release(&counted.counts);
	return status;
}

int cmd_test(int argc, char **argv)
{
	struct options o = { 0 };
	int status;

	if (usage_take(&usage, argc, argv, &o))
		return STATUS_USAGE;
	status = test_run(o.argv, &o.keys, o.counts, o.log, !o.plain);
	run_keys_release(&o.keys);
	return status;
}
