/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * record.c - `mprof record`: runs a program and keeps every call in a trace.
 */
#include "../util/format.h"
#include "record.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../trace/compact.h"
#include "../run/library.h"
#include "run_messages.h"
#include "argument.h"
#include "cmd.h"
#include "compress.h"
#include "event_count.h"
#include "usage.h"

struct options {
	const char *log, *allocator;
	const char *conf[CONF_KEYS]; /* given here, by enum conf_key; NULL: not */
	unsigned form;
	bool no_samples;
	char **argv;
};

/* Options that are keys of MPROF_CONF: KEY_0 + enum conf_key. */
enum { NO_COMPRESS = 256, EXACT, BEST, NO_SAMPLE, FREE_STACKS, KEY_0 };

#define TOUCHED_DEFAULT "16384"

static const struct argp_option options[] = {
	{ "output", 'o', "LOG", 0,
	  "Write the trace to LOG [./mprof.log]; an earlier one is kept as LOG.old", 0 },
	{ "allocator", 'a', "NAME", 0, ALLOCATOR_HELP, 0 },
	{ "unwind", KEY_0 + CONF_UNWIND, "HOW", 0,
	  "Find call stacks by auto, cfi, fp, libgcc or none [auto]", 0 },
	{ "depth", KEY_0 + CONF_DEPTH, "FRAMES", 0,
	  "Keep this many innermost frames of each stack [65535]", 0 },
	{ "free-stacks", FREE_STACKS, NULL, 0, "Record the call stacks of free, too", 0 },
	{ "touched", KEY_0 + CONF_TOUCHED, "BYTES", OPTION_ARG_OPTIONAL,
	  "Record how much of each freed block was used, if it has at least BYTES [" TOUCHED_DEFAULT
	  "]",
	  0 },
	{ "log-qty", KEY_0 + CONF_LOG_QTY, "RECORDS", 0,
	  "Grow the file by space for this many records", 0 },
	{ "cache-qty", KEY_0 + CONF_CACHE_QTY, "RECORDS", 0,
	  "Copy a thread's records to the file when there are this many", 0 },
	{ "exact", EXACT, NULL, 0, "Keep exact times; otherwise they are accurate to 1 us", 0 },
	{ "best", BEST, NULL, 0, "Take more time to compress the trace, for a smaller file", 0 },
	{ "no-compress", NO_COMPRESS, NULL, 0,
	  "Do not compress the trace; 'mprof compress' can do it later", 0 },
	{ "no-sample", NO_SAMPLE, NULL, 0, "Do not sample the memory of the processes", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	if (key >= KEY_0 && key < KEY_0 + CONF_KEYS) {
		o->conf[key - KEY_0] = arg ? arg : TOUCHED_DEFAULT;
		return 0;
	}
	switch (key) {
	case 'o':
		o->log = arg;
		return 0;
	case 'a':
		o->allocator = arg;
		return 0;
	case FREE_STACKS:
		o->conf[CONF_FREE_STACKS] = "1";
		return 0;
	case NO_COMPRESS:
		o->form |= RECORD_PLAIN;
		return 0;
	case BEST:
		o->form |= RECORD_BEST;
		return 0;
	case EXACT:
		o->form |= RECORD_EXACT;
		return 0;
	case NO_SAMPLE:
		o->no_samples = true;
		return 0;
	default:
		return argument_program(key, state, &o->argv,
					"which program? for example: mprof record -- ls -l");
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[--] PROGRAM [ARGS]",
	.doc = "Runs PROGRAM and records every call that it and its children make to malloc and "
	       "its family in a trace, with arguments, result, thread, time and call stack.\vThe "
	       "output and exit status are those of the program. Next: mprof report LOG.",
};

static bool plan_from(struct run_plan *plan, const struct options *o)
{
	plan->with_samples = !o->no_samples;
	return run_messages_plan(plan, o->argv, "LogMmap", CONF_LOG_PATH, o->log) &&
	       run_messages_keys(plan, o->conf) && run_messages_allocator(plan, o->allocator);
}

/* False when its events have not been counted. */
static bool compress(const char *path, unsigned form, struct event_count *event_count)
{
	int level = form & RECORD_BEST ? COMPACT_LEVEL_BEST : COMPACT_LEVEL_DEFAULT;
	int ret = compress_in_place(path, level, form & RECORD_EXACT, event_count, NULL);

	if (ret == -EINTR)
		cmd_warn("compress it later with: mprof compress %s", cmd_path(path));
	return !ret;
}

static uint64_t bytes_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

bool record_finish(const struct run_plan *plan, const struct run_result *r, unsigned form,
		   struct event_count *event_count)
{
	struct error err;

	run_messages_tell(plan, r);
	if (!r->path)
		return false;
	if (form & RECORD_PLAIN || r->in_use || r->file == RUN_CUT ||
	    !compress(r->path, form, event_count)) {
		if (event_count_read(event_count, r->path, &err)) {
			cmd_warn("%s", err.text);
			return false;
		}
	}
	event_count->bytes = bytes_of(r->path);
	run_messages_own(&event_count->own, r);
	return true;
}

/* One line: what is in it, and what to do with it. */
static void tell(const struct event_count *t, const char *path)
{
	if (t->damaged)
		cmd_warn("the trace is damaged: %" PRIu64 " part%s of it %s missing or unreadable;"
			 " the report says more",
			 t->damaged, t->damaged == 1 ? "" : "s", t->damaged == 1 ? "is" : "are");
	fprintf(stderr, "mprof: %s of %s and %s, ", text_many(t->all, "event", "events").s,
		text_many(t->threads, "thread", "threads").s,
		text_many(t->processes, "process", "processes").s);
	if (t->damaged)
		fprintf(stderr, "others lost with the damaged parts");
	else
		fprintf(stderr, "%s lost%s", text_count(t->lost).s,
			t->ended ? " before recording ended" : "");
	fprintf(stderr, ", %s; next: mprof report %s\n", text_bytes(t->bytes).s, cmd_path(path));
}

static int run(const struct run_plan *plan, unsigned form)
{
	struct run_result result;
	struct event_count event_count;
	struct error err;
	int code = run_program(plan, &result, &err), status;

	if (code)
		return run_messages_refused(&result, code, &err);
	if (record_finish(plan, &result, form, &event_count))
		tell(&event_count, result.path);
	status = run_messages_status(&result);
	run_release(&result);
	return status;
}

int cmd_record(int argc, char **argv)
{
	struct options o = { 0 };
	struct run_plan plan = { 0 };
	int status = STATUS_USAGE;

	if (usage_parse(&argp, argc, argv, ARGP_IN_ORDER, &o))
		return STATUS_USAGE;
	if (plan_from(&plan, &o))
		status = run(&plan, o.form);
	run_messages_release(&plan);
	return status;
}
