/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * run_profile.c - `mprof profile`: runs a program and keeps totals of its call stacks.
 */
#include <argp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "../util/format.h"
#include "../pass/site_totals.h"
#include "../run/library.h"
#include "../util/ranges.h"
#include "run_messages.h"
#include "argument.h"
#include "cmd.h"
#include "usage.h"

struct options {
	const char *output, *allocator;
	const char *conf[CONF_KEYS]; /* given here, by enum conf_key; NULL: not */
	bool sample;
	char **argv;
};

enum { SAMPLE = 256, SAMPLE_CALLS, KEY_0 };

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0,
	  "Write the profile to FILE [./mprof.profile]; an earlier one is kept as FILE.old", 0 },
	{ "allocator", 'a', "NAME", 0, ALLOCATOR_HELP, 0 },
	{ "sample", SAMPLE, "BYTES", OPTION_ARG_OPTIONAL,
	  "Estimate totals from samples, one every BYTES on average [512K]", 0 },
	{ "sample-calls", SAMPLE_CALLS, "N", 0,
	  "Estimate them from one of N calls, whatever its size", 0 },
	{ "seed", KEY_0 + CONF_SEED, "NUMBER", 0,
	  "Choose the same samples each time; 0: others [0]", 0 },
	{ "at-exit", KEY_0 + CONF_AT_EXIT, "WHAT", 0,
	  "Let each process write this, too, when it ends: folded, text or both", 0 },
	{ "unwind", KEY_0 + CONF_UNWIND, "HOW", 0,
	  "Find call stacks by auto, cfi, fp, libgcc or none [auto]", 0 },
	{ "depth", KEY_0 + CONF_DEPTH, "FRAMES", 0,
	  "Keep this many innermost frames of each stack [65535]", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

/* As 512K, for a key that takes bytes. */
static const char *bytes(const char *arg, struct argp_state *state)
{
	static char text[24];
	struct error err;
	uint64_t n = 0;

	if (parse_size(arg, &n, &err))
		argp_error(state, "%s", err.text);
	snprintf(text, sizeof(text), "%" PRIu64, n);
	return text;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	if (key >= KEY_0 && key < KEY_0 + CONF_KEYS) {
		o->conf[key - KEY_0] = arg;
		return 0;
	}
	switch (key) {
	case 'o':
		o->output = arg;
		return 0;
	case 'a':
		o->allocator = arg;
		return 0;
	case SAMPLE:
		o->sample = true;
		if (arg)
			o->conf[CONF_SAMPLE_BYTES] = bytes(arg, state);
		return 0;
	case SAMPLE_CALLS:
		o->sample = true;
		o->conf[CONF_SAMPLE_CALLS] = arg;
		return 0;
	default:
		return argument_program(key, state, &o->argv,
					"which program? for example: mprof profile -- ls -l");
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[--] PROGRAM [ARGS]",
	.doc = "Runs PROGRAM and adds up what it and its children do with memory, for each call"
	       " stack: calls, bytes, live blocks, the peak, lifetimes, temporary and reallocated"
	       " blocks. The size of the file depends on the number of stacks and threads, not on"
	       " how long the program runs. The file can be read at any time, even after SIGKILL."
	       "\vThe program's output and exit status are its own. Afterwards:"
	       " mprof report FILE, mprof export FILE, mprof diff A B.",
};

static bool plan_from(struct run_plan *plan, const struct options *o)
{
	plan->with_samples = true;
	return run_messages_plan(plan, o->argv, o->sample ? "Sample" : "Profile", CONF_PROFILE_PATH,
				 o->output) &&
	       run_messages_keys(plan, o->conf) && run_messages_allocator(plan, o->allocator);
}

/* One line: what is in it, and what to do with it. */
static void tell(const char *path)
{
	struct site_lanes lanes;
	struct trace *t;
	struct error err;

	if (trace_open(&t, path, MPROF_MAGIC_PROFILE, &err)) {
		cmd_warn("%s", err.text);
		return;
	}
	site_lanes_read(&lanes, t);
	fprintf(stderr, "mprof: %s of %s, %s; next: mprof report %s\n",
		trace_is_sampled(t) || !lanes.calls ? "samples"
						    : text_many(lanes.calls, "call", "calls").s,
		text_many(lanes.threads, "thread", "threads").s, text_bytes(trace_bytes(t)).s,
		cmd_path(path));
	trace_close(t);
}

static int run(const struct run_plan *plan)
{
	struct run_result result;
	struct error err;
	int code = run_program(plan, &result, &err), status;

	if (code)
		return run_messages_refused(&result, code, &err);
	run_messages_tell(plan, &result);
	if (result.path)
		tell(result.path);
	status = run_messages_status(&result);
	run_release(&result);
	return status;
}

int cmd_profile(int argc, char **argv)
{
	struct options o = { 0 };
	struct run_plan plan = { 0 };
	int status = STATUS_USAGE;

	if (usage_parse(&argp, argc, argv, ARGP_IN_ORDER, &o))
		return STATUS_USAGE;
	if (plan_from(&plan, &o))
		status = run(&plan);
	run_messages_release(&plan);
	return status;
}
