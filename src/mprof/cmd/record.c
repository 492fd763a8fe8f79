/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * record.c - `mprof record`: runs a program and keeps every call in a trace.
 */
#include "../util/format.h"
#include "record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../print/quote.h"
#include "../trace/compact.h"
#include "../util/ranges.h"
#include "run_keys.h"
#include "run_messages.h"
#include "cmd.h"
#include "compress.h"
#include "event_count.h"
#include "usage.h"

struct options {
	const char *log;
	struct run_keys keys;
	unsigned form;
	uint64_t compress_at;
	bool no_samples;
	char **argv;
};

#define LAST_LEAST (64u << 10) /* no less than a slot */

/* Keeps only the last calls of a run.  A number with a unit of time is a time. */
static int take_last(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	struct run_keys *keys = to;
	uint64_t n, seconds = 0;

	if (strchr("snh", arg[0] ? arg[strlen(arg) - 1] : 0) && !parse_time(arg, &n))
		seconds = (n + 999999999) / 1000000000;
	else if (parse_size(arg, &n) || n < LAST_LEAST)
		n = 0;
	if (!seconds && !n)
		return option_invalid(err, row, arg,
				      "a size from 64K or a time, for example 200M or 60s");
	keys->given[CONF_LAST_SECONDS] = seconds != 0;
	keys->given[CONF_LAST_BYTES] = !seconds;
	keys->number[CONF_LAST_SECONDS] = seconds;
	keys->number[CONF_LAST_BYTES] = n;
	return 0;
}

#define BUDGET_MOST  (1ull << 40)
#define BUDGET_LEAST (1u << 20) /* no less than the header, slots and the first totals */

static int take_budget(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	struct run_keys *keys = to;
	uint64_t n;

	if (parse_size(arg, &n) || n < BUDGET_LEAST || n > BUDGET_MOST)
		return option_invalid(err, row, arg, "a size from 1M to 1024G, for example 500M");
	keys->given[CONF_BUDGET] = true;
	keys->number[CONF_BUDGET] = n;
	return 0;
}

#define OVERHEAD_MOST 1000 /* percent */

static int take_overhead(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	struct run_keys *keys = to;
	size_t digits = strlen(arg);
	char percent[8] = "";
	uint64_t n;

	if (digits && arg[digits - 1] == '%')
		digits--;
	if (digits < sizeof(percent))
		memcpy(percent, arg, digits);
	if (parse_whole(percent, 1, OVERHEAD_MOST, &n))
		return option_invalid(err, row, arg,
				      "a percentage from 1%% to 1000%%, for example 5%%");
	keys->given[CONF_OVERHEAD] = true;
	keys->number[CONF_OVERHEAD] = n;
	return 0;
}

static const struct option_type option_overhead = { "percentage", take_overhead, NULL,
						    COMPLETE_NOTHING };
static const struct option_type option_budget = { "size", take_budget, NULL, COMPLETE_NOTHING };
static const struct option_type option_last = { "size or time", take_last, NULL, COMPLETE_NOTHING };

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_FILE('o', "output", "LOG", log,
		    "Write the trace to LOG [./mprof.log]; an earlier one is kept as LOG.old"),
	OPTION_ALLOCATOR(keys.allocator),
	OPTION_RUN_STACKS(keys),
	OPTION_KEY_SET("free-stacks", keys, FREE_STACKS, 1, "Record the call stacks of free, too"),
	OPTION_KEY("touched", "BYTES", keys, TOUCHED,
		   "Record how much of each freed block was used, if it has at least BYTES [16384]",
		   .otherwise = "16384"),
	OPTION_KEY_SET("reach", keys, REACH, 1,
		       "Find blocks that no pointer leads to as a process ends"),
	OPTION_KEY("log-qty", "RECORDS", keys, LOG_QTY,
		   "Grow the file in steps of this many records"),
	OPTION_KEY("cache-qty", "RECORDS", keys, CACHE_QTY,
		   "Copy a thread's records to the file when it has collected this many"),
	OPTION_CUSTOM(0, "last", "SIZE|TIME", struct run_keys, keys, &option_last,
		      "Keep only the last calls: at least SIZE of trace or TIME, such as 200M or "
		      "60s"),
	OPTION_CUSTOM(
	    0, "budget", "SIZE", struct run_keys, keys, &option_budget,
	    "Keep the trace below SIZE: keep totals instead of calls, first for the busiest "
	    "stacks, then for all"),
	OPTION_CUSTOM(
	    0, "overhead", "PERCENT", struct run_keys, keys, &option_overhead,
	    "Keep totals instead of calls when recording takes more than PERCENT of the "
	    "program's own CPU time, such as 5%, and samples if that takes too much, too"),
	OPTION_KEY_SET("no-totals", keys, TOTALS, 0,
		       "With --last, keep no totals of the whole run"),
	OPTION_BIT(0, "exact", form, RECORD_EXACT,
		   "Keep exact times; otherwise they are accurate to 1 us"),
	OPTION_BIT(0, "best", form, RECORD_BEST,
		   "Compress the trace into a smaller file, in more time"),
	OPTION_BIT(0, "no-compress", form, RECORD_PLAIN,
		   "Do not compress the trace; 'mprof compress' can do it later"),
	OPTION_SIZE_FROM(0, "compress-at", "SIZE", compress_at, 0,
			 "Compress the trace while PROGRAM runs, from SIZE on; 0: only at the end "
			 "[512M]",
			 .example = "2G"),
	OPTION_FLAG(0, "no-sample", no_samples, "Do not sample the memory of the processes"),
	OPTION_RUN_SETTINGS(keys),
	OPTION_END,
};

static int check(void *options, struct error *err)
{
	const struct options *o = options;

	const bool last = o->keys.given[CONF_LAST_BYTES] || o->keys.given[CONF_LAST_SECONDS];

	if (last && (o->keys.given[CONF_BUDGET] || o->keys.given[CONF_OVERHEAD]))
		return fail(err, -EINVAL, "--last and %s: choose one",
			    o->keys.given[CONF_BUDGET] ? "--budget" : "--overhead");
	if (o->keys.given[CONF_REACH] &&
	    (last || o->keys.given[CONF_BUDGET] || o->keys.given[CONF_OVERHEAD]))
		return fail(err, -EINVAL, "--reach and %s: choose one; --reach needs every call",
			    last			 ? "--last"
			    : o->keys.given[CONF_BUDGET] ? "--budget"
							 : "--overhead");
	return run_keys_check(&o->keys, o->argv,
			      "no program given; for example: mprof record -- ls -l", err);
}

static const struct usage usage = {
	.options = options,
	.args = "[--] PROGRAM [ARGS]",
	.doc = "Runs PROGRAM and records in a trace every call that it and its children make to "
	       "malloc and related functions, with arguments, result, thread, time and call "
	       "stack.\vThe "
	       "output and exit status are those of the program. Next: mprof report LOG.",
	.words = USAGE_PROGRAM,
	.at = offsetof(struct options, argv),
	.check = check,
};

/* Options of mprof compress. */
static const char *const *compress_how(unsigned form)
{
	static const char *const how[][3] = {
		[RECORD_EXACT] = { "--exact" },
		[RECORD_BEST] = { "--best" },
		[RECORD_EXACT | RECORD_BEST] = { "--exact", "--best" },
	};

	return how[form & (RECORD_EXACT | RECORD_BEST)];
}

static bool plan_from(struct run_plan *plan, const struct options *o)
{
	plan->with_samples = !o->no_samples;
	plan->compress_at = o->form & RECORD_PLAIN ? 0 : o->compress_at;
	plan->compress_how = compress_how(o->form);
	return run_messages_plan(plan, o->argv, "LogMmap", CONF_KEYS, NULL) &&
	       run_keys_set(plan, &o->keys, NULL, CONF_LOG_PATH, o->log) &&
	       run_messages_mode(&plan->conf, MPROF_MAGIC_TRACE, "LogMmap");
}

/* Returns false if its events have not been counted. */
static bool compress(struct run_result *r, unsigned form, struct event_count *event_count)
{
	const char *path = r->path;
	int level = form & RECORD_BEST ? COMPACT_LEVEL_BEST : COMPACT_LEVEL_DEFAULT;
	int ret = compress_by(&r->follower, event_count);
	char *command;

	if (ret > 0)
		ret = compress_in_place(path, level, form & RECORD_EXACT, event_count, NULL);

	if (ret == -EINTR) {
		command = shell_command("mprof compress ", cmd_path(path));
		cmd_warn("compress it later with: %s", command);
		free(command);
	}
	return !ret;
}

bool record_finish(const struct run_plan *plan, struct run_result *r, unsigned form,
		   struct event_count *event_count)
{
	struct error err;

	run_messages_tell(plan, r);
	if (!r->path)
		return false;
	if (form & RECORD_PLAIN || r->in_use || r->file == RUN_CUT ||
	    !compress(r, form, event_count)) {
		follower_leave(&r->follower);
		if (event_count_read(event_count, r->path, &err)) {
			cmd_warn("%s", err.text);
			return false;
		}
	} else {
		event_count->bytes = cmd_file_bytes(r->path);
	}
	if (!plan->quiet)
		run_messages_own(&event_count->own, r);
	return true;
}

/* Prints one line: the contents, and what to do with the file. */
static void tell(const struct event_count *t, const struct run_plan *plan, const char *path)
{
	if (t->damaged)
		cmd_warn("the trace is damaged: %" PRIu64
			 " part%s of it %s missing or unreadable; mprof report has the details",
			 t->damaged, t->damaged == 1 ? "" : "s", t->damaged == 1 ? "is" : "are");
	fprintf(stderr, "mprof: %s of %s and %s, ", format_many(t->all, "call", "calls").s,
		format_many(t->threads, "thread", "threads").s,
		format_many(t->processes, "process", "processes").s);
	if (t->damaged)
		fprintf(stderr, "others lost with the damaged parts");
	else
		fprintf(stderr, "%s lost%s%s", format_count(t->lost).s,
			t->ended ? " before recording ended" : "",
			t->dropped ? ", earlier ones dropped" : "");
	fprintf(stderr, ", %s; ", format_bytes(t->bytes).s);
	cmd_next_view(*conf_get(&plan->conf, CONF_REACH) == '1' ? "leaks" : "", path);
}

static void after(const struct run_plan *plan, struct run_result *r, unsigned form)
{
	struct event_count event_count;

	if (record_finish(plan, r, form, &event_count) && !plan->quiet)
		tell(&event_count, plan, r->path);
}

int cmd_record(int argc, char **argv)
{
	struct options o = { .compress_at = COMPRESS_AT };
	struct run_plan plan = { 0 };
	int status = STATUS_USAGE;

	if (usage_take(&usage, argc, argv, &o))
		return STATUS_USAGE;
	if (plan_from(&plan, &o))
		status = run_messages_run(&plan, o.keys.show, after, o.form);
	run_messages_release(&plan);
	run_keys_release(&o.keys);
	return status;
}
