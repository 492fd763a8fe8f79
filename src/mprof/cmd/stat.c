/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stat.c - `mprof stat`: runs a program and counts; `perf stat` for malloc.
 *
 * The answer is written after the program has ended, on stdout or to -o FILE.
 * With -r the program runs N times: figures are means, with their spread.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../trace/functions.h"
#include "../util/alloc.h"
#include "../util/format.h"
#include "../print/json_rows.h"
#include "../print/print_table.h"
#include "../util/spread.h"
#include "answer.h"
#include "run_messages.h"
#include "../util/styled.h"
#include "cmd.h"
#include "run_keys.h"
#include "../run/settings.h"
#include "counts.h"
#include "input.h"
#include "usage.h"

#define RUNS_MAX      1000
#define THREADS_SHOWN 10

/* The beginnings of answers, by which they are recognised. */
#define ANSWER_TEXT "Calls to the allocator by"
#define ANSWER_JSON "{ \"command\": ["

struct options {
	const char *answer, *counts;
	unsigned runs;
	bool json, all;
	struct run_keys keys;
	char **argv;
};

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_FILE('o', "output", "FILE", answer, "Write the answer to FILE instead of stdout"),
	OPTION_FILE('c', "counts", "COUNTS", counts, "Keep the counts in this file [not kept]"),
	OPTION_NUMBER('r', "repeat", "N", runs, 1, RUNS_MAX, "Run N times; print means and spread",
		      .example = "5"),
	OPTION_JSON(json),
	OPTION_FLAG(0, "all", all, "Print all threads, not only the first ten of each process"),
	OPTION_ALLOCATOR(keys.allocator),
	OPTION_RUN_SETTINGS(keys),
	OPTION_END,
};

static int check(void *to, struct error *err)
{
	const struct options *o = to;

	return run_keys_check(&o->keys, o->argv,
			      "no program given; for example: mprof stat -- ls -l", err);
}

static const struct usage usage = {
	.options = options,
	.args = "[--] PROGRAM [ARGS]",
	.doc =
	    "Runs PROGRAM and counts the calls that it and its children make to malloc and related "
	    "functions, by function, process and thread. Also shows the time and memory that the "
	    "program used.\vThe exit status is that of the program.",
	.words = USAGE_PROGRAM,
	.at = offsetof(struct options, argv),
	.check = check,
};

/* Sums over all runs; counts and result are from the last one. */
struct stat {
	struct spread calls[MPROF_FN_MAX], bytes[MPROF_FN_MAX], failed[MPROF_FN_MAX];
	struct spread total, wall, user, system, allocator, rss, minor, major, voluntary,
	    involuntary;
	struct counts counts;
	struct run_result result;
	unsigned runs;
	int end;	/* as in wait(2), of the first run that failed, or else 0 */
	unsigned ended; /* how many ended so */
};

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void add_run(struct stat *s)
{
	const struct rusage *u = &s->result.end.usage;
	const struct counts_sum *all = &s->counts.all;
	unsigned i;

	for (i = 0; i < MPROF_FN_MAX; i++) {
		spread_add(&s->calls[i], (double)all->fn[i].calls);
		spread_add(&s->bytes[i], (double)all->fn[i].bytes);
		spread_add(&s->failed[i], (double)all->fn[i].failed);
	}
	spread_add(&s->total, (double)all->calls);
	spread_add(&s->wall, (double)s->result.end.wall_ns / 1e9);
	spread_add(&s->user, seconds_of(u->ru_utime));
	spread_add(&s->system, seconds_of(u->ru_stime));
	if (s->counts.times.timed)
		spread_add(&s->allocator, s->counts.times.ns / 1e9);
	spread_add(&s->rss, (double)u->ru_maxrss * 1024);
	spread_add(&s->minor, (double)u->ru_minflt);
	spread_add(&s->major, (double)u->ru_majflt);
	spread_add(&s->voluntary, (double)u->ru_nvcsw);
	spread_add(&s->involuntary, (double)u->ru_nivcsw);
	s->runs++;
	if (!s->end && s->result.end.status) {
		s->end = s->result.end.status;
		s->ended = 0;
	}
	s->ended += s->result.end.status == s->end;
}

/* Prints "  ( +- 1.25% )", or nothing after one run. */
static void print_spread(FILE *out, const struct spread *s)
{
	if (s->n > 1)
		fprintf(out, "  ( +- %.2f%% )", spread_percent(s));
	fputc('\n', out);
}

/* Returns the mean, in seconds of CPU per second. */
static struct text mean_text(const struct spread *s, double seconds)
{
	return format_count(seconds > 0 ? (uint64_t)llround(spread_mean(s) / seconds) : 0);
}

static void function_row(struct table *t, const char *name, const struct spread *calls,
			 const struct spread *bytes, const struct spread *failed, double wall)
{
	table_cells(t, name, mean_text(calls, 1).s, bytes ? mean_text(bytes, 1).s : "",
		    failed ? mean_text(failed, 1).s : "", mean_text(calls, wall).s);
	if (t->title[5])
		table_cell(t, "( +- %.2f%% )", spread_percent(calls));
}

static void print_functions(FILE *out, const struct stat *s)
{
	struct table t = TABLE("<function", ">calls", ">bytes requested", ">failed", ">calls/s",
			       s->runs > 1 ? "<spread" : NULL);
	double wall = spread_mean(&s->wall);
	unsigned i;

	for (i = 0; i < MPROF_FN_MAX; i++)
		if (function_name(i) && spread_mean(&s->calls[i]))
			function_row(&t, function_name(i), &s->calls[i], &s->bytes[i],
				     &s->failed[i], wall);
	function_row(&t, "Total", &s->total, NULL, NULL, wall);
	table_print(&t, out);
}

static void print_resource(FILE *out, const char *what, const char *unit, int decimals,
			   const struct spread *s)
{
	if (decimals)
		fprintf(out, "  %16.*f %-4s %s", decimals, spread_mean(s), unit, what);
	else
		fprintf(out, "  %16s %-4s %s", mean_text(s, 1).s, unit, what);
	print_spread(out, s);
}

static void print_resources(FILE *out, const struct stat *s)
{
	struct spread mib = s->rss;

	spread_scale(&mib, 1.0 / (1 << 20));
	print_resource(out, "wall clock", "s", 6, &s->wall);
	print_resource(out, "user", "s", 6, &s->user);
	print_resource(out, "system", "s", 6, &s->system);
	if (s->counts.times.timed)
		print_resource(out, "in the allocator, estimated", "s", 6, &s->allocator);
	print_resource(out, "peak resident set", "MiB", 2, &mib);
	print_resource(out, "minor page faults", "", 0, &s->minor);
	print_resource(out, "major page faults", "", 0, &s->major);
	print_resource(out, "voluntary context switches", "", 0, &s->voluntary);
	print_resource(out, "involuntary context switches", "", 0, &s->involuntary);
}

static void print_text(FILE *out, const struct stat *s, char **argv, bool all)
{
	int i, status = s->end;

	fprintf(out, "\n" ANSWER_TEXT " '");
	for (i = 0; argv[i]; i++)
		fprintf(out, "%s%s", i ? " " : "", *argv[i] ? argv[i] : "''");
	fprintf(out, "'");
	if (WIFSIGNALED(status))
		fprintf(out, ", killed by signal %d (%s)", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else
		fprintf(out, ", exit status %d", WEXITSTATUS(status));
	if (s->ended < s->runs)
		fprintf(out, " in %u of %u runs", s->ended, s->runs);
	else if (s->runs > 1)
		fprintf(out, " (%u runs)", s->runs);
	fprintf(out, "\n\n");
	print_functions(out, s);
	fprintf(out, "\n%s, %s with calls%s\n",
		format_many(s->counts.processes, "process", "processes").s,
		format_many(s->counts.all_threads, "thread", "threads").s,
		s->runs > 1 ? ", in the last run" : "");
	counts_print(out, &s->counts, all ? 0 : THREADS_SHOWN);
	fputc('\n', out);
	print_resources(out, s);
}

static int64_t rounded(const struct spread *s)
{
	return (int64_t)(spread_mean(s) + 0.5);
}

static void mean_calls(struct stat *s)
{
	double bytes = 0, failed = 0;
	unsigned i;

	for (i = 0; i < MPROF_FN_MAX; i++) {
		bytes += spread_mean(&s->bytes[i]);
		failed += spread_mean(&s->failed[i]);
		s->counts.all.fn[i].calls = (uint64_t)rounded(&s->calls[i]);
		s->counts.all.fn[i].bytes = (uint64_t)rounded(&s->bytes[i]);
		s->counts.all.fn[i].failed = (uint64_t)rounded(&s->failed[i]);
	}
	s->counts.all.calls = (uint64_t)rounded(&s->total);
	s->counts.all.bytes = (uint64_t)(bytes + 0.5);
	s->counts.all.failed = (uint64_t)(failed + 0.5);
}

#include "../json/stat.def"

/* Makes a new directory for a counts file that is not kept; NULL after a message. */
static char *make_directory(void)
{
	const char *base = getenv("TMPDIR");
	char *path = must_printf("%s/mprof-XXXXXX", base && *base ? base : "/tmp");

	if (mkdtemp(path))
		return path;
	cmd_error(0,
		  "cannot create a directory for the counts, '%s': %s; choose another place with "
		  "-c COUNTS",
		  path, strerror(errno));
	free(path);
	return NULL;
}

/* Makes one run and adds it to s.  STATUS_OK, or why it was refused. */
static int run_once(struct stat *s, const struct run_plan *plan)
{
	struct error err;
	int code;

	counts_release(&s->counts);
	run_release(&s->result);
	code = run_program(plan, &s->result, &err);
	if (code)
		return run_messages_refused(&s->result, code, &err);
	if (s->result.path && counts_read(&s->counts, s->result.path, &err))
		cmd_warn("%s", err.text);
	add_run(s);
	return STATUS_OK;
}

static int answer(struct stat *s, const struct options *o)
{
	struct export_file file;
	struct error err;
	int ret = export_file_open(&file, o->answer, &err);

	if (ret < 0)
		return cmd_error(STATUS_FOUND, "%s", err.text);
	if (!o->json) {
		terminal_fit();
		print_text(o->answer ? file.out : stdout, s, o->argv, o->all);
	} else {
		mean_calls(s);
		json_print(file.out, JSON_NEW(stat, s, o->argv));
	}
	if (answer_done(&file, ret, &err) < 0)
		return cmd_error(STATUS_FOUND, "%s", err.text);
	return STATUS_OK;
}

/* Checks files before anything is started. */
static int check_files(const struct options *o, const struct run_plan *plan)
{
	static const struct answer_kind kind = { ANSWER_TEXT, ANSWER_JSON };
	struct error err;

	if (o->answer && o->counts && target_same(o->answer, o->counts))
		return cmd_error(STATUS_USAGE, "-o and -c name the same file '%s'", o->counts);
	if ((o->counts && run_check(plan, &err)) ||
	    (o->answer && answer_look(o->answer, &kind, &err)))
		return cmd_error(STATUS_USAGE, "%s", err.text);
	return STATUS_OK;
}

static int run_all(const struct options *o, const struct run_plan *plan)
{
	struct stat s = { .result = { .target = { .claim = -1 } } };
	struct input input = input_before();
	unsigned i;
	int status = STATUS_OK, written;

	for (i = 0; i < o->runs && !status; i++) {
		if (i)
			input_again(&input);
		run_undo(&s.result); /* only the last run's counts are kept */
		status = run_once(&s, plan);
		if (!status && run_messages_interrupted(&s.result))
			break;
	}
	if (!status) {
		run_messages_tell(plan, &s.result);
		run_messages_own(&s.counts.own, &s.result);
		written = answer(&s, o);
		s.result.end.status = s.end;
		status = run_messages_status(&s.result);
		status = status ? status : written;
	}
	counts_release(&s.counts);
	run_release(&s.result);
	return status;
}

static int run_kept_or_not(const struct options *o, struct run_plan *plan)
{
	char *room = o->counts ? NULL : make_directory(), *path = NULL;
	int status = STATUS_OK;

	if (!room && !o->counts)
		return STATUS_FOUND;
	if (room)
		path = must_printf("%s/counts", room);
	plan->discards = room;
	if (!run_messages_plan(plan, o->argv, "Count", CONF_COUNTS_PATH,
			       o->counts ? o->counts : path) ||
	    !run_keys_set(plan, &o->keys, "Count", CONF_COUNTS_PATH, NULL))
		status = STATUS_USAGE;
	else if (o->keys.show)
		settings_print(&plan->conf, stdout);
	else
		status = check_files(o, plan);
	if (!status && !o->keys.show)
		status = run_all(o, plan);
	if (room) {
		unlink(path);
		rmdir(room);
	}
	free(path);
	free(room);
	return status;
}

int cmd_stat(int argc, char **argv)
{
	struct options o = { .runs = 1 };
	struct run_plan plan = { 0 };
	int status;

	if (usage_take(&usage, argc, argv, &o))
		return STATUS_USAGE;
	status = run_kept_or_not(&o, &plan);
	run_messages_release(&plan);
	run_keys_release(&o.keys);
	return status;
}
