// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_options.c - the options of commands that play a recording on several allocators. */
#include "replay_options.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "../util/ranges.h"
#include "argument.h"
#include "cmd.h"
#include "playback_input.h"

enum {
	MODE = REPLAY_KEYS,
	SPEED,
	TOUCH,
	REPS,
	CPU,
	ENV,
	SET,
	DRAIN,
	THP,
	KEEP,
	QUICK,
	PROCESS,
	TIME_LIMIT,
	NO_HEAPS,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What is played:", 10 },
	{ "allocator", 'a', "LIST", 0,
	  "Play on these, such as glibc,jemalloc[MALLOC_CONF=narenas:2],/path/lib.so [all "
	  "installed]",
	  10 },
	{ "process", PROCESS, "NUMBER|all", 0,
	  "Play the process with this number [the one with most calls]", 10 },
	{ "quick", QUICK, NULL, 0, "Use fewer runs and less waiting; do not measure latencies",
	  10 },
	{ "reps", REPS, "N", 0, "Time each allocator N times, 0 for never [7]", 10 },
	{ "no-heaps", NO_HEAPS, NULL, 0,
	  "Do not analyse where blocks are placed (page use, pinned pages)", 10 },
	{ NULL, 0, NULL, 0, "How it is played:", 11 },
	{ "mode", MODE, "MODE", 0,
	  "Play with serial, threads or ordered [serial without threads; else threads for time, "
	  "ordered for memory]",
	  11 },
	{ "speed", SPEED, "K", 0, "Play at the recorded speed, K times as fast", 11 },
	{ "touch", TOUCH, "WHAT", 0,
	  "Write to none, first, page, full or recorded bytes of blocks [recorded, else page]",
	  11 },
	{ "cpu", CPU, "N|any", 0, "Use this processor for runs of one thread [the current one]",
	  11 },
	{ "thp", THP, "on|off", 0, "Use transparent huge pages as the system is set, or not [on]",
	  11 },
	{ "drain", DRAIN, "TIME,...", 0,
	  "Measure memory at these times after all blocks were freed [0.1,1,5]", 11 },
	{ "keep", KEEP, NULL, 0, "Do not free blocks that the program never freed", 11 },
	{ "env", ENV, "keep|clear", 0,
	  "Keep or clear variables of allocators that are set here [keep]", 11 },
	{ "set", SET, "NAME=VALUE", 0, "Set a variable for all allocators; may be repeated", 11 },
	{ "time-limit", TIME_LIMIT, "TIME", 0, "Stop runs that take longer, as failed", 11 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static unsigned number(const char *arg, unsigned most, const char *what, struct argp_state *state)
{
	uint64_t n = 0;

	if (parse_whole(arg, 0, most, &n))
		argp_error(state, "invalid %s '%s': expected a number from 0 to %u", what, arg,
			   most);
	return (unsigned)n;
}

static unsigned speed_of(const char *arg, struct argp_state *state)
{
	unsigned k = number(arg, 1000000, "speed", state);

	if (!k)
		argp_error(state,
			   "invalid --speed '%s': expected 1 for the program's own speed, 10 for "
			   "ten times that",
			   arg);
	return k;
}

static void add_drain(struct runs_plan *p, const char *arg, struct argp_state *state)
{
	char *copy = strdup(arg), *word, *rest;
	struct error err;
	uint64_t ns;

	if (!copy)
		argp_failure(state, STATUS_FOUND, ENOMEM, "options");
	p->drains = 0;
	for (word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		if (parse_time(word, &ns, &err))
			argp_error(state, "invalid --drain: %s; expected times, for example 0.1,5",
				   err.text);
		else if (p->drains == MPROF_RUN_DRAINS || ns > UINT64_C(3600000000000) ||
			 (p->drains && ns / 1000000 < p->drain_ms[p->drains - 1]))
			argp_error(
			    state,
			    "invalid --drain '%s': expected at most %d ascending times of up "
			    "to an hour",
			    arg, MPROF_RUN_DRAINS);
		else
			p->drain_ms[p->drains++] = (unsigned)(ns / 1000000);
	}
	free(copy);
}

static int64_t limit_of(const char *arg, struct argp_state *state)
{
	struct error err;
	uint64_t ns;

	if (parse_time(arg, &ns, &err))
		argp_error(state, "%s", err.text);
	else if (ns < 1000000 || ns > UINT64_C(1000000000000000))
		argp_error(state, "invalid --time-limit '%s': expected 1ms to 11 days", arg);
	else
		return (int64_t)(ns / 1000000);
	return 0;
}

/* Everything said: the list, its settings, and what --quick leaves open. */
static void finish(struct replay_cli *c, struct argp_state *state)
{
	struct error err;
	size_t i;
	int ret = 0;

	if (!c->lists.count)
		ret = variants_parse(&c->variants, "all", &err);
	for (i = 0; i < c->lists.count && !ret; i++)
		ret = variants_parse(&c->variants, c->lists.item[i], &err);
	for (i = 0; i < c->sets.count && !ret; i++)
		ret = variants_set(&c->variants, c->sets.item[i], &err);
	if (ret) {
		argp_error(state, "%s", err.text);
		return;
	}
	if (c->plan.speed && c->plan.mode == RUNS_ORDERED)
		argp_error(state, "--speed needs --mode serial or threads: in order, a thread "
				  "waits for its turn and not for a time");
	for (i = 0; i < c->variants.n; i++)
		c->variants.v[i].clear = c->clear;
	if (!c->reps_said)
		c->plan.reps = c->quick ? REPLAY_QUICK : REPLAY_REPS;
	if (!c->drain_said)
		c->plan.drains = c->quick ? 1 : 3;
	c->plan.latency = !c->quick && c->plan.reps;
}

static error_t parse_how(int key, char *arg, struct argp_state *state)
{
	struct replay_cli *c = state->input;

	switch (key) {
	case MODE:
		c->plan.mode = (enum runs_mode)argument_word(arg, WORDS_PLAY_MODE, state);
		return 0;
	case SPEED:
		c->plan.speed = speed_of(arg, state);
		return 0;
	case TOUCH:
		c->plan.touch = argument_touch(arg, state);
		return 0;
	case CPU:
		c->plan.cpu =
		    strcmp(arg, "any") ? (int)number(arg, CPU_SETSIZE - 1, "processor", state) : -1;
		return 0;
	case THP:
		c->plan.no_huge = argument_word(arg, WORDS_THP, state) == 1;
		return 0;
	case DRAIN:
		c->drain_said = true;
		add_drain(&c->plan, arg, state);
		return 0;
	case KEEP:
		c->plan.keep = true;
		return 0;
	case TIME_LIMIT:
		c->plan.limit_ms = limit_of(arg, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct replay_cli *c = state->input;

	switch (key) {
	case 'a':
		argument_add(&c->lists, arg, state);
		return 0;
	case PROCESS:
		if (!playback_process(arg, &c->process))
			argp_error(state,
				   "invalid --process '%s': expected its number in the run, or all",
				   arg);
		return 0;
	case QUICK:
		c->quick = true;
		return 0;
	case NO_HEAPS:
		c->no_heaps = true;
		return 0;
	case REPS:
		c->reps_said = true;
		c->plan.reps = number(arg, 10000, "number of runs", state);
		return 0;
	case ENV:
		c->clear = argument_word(arg, WORDS_ENV, state) == 1;
		return 0;
	case SET:
		argument_add(&c->sets, arg, state);
		return 0;
	case ARGP_KEY_END:
		finish(c, state);
		return 0;
	default:
		return parse_how(key, arg, state);
	}
}

const struct argp replay_argp = { .options = options, .parser = parse };

void replay_cli_init(struct replay_cli *c)
{
	*c = (struct replay_cli){
		.plan = { .cpu = sched_getcpu(), .drain_ms = { 100, 1000, 5000 } },
	};
}

void replay_cli_release(struct replay_cli *c)
{
	variants_release(&c->variants);
	free(c->lists.item);
	free(c->sets.item);
	*c = (struct replay_cli){ .process = 0 };
}
