/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * run_profile.c - `mprof profile`: runs a program and keeps totals of its call stacks.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "exit_files.h"
#include "profile_tell.h"
#include "run_keys.h"
#include "run_messages.h"
#include "cmd.h"
#include "usage.h"

struct options {
	const char *output, *sample;
	struct run_keys keys;
	char **argv;
};

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_FILE('o', "output", "FILE", output,
		    "Write the profile to FILE [./mprof.profile]; an earlier one is kept as "
		    "FILE.old"),
	OPTION_ALLOCATOR(keys.allocator),
	OPTION_KEY("sample", "BYTES", keys, SAMPLE_BYTES,
		   "Estimate totals from samples, one every BYTES on average [512K]",
		   .otherwise = "512K", .named = OPTION_AT(sample)),
	OPTION_KEY("sample-calls", "N", keys, SAMPLE_CALLS,
		   "Sample one in N calls instead, regardless of size", .named = OPTION_AT(sample)),
	OPTION_KEY("seed", "NUMBER", keys, SEED,
		   "Set the random seed, to choose the same samples each time; 0: a different seed "
		   "each time [0]"),
	OPTION_WORDS_TEXT(0, "at-exit", "WHAT", keys.word[CONF_AT_EXIT], words_EXIT_FORM,
			  "Also write %s when each process ends; separate several by commas"),
	OPTION_CUSTOM(0, "folded-value", "WORD", const char *, keys.word[CONF_FOLDED_VALUE],
		      &option_key_word,
		      "Write this figure in folded stacks: calls, total, live, peak or, with "
		      "samples, time [calls]",
		      .least = CONF_FOLDED_VALUE),
	OPTION_RUN_STACKS(keys),
	OPTION_RUN_TOTALS(keys),
	OPTION_RUN_SETTINGS(keys),
	OPTION_END,
};

static int check(void *options, struct error *err)
{
	const struct options *o = options;

	if (o->sample && o->keys.given[CONF_SITE_SIZES])
		return fail(err, -EINVAL,
			    "invalid --site-sizes: samples do not keep sizes; leave out --%s",
			    o->sample);
	return run_keys_check(&o->keys, o->argv,
			      "no program given; for example: mprof profile -- ls -l", err);
}

static const struct usage usage = {
	.options = options,
	.args = "[--] PROGRAM [ARGS]",
	.doc = "Runs PROGRAM and adds up what it and its children do with memory, for each call "
	       "stack: calls, bytes, live blocks, the peak, lifetimes, temporary and reallocated "
	       "blocks. The size of the file depends on the number of stacks, threads and "
	       "processes, not on how long they run. The file can be read at any time, even after "
	       "SIGKILL.\vThe output and exit status are those of the program. Next: mprof report "
	       "FILE, mprof export FILE or mprof diff A B.",
	.words = USAGE_PROGRAM,
	.at = offsetof(struct options, argv),
	.check = check,
};

static bool plan_from(struct run_plan *plan, const struct options *o)
{
	plan->with_samples = true;
	const char *mode = o->sample ? "Sample" : NULL;

	return run_messages_plan(plan, o->argv, "Profile", CONF_KEYS, NULL) &&
	       run_keys_set(plan, &o->keys, mode, CONF_PROFILE_PATH, o->output) &&
	       run_messages_mode(&plan->conf, MPROF_MAGIC_PROFILE, "Profile or Sample");
}

static struct timespec began;

static void after(const struct run_plan *plan, struct run_result *r, unsigned form)
{
	run_messages_tell(plan, r);
	if (!plan->quiet)
		exit_files_tell(&plan->conf, &began);
	if (r->path && !plan->quiet)
		profile_tell(r->path, r);
}

int cmd_profile(int argc, char **argv)
{
	struct options o = { 0 };
	struct run_plan plan = { 0 };
	int status = STATUS_USAGE;

	if (usage_take(&usage, argc, argv, &o))
		return STATUS_USAGE;
	clock_gettime(CLOCK_REALTIME_COARSE, &began);
	if (plan_from(&plan, &o))
		status = run_messages_run(&plan, o.keys.show, after, 0);
	run_messages_release(&plan);
	run_keys_release(&o.keys);
	return status;
}
