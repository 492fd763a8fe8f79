// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_change.c - `mprof replay LOG --drop-site F ...`: what a change would save. */
#include "replay_change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../out/replay_change.h"
#include "../pass/profile.h"
#include "cmd.h"
#include "playback_input.h"
#include "progress.h"

enum { DROP_SITE = CHANGE_KEYS, POOL_SITE, RESERVE_SITE, RESIZE };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0,
	  "What if; F is a function, * and ? may stand in it, and blocks that it or what it called"
	  " asked for:",
	  12 },
	{ "drop-site", DROP_SITE, "F", 0, "They were never asked for", 12 },
	{ "pool-site", POOL_SITE, "F[,chunk=SIZE][,free-list]", 0,
	  "They came out of chunks [of 64K], one behind the other or by size", 12 },
	{ "reserve-site", RESERVE_SITE, "F", 0,
	  "Those that were grown had their greatest size at once", 12 },
	{ "resize", RESIZE, "F=SIZE|xFACTOR", 0, "They were of that size, or so many times theirs",
	  12 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const enum change_kind kind[] = { CHANGE_DROP, CHANGE_POOL, CHANGE_RESERVE,
						 CHANGE_RESIZE };
	struct change_cli *c = state->input;
	struct error err;

	if (key < DROP_SITE || key > RESIZE)
		return ARGP_ERR_UNKNOWN;
	if (c->rules == CHANGE_RULES)
		argp_error(state, "at most %u changes at once", CHANGE_RULES);
	else if (change_parse(&c->rule[c->rules++], kind[key - DROP_SITE], arg, &err))
		argp_error(state, "%s", err.text);
	return 0;
}

const struct argp change_argp = { .options = options, .parser = parse };

void change_cli_release(struct change_cli *c)
{
	while (c->rules)
		free(c->rule[--c->rules].function);
}

/* ---- the two recordings ---- */

struct both {
	struct playback_input in[SIDES];
	struct profile names;
	bool named;
	struct change *change;
};

static bool matches(void *context, const char *function, uint32_t site)
{
	return profile_has_function(context, site, function);
}

/* The trace, which knows the functions. */
static int open_as_it_is(struct both *b, const char *path, uint32_t process)
{
	const struct playback_options o = { .process = process };
	const struct profile_options names = { .by = PROFILE_BY_FUNCTION };
	struct error err = { "" };
	int status = playback_input_open(&b->in[0], path, &o);

	if (status)
		return status;
	if (!b->in[0].trace || !trace_stacks(b->in[0].trace)->definitions)
		return cmd_error(STATUS_FILE,
				 "'%s' has no call stacks, so there are no functions to change; a "
				 "trace of mprof record has",
				 path);
	if (profile_names(&b->names, b->in[0].trace, &names, &err))
		return cmd_error(STATUS_FOUND, "%s", err.text);
	b->named = true;
	return STATUS_OK;
}

/* Finds chains; what is compiled meanwhile goes away. */
static int collect(struct both *b, uint32_t process, struct error *err)
{
	const struct compile_change hook = change_collect(b->change);
	const int fd = memfd_create("mprof-collect", MFD_CLOEXEC);
	const struct compile_options o = { .fd = fd, .process = process, .change = &hook };
	int ret = fd < 0 ? fail(err, -errno, "no temporary file: %s", strerror(errno)) : 0;

	if (!ret)
		ret = compile_trace(b->in[0].trace, &o, NULL, err);
	if (fd >= 0)
		close(fd);
	return ret;
}

static int open_changed(struct both *b, struct change_cli *c, uint32_t process)
{
	const struct change_plan plan = {
		.rule = c->rule,
		.rules = c->rules,
		.matches = matches,
		.context = &b->names,
		.stacks = trace_stacks(b->in[0].trace),
	};
	struct playback_options o = { .process = process, .quiet = true };
	struct compile_change hook;
	struct error err = { "" };
	int status;

	if (change_new(&b->change, &plan, &err))
		return cmd_error(STATUS_FOUND, "%s", err.text);
	if (change_needs_collect(b->change) && collect(b, process, &err))
		return cmd_error(STATUS_FOUND, "%s", err.text);
	hook = change_apply(b->change);
	o.change = &hook;
	status = playback_input_open(&b->in[1], trace_path(b->in[0].trace), &o);
	if (!status && change_finish(b->change, &err))
		status = cmd_error(STATUS_FOUND, "%s", err.text);
	return status;
}

static void close_both(struct both *b)
{
	unsigned s;

	change_free(b->change);
	if (b->named)
		profile_release(&b->names);
	for (s = 0; s < SIDES; s++)
		if (b->in[s].file)
			playback_input_close(&b->in[s]);
}

/* ---- playing them ---- */

static int print(const struct change_answer *a, bool as_json, struct error *err)
{
	return as_json ? json_print(stdout, change_json(a), err) : change_text(a, stdout, err);
}

/* Without a list, on the allocator that nearly every program has. */
static int choose_variants(struct variants *vs, const struct replay_cli *cli, struct error *err)
{
	size_t i;
	int ret = 0;

	*vs = (struct variants){ .n = 0 };
	if (cli->lists.count)
		return 0;
	ret = variants_parse(vs, "glibc", err);
	for (i = 0; i < cli->sets.count && !ret; i++)
		ret = variants_set(vs, cli->sets.item[i], err);
	for (i = 0; i < vs->n; i++)
		vs->v[i].clear = cli->clear;
	return ret;
}

static int play_both(const char *path, const struct both *b, const struct change_cli *c,
		     const struct replay_cli *cli, bool as_json)
{
	struct progress progress;
	const bool tell = progress_begin(&progress);
	struct change_runs_plan plan = { .side = { cli->plan, cli->plan },
					 .heaps = !cli->no_heaps };
	struct change_runs runs = { .n = 0 };
	const struct change_answer a = { path, c->rule, c->rules, &runs, &plan };
	struct error err = { "" };
	struct variants glibc;
	size_t played = 0, i;
	unsigned s;
	int ret = choose_variants(&glibc, cli, &err);

	for (s = 0; s < SIDES; s++) {
		plan.side[s].playback = b->in[s].path;
		plan.side[s].head = playfile_header(b->in[s].file);
		plan.side[s].progress = tell ? progress_run : NULL;
		plan.side[s].context = &progress;
	}
	if (!ret)
		ret = change_runs_make(&runs, &plan, glibc.n ? &glibc : &cli->variants, &err);
	progress_done(&progress);
	if (!ret)
		ret = print(&a, as_json, &err);
	for (i = 0; i < runs.n; i++)
		played += !runs.row[i].status;
	change_runs_release(&runs);
	variants_release(&glibc);
	if (ret)
		return cmd_error(STATUS_FOUND, "%s", err.text);
	return played ? STATUS_OK : STATUS_FOUND;
}

static int nothing_changed(const struct change_cli *c)
{
	size_t i;

	for (i = 0; i < c->rules; i++)
		if (c->rule[i].blocks)
			return STATUS_OK;
	return cmd_error(
	    STATUS_USAGE,
	    "no block is changed by --%s%s %s: mprof report callers shows who asks for "
	    "memory",
	    change_kind_name(c->rule[0].kind), c->rule[0].kind == CHANGE_RESIZE ? "" : "-site",
	    c->rule[0].function);
}

int change_run(const char *path, struct change_cli *c, struct replay_cli *cli, bool as_json)
{
	struct both b = { .change = NULL };
	int status = open_as_it_is(&b, path, cli->process);

	if (!status)
		status = open_changed(&b, c, cli->process);
	if (!status)
		status = nothing_changed(c);
	if (!status)
		status = play_both(path, &b, c, cli, as_json);
	close_both(&b);
	return status;
}
