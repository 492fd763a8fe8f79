/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * compress.c - `mprof compress`: rewrites finished traces so that they take about a tenth of the
 * space. All commands read them as before.
 */
#include "compress.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../run/follower.h"
#include "../run/launch.h"
#include "../run/run.h"
#include "../trace/follow.h"
#include "../util/format.h"
#include "../util/memory.h"
#include "cmd.h"
#include "progress.h"
#include "event_count.h"
#include "running.h"
#include "usage.h"

#define LEVEL_MAX 19

struct options {
	int level;
	bool exact;
	uint64_t follow; /* bytes; 0 = do not */
	struct arguments log;
};

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_NUMBER(0, "level", "N", level, 1, LEVEL_MAX,
		      "Set the level of zstd, 1 (fast) to 19 (small) [1]", .example = "9"),
	OPTION_SET(0, "best", level, COMPACT_LEVEL_BEST,
		   "Take more time for a smaller file: --level 9"),
	OPTION_FLAG(0, "exact", exact, "Keep exact times; otherwise they are accurate to 1 us"),
	OPTION_SIZE_FROM(0, "follow", "SIZE", follow, 1,
			 "While a run writes LOG, compress it from SIZE on [512M], "
			 "and finish when the run has ended",
			 .otherwise = "512M", .example = "2G"),
	OPTION_ROWS_ALONE(option_memory),
	OPTION_END,
};

static const struct usage usage = {
	.options = options,
	.args = "LOG...",
	.doc = "Compresses traces in place. A trace that is already compressed, or "
	       "damaged, is left unchanged.",
	.words = USAGE_FILES,
	.at = offsetof(struct options, log),
	.missing = "no trace given; for example: mprof compress mprof.log",
};

/* ---- one trace ---- */

static volatile sig_atomic_t stop;
static volatile sig_atomic_t deaf;  /* signals are for others, except those from our parent */
static volatile sig_atomic_t other; /* the process that compresses for us; 0 = none */

static void on_signal(int signal, siginfo_t *info, void *context)
{
	(void)context;
	if ((deaf && info->si_pid != getppid()) || launch_is_repeat(signal))
		return;
	stop = signal;
	if (other) {
		kill(other, signal);
		kill(other, SIGCONT); /* it may have been stopped */
	}
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
			sigaction(stopping[i],
				  &(struct sigaction){ .sa_sigaction = on_signal,
						       .sa_flags = SA_SIGINFO },
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
	bool shows;
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

	if (all && one->shows && progress_due(&one->progress))
		fprintf(stderr, "\rmprof: compressing %.0f MiB, %3.0f %% ", (double)all / (1 << 20),
			100.0 * (double)done / (double)all);
}

static struct compact_options options_for(struct one *one, int level, bool exact,
					  struct event_count *event_count)
{
	struct compact_options o = {
		.level = level, .exact = exact, .stop = &stop, .context = one
	};

	one->event_count = event_count;
	if (event_count) {
		memset(event_count, 0, sizeof(*event_count));
		o.events = on_events;
		o.sums = on_sums;
		o.finished = on_finished;
	}
	return o;
}

int compress_in_place(const char *path, int level, bool exact, struct event_count *event_count,
		      int *interrupted)
{
	struct one one = { 0 };
	struct compact_options o = options_for(&one, level, exact, event_count);
	struct sigaction before[STOPPING];
	struct error err;
	int code;

	if (run_uses(path)) {
		cmd_error(0,
			  "'%s' is being written by a run in progress; --follow compresses it "
			  "meanwhile",
			  path);
		return -EBUSY;
	}
	one.shows = progress_begin(&one.progress);
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

int compress_by(struct follower *f, struct event_count *event_count)
{
	struct compress_result result;
	struct sigaction before[STOPPING];
	bool got;

	watch(before);
	other = f->pid;
	got = follower_finish(f, &result, sizeof(result));
	other = 0;
	unwatch(before);
	if (!got || (result.code && result.code != -EINTR))
		return stop ? -EINTR : 1;
	*event_count = result.event_count;
	return result.code;
}

/* ---- a trace that is still written ---- */

#define LOOK_MS	     100
#define LATER_ROUNDS 4 /* later parts are smaller, so that less waits for them on the disk */

/* Is the run over?  *led: does another mprof give orders? */
static bool is_over(const char *path, bool *led, bool *leave)
{
	struct pollfd orders = { .fd = FOLLOWER_ORDERS, .events = POLLIN };
	char order = 0;

	if (poll(&orders, *led, LOOK_MS) > 0) {
		*led = read(FOLLOWER_ORDERS, &order, 1) > 0;
		*leave = order == FOLLOWER_LEAVE;
	}
	return *led ? order != 0 : !run_uses(path);
}

/*
 * While the other mprof waits for the program, signals of the terminal are for that, and must not
 * end a round.
 */
static int follow_on(struct follow *f, const char *path, uint64_t given_at, bool *led,
		     struct error *err)
{
	uint64_t at = given_at;
	bool leave = false;
	int code = 0;

	while (!code && !is_over(path, led, &leave)) {
		deaf = *led;
		leave |= stop;
		if (leave)
			break;
		if (follow_grown(f) < at)
			continue;
		code = follow_round(f, err);
		at = given_at / LATER_ROUNDS + 1;
	}
	deaf = false;
	if (!code && leave)
		code = fail(err, -EINTR,
			    "'%s' is compressed in part, and can be read; compress the rest with "
			    "mprof compress when the run has ended",
			    path);
	return code;
}

/* Returns 0 or -errno with *err. */
static int follow_to_end(const char *path, const struct options *given, struct one *one,
			 const struct compact_options *o, bool *led, struct error *err)
{
	struct follow *f = NULL;
	int code = follow_start(&f, path, o, err);

	if (!code)
		code = follow_on(f, path, given->follow, led, err);
	if (!code) {
		one->shows = progress_begin(&one->progress);
		code = follow_finish(f, err);
		progress_done(&one->progress);
	}
	follow_free(f);
	return code;
}

static int compress_along(const char *path, const struct options *given)
{
	bool led = getenv(FOLLOWER_VARIABLE);
	const bool was_led = led;
	struct compress_result result;
	struct one one = { 0 };
	struct compact_options o =
	    options_for(&one, given->level, given->exact, &result.event_count);
	struct sigaction before[STOPPING];
	struct error err;

	o.progress = on_progress;
	deaf = led;
	if (led) {
		signal(SIGQUIT, SIG_IGN);
		memory_give_way(); /* rather than the program */
	}
	watch(before);
	result.code = follow_to_end(path, given, &one, &o, &led, &err);
	unwatch(before);
	if (result.code && (!was_led || result.code == -EINTR))
		cmd_error(0, "%s", err.text);
	if (led && write(FOLLOWER_RESULT, &result, sizeof(result)) < 0)
		return -errno;
	return result.code;
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
		interrupted = 0;
		if (o.follow && (getenv(FOLLOWER_VARIABLE) || run_uses(o.log.item[i])))
			one = compress_along(o.log.item[i], &o);
		else
			one =
			    compress_in_place(o.log.item[i], o.level, o.exact, NULL, &interrupted);
		if (one == -EINTR && interrupted)
			raise(interrupted); /* the earlier handlers are restored */
		if (!one && !(o.follow && getenv(FOLLOWER_VARIABLE)))
			tell(o.log.item[i], before);
		else
			status = STATUS_FILE;
	}
	return status;
}
