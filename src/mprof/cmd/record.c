/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * record.c - `mprof record`: runs a program and keeps every call in a trace.
 */
#include "record.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../trace/compact.h"
#include "after.h"
#include "cmd.h"
#include "compress.h"
#include "tally.h"

#define SLOW_BYTES (128u << 20) /* more than this takes over a second to compress */

struct options {
	const char *log, *allocator, *log_qty, *cache_qty;
	bool plain, no_samples;
	char **argv;
};

enum { LOG_QTY = 256, CACHE_QTY, NO_COMPRESS, NO_SAMPLE, ALLOCATOR };

static const struct argp_option options[] = {
	{ "output", 'o', "LOG", 0, "The trace to write [./mprof.log]", 0 },
	{ "allocator", ALLOCATOR, "NAME", 0,
	  "Run with this allocator: a name (glibc, jemalloc, mimalloc, tcmalloc, tbb) or a path",
	  0 },
	{ "log-qty", LOG_QTY, "RECORDS", 0, "Records to make room for at each growth", 0 },
	{ "cache-qty", CACHE_QTY, "RECORDS", 0, "Records a thread keeps before they are copied",
	  0 },
	{ "no-compress", NO_COMPRESS, NULL, 0, "Leave the trace as it was written", 0 },
	{ "no-sample", NO_SAMPLE, NULL, 0, "Do not watch memory from outside", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'o':
		o->log = arg;
		return 0;
	case ALLOCATOR:
		o->allocator = arg;
		return 0;
	case LOG_QTY:
		o->log_qty = arg;
		return 0;
	case CACHE_QTY:
		o->cache_qty = arg;
		return 0;
	case NO_COMPRESS:
		o->plain = true;
		return 0;
	case NO_SAMPLE:
		o->no_samples = true;
		return 0;
	case ARGP_KEY_ARG:
		o->argv = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which program? for example: mprof record -- ls -l");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[--] PROGRAM [ARGS]",
	.doc = "Runs PROGRAM and keeps every call that it and its children make to malloc and its"
	       " family in a trace, with arguments, result, thread and time."
	       "\vThe program's output and exit status are its own. Afterwards:"
	       " mprof report LOG, mprof dump LOG.",
};

static bool plan_from(struct run_plan *plan, const struct options *o)
{
	struct error err;

	plan->with_samples = !o->no_samples;
	if (!after_plan(plan, o->argv, "LogMmap", CONF_LOG_PATH, o->log))
		return false;
	if ((o->log_qty && conf_set(&plan->conf, CONF_LOG_QTY, o->log_qty, &err)) ||
	    (o->cache_qty && conf_set(&plan->conf, CONF_CACHE_QTY, o->cache_qty, &err))) {
		cmd_error(0, "%s", err.text);
		return false;
	}
	return !o->allocator || after_allocator(plan, o->allocator);
}

void record_finish(const struct run_plan *plan, const struct run_result *r, bool compress)
{
	after_tell(plan, r);
	if (!r->path)
		return;
	if (!compress || r->in_use)
		return;
	if (r->bytes > SLOW_BYTES && isatty(STDERR_FILENO))
		fprintf(stderr, "mprof: compressing %.0f MiB ...\n", (double)r->bytes / (1 << 20));
	compress_in_place(r->path, COMPACT_LEVEL_DEFAULT);
}

/* One line: what is in it, and what to do with it. */
static void tell(const char *path)
{
	struct tally t;
	struct error err;

	if (tally_read(&t, path, &err)) {
		cmd_warn("%s", err.text);
		return;
	}
	if (t.damaged)
		cmd_warn("the trace is damaged: %" PRIu64 " part%s of it missing or unreadable;"
			 " the report says more",
			 t.damaged, t.damaged == 1 ? " is" : "s are");
	fprintf(stderr,
		"mprof: %" PRIu64 " events of %" PRIu64 " thread%s and %" PRIu64
		" process%s, %" PRIu64 " lost%s, %.2f MiB; next: mprof report %s\n",
		t.all, t.threads, t.threads == 1 ? "" : "s", t.processes,
		t.processes == 1 ? "" : "es", t.lost, t.ended ? " before recording ended" : "",
		(double)t.bytes / (1 << 20), path);
}

static int run(const struct run_plan *plan, bool compress)
{
	struct run_result result;
	struct error err;
	int code = run_program(plan, &result, &err), status;

	if (code)
		return after_refused(&result, code, &err);
	record_finish(plan, &result, compress);
	if (result.path)
		tell(result.path);
	status = after_status(&result);
	run_release(&result);
	return status;
}

int cmd_record(int argc, char **argv)
{
	struct options o = { 0 };
	struct run_plan plan = { 0 };
	int status = STATUS_USAGE;

	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o))
		return STATUS_USAGE;
	if (plan_from(&plan, &o))
		status = run(&plan, !o.plain);
	after_release(&plan);
	return status;
}
