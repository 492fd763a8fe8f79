/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * compress.c - `mprof compress`: rewrites finished traces so that they take about a tenth of the
 * space. All commands read them as before.
 */
#include "compress.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../run/launch.h"
#include "../run/run.h"
#include "../trace/compact.h"
#include "../util/format.h"
#include "cmd.h"
#include "progress.h"
#include "event_count.h"
#include "running.h"
#include "usage.h"

#define LEVEL_MAX 19

struct options {
	int level;
	bool exact;
	struct arguments log;
};

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_NUMBER(0, "level", "N", level, 1, LEVEL_MAX,
		      "Set the level of zstd, 1 (fast) to 19 (small) [1]", .example = "9"),
	OPTION_SET(0, "best", level, COMPACT_LEVEL_BEST,
		   "Take more time for a smaller file: --level 9"),
	OPTION_FLAG(0, "exact", exact, "Keep exact times; otherwise they are accurate to 1 us"),
	OPTION_ROWS_ALONE(option_memory),
	OPTION_END,
};

static const struct usage usage = {
	.options = options,
	.args = "LOG...",
	.doc = "Compresses finished traces in place. A trace that is already compressed, or "
	       "damaged, is left unchanged.",
	.words = USAGE_FILES,
	.at = offsetof(struct options, log),
	.missing = "no trace given; for example: mprof compress mprof.log",
};

/* ---- one trace ---- */

static volatile sig_atomic_t stop;

static void on_signal(int signal)
{
	if (!launch_is_repeat(signal))
		stop = signal;
}

static const int stopping[] = { SIGINT, SIGTERM, SIGHUP };

#define STOPPING (sizeof(stopping) / sizeof(stopping[0]))

/* Signals that were ignored stay ignored, as under nohup(1). */
static void watch(struct sigaction *before)
{
	stop = 0;
	for (size_t i = 0; i < STOPPING; i++) {
		sigaction(stopping[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(stopping[i], &(struct sigaction){ .sa_handler = on_signal },
				  NULL);
	}
}

static void unwatch(const struct sigaction *before)
{
	for (size_t i = 0; i < STOPPING; i++)
		sigaction(stopping[i], &before[i], NULL);
}

struct one {
	struct event_count *event_count;
	struct progress progress;
};

static void on_events(void *context, const struct event *e, size_t n)
{
	struct one *one = context;

	event_count_events(one->event_count, e, n);
}

static void on_sums(void *context, uint64_t calls, uint64_t asked)
{
	struct one *one = context;

	one->event_count->all += calls;
	one->event_count->asked += asked;
}

static void on_finished(void *context, const struct trace *t)
{
	struct one *one = context;

	event_count_finish(one->event_count, t);
}

static void on_progress(void *context, uint64_t done, uint64_t all)
{
	struct one *one = context;

	if (all && progress_due(&one->progress))
		fprintf(stderr, "\rmprof: compressing %.0f MiB, %3.0f %% ", (double)all / (1 << 20),
			100.0 * (double)done / (double)all);
}

int compress_in_place(const char *path, int level, bool exact, struct event_count *event_count,
		      int *interrupted)
{
	struct one one = { .event_count = event_count };
	struct compact_options o = {
		.level = level, .exact = exact, .stop = &stop, .context = &one
	};
	struct sigaction before[STOPPING];
	struct error err;
	int code;

	if (run_uses(path)) {
		cmd_error(0, "'%s' is being written by a run in progress", path);
		return -EBUSY;
	}
	if (event_count) {
		memset(event_count, 0, sizeof(*event_count));
		o.events = on_events;
		o.sums = on_sums;
		o.finished = on_finished;
	}
	if (progress_begin(&one.progress))
		o.progress = on_progress;
	watch(before);
	code = trace_compress(path, &o, &err);
	unwatch(before);
	progress_done(&one.progress);
	if (interrupted)
		*interrupted = stop;
	if (code)
		cmd_error(0, "%s", err.text);
	return code;
}

/* ---- the command ---- */

/* before: its size. */
static void tell(const char *path, uint64_t before)
{
	const uint64_t after = cmd_file_bytes(path);

	if (after == before)
		fprintf(stderr, "mprof: '%s' is already compressed, and unchanged (%s)\n", path,
			format_bytes(after).s);
	else
		fprintf(stderr, "mprof: compressed '%s' from %s to %s\n", path,
			format_bytes(before).s, format_bytes(after).s);
}

int cmd_compress(int argc, char **argv)
{
	struct options o = { .level = COMPACT_LEVEL_DEFAULT };
	int one, interrupted, status = STATUS_OK;
	uint64_t before;

	if (usage_take(&usage, argc, argv, &o))
		return STATUS_USAGE;
	for (size_t i = 0; i < o.log.count; i++) {
		if (running_is_pid(o.log.item[i])) {
			status = cmd_error(
			    STATUS_FILE,
			    "'%s' is not a file, and compress does not accept a PID: mprof "
			    "record compresses the trace when the program has ended",
			    o.log.item[i]);
			continue;
		}
		before = cmd_file_bytes(o.log.item[i]);
		one = compress_in_place(o.log.item[i], o.level, o.exact, NULL, &interrupted);
		if (one == -EINTR)
			raise(interrupted); /* the earlier handlers are restored */
		if (!one)
			tell(o.log.item[i], before);
		else
			status = STATUS_FILE;
	}
	return status;
}
