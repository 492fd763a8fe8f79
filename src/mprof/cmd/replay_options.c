// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_options.c - the options of commands that play a recording on several allocators. */
#include "replay_options.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/ranges.h"
#include "playback_input.h"

/* Parses the list and its settings, and sets what --quick leaves open. */
int replay_cli_finish(struct replay_cli *c, struct error *err)
{
	size_t i;
	int ret = 0;

	if (!c->allocators)
		ret = variants_parse(&c->variants, "all", err);
	for (i = 0; c->allocators && c->allocators[i] && !ret; i++)
		ret = variants_parse(&c->variants, c->allocators[i], err);
	for (i = 0; c->sets && c->sets[i] && !ret; i++)
		variants_set(&c->variants, c->sets[i]);
	if (ret)
		return ret;
	if (c->plan.speed && c->plan.mode == RUNS_ORDERED)
		return fail(
		    err, -EINVAL,
		    "--speed needs --mode serial or threads: in mode ordered, calls follow each "
		    "other without a pause");
	for (i = 0; i < c->variants.n; i++)
		c->variants.v[i].clear = c->clear;
	if (!c->reps_said)
		c->plan.reps = c->quick ? REPLAY_QUICK : REPLAY_REPS;
	if (!c->drain_said)
		c->plan.drains = c->quick ? 1 : 3;
	c->plan.latency = !c->quick && c->plan.reps;
	return 0;
}

/* ---- values ---- */

static int take_cpu(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	uint64_t n = 0;
	cpu_set_t usable;

	if (strcmp(arg, "any") &&
	    (parse_whole(arg, 0, CPU_SETSIZE - 1, &n) ||
	     (!sched_getaffinity(0, sizeof(usable), &usable) && !CPU_ISSET(n, &usable))))
		return option_invalid(err, row, arg,
				      "a processor that mprof may use, such as %d, or any",
				      sched_getcpu());
	*(int *)to = strcmp(arg, "any") ? (int)n : -1;
	return 0;
}

static int take_drains(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	struct runs_plan *p = to;
	char copy[256], *word, *rest;
	uint64_t ns, before = 0;

	snprintf(copy, sizeof(copy), "%s", arg);
	p->drains = 0;
	for (word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		if (p->drains == MPROF_RUN_DRAINS || parse_time(word, &ns) ||
		    ns > UINT64_C(3600000000000) || ns < before)
			break;
		before = ns;
		p->drain_ms[p->drains++] = (unsigned)(ns / 1000000);
	}
	if (word)
		return option_invalid(err, row, arg, "at most %d ascending times of up to an hour",
				      MPROF_RUN_DRAINS);
	return 0;
}

static int take_limit(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	uint64_t ns;

	if (parse_time(arg, &ns) || ns < 1000000 || ns > UINT64_C(1000000000000000))
		return option_invalid(err, row, arg, "a time from 1ms to 11 days, such as 30s");
	*(int64_t *)to = (int64_t)(ns / 1000000);
	return 0;
}

static int take_setting(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	if (!variant_setting(arg))
		return option_invalid(err, row, arg, "NAME=VALUE");
	option_add(to, arg);
	return 0;
}

static const char *const any[] = { "any", NULL };
static const struct option_type cpu_type = { "number", take_cpu, any, COMPLETE_NOTHING };
static const struct option_type setting_type = { "variable", take_setting, NULL, COMPLETE_NOTHING };
static const struct option_type drains_type = { "times", take_drains, NULL, COMPLETE_NOTHING };
static const struct option_type limit_type = { "time", take_limit, NULL, COMPLETE_NOTHING };

#define OPTIONS struct replay_cli
const struct option_row option_replay[] = {
	OPTION_TITLE("What to play:"),
	OPTION_LIST('a', "allocator", "LIST", allocators, &option_allocators,
		    "Play on these, such as glibc,jemalloc[MALLOC_CONF=narenas:2],/path/lib.so "
		    "[all installed]"),
	OPTION_CUSTOM(0, "process", "NUMBER|all", uint32_t, process, &option_process_or_all,
		      "Play the process with this number [the one with most calls]"),
	OPTION_FLAG(0, "quick", quick, "Use fewer runs and less waiting; do not measure latencies"),
	OPTION_NUMBER(0, "reps", "N", plan.reps, 0, 10000,
		      "Time each allocator N times, 0 for never [7]", .example = "7",
		      .given = OPTION_AT(reps_said)),
	OPTION_FLAG(0, "no-heaps", no_heaps,
		    "Do not analyse where blocks are placed (page use, pinned pages)"),
	OPTION_TITLE("How to play it:"),
	OPTION_WORD(0, "mode", OPTION_EITHER, plan.mode, words_PLAY_MODE,
		    "Play in this way [auto: serial without threads; else threads for time, "
		    "ordered for memory]"),
	OPTION_NUMBER(0, "speed", "K", plan.speed, 1, 1000000, "Play at K times the recorded speed",
		      .example = "10 for ten times the program's own speed"),
	OPTION_WORD_TEXT(0, "touch", "WHAT", plan.touch, words_TOUCH,
			 "Write to %s bytes of blocks [recorded, else page]"),
	OPTION_CUSTOM(0, "cpu", "N|any", int, plan.cpu, &cpu_type,
		      "Run single-threaded replays on this processor [the current one]"),
	OPTION_WORD(0, "thp", OPTION_EITHER, plan.no_huge, words_THP,
		    "Use transparent huge pages as the system is configured (on), or not at all "
		    "(off) [on]"),
	OPTION_CUSTOM(0, "drain", "TIME,...", struct runs_plan, plan, &drains_type,
		      "Measure memory at these times after all blocks were freed [0.1,1,5]",
		      .example = "0.1,5", .given = OPTION_AT(drain_said)),
	OPTION_FLAG(0, "keep", plan.keep, "Do not free blocks that the program never freed"),
	OPTION_WORD(0, "env", OPTION_EITHER, clear, words_ENV,
		    "Keep or clear environment variables that configure allocators [keep]"),
	OPTION_LIST(0, "set", "NAME=VALUE", sets, &setting_type,
		    "Set an environment variable for all allocators; may be repeated",
		    .example = "MALLOC_ARENA_MAX=2"),
	OPTION_CUSTOM(0, "time-limit", "TIME", int64_t, plan.limit_ms, &limit_type,
		      "Stop runs that take longer, and count them as failed"),
	OPTION_END,
};

void replay_cli_init(struct replay_cli *c)
{
	*c = (struct replay_cli){
		.plan = { .cpu = sched_getcpu(), .drain_ms = { 100, 1000, 5000 } },
	};
}

void replay_cli_release(struct replay_cli *c)
{
	variants_release(&c->variants);
	free((void *)c->allocators);
	free((void *)c->sets);
	*c = (struct replay_cli){ .process = 0 };
}
