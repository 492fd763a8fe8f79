// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_run.c - plays the input of a command on its list of allocators. */
#include "replay_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../run/library.h"
#include "../sym/code.h"
#include "../util/alloc.h"
#include "../util/styled.h"
#include "../util/pager.h"
#include "cmd.h"
#include "progress.h"

/* Adds the program's own allocator to the default list if it is a library without a name of ours.
 */
static void add_used(struct replay_cli *cli, const char *used)
{
	struct variants *vs = &cli->variants;
	struct error err;

	if (cli->allocators || !used || allocator_name(used) || !strstr(basename(used), ".so"))
		return;
	if (variants_parse(vs, used, &err))
		cmd_warn("%s", err.text);
	else
		vs->v[vs->n - 1].clear = cli->clear;
}

/* Finds the settings that the runs inherit. */
static void find_inherited(struct replay_answer *a, bool clear)
{
	size_t room = 0, i;

	for (i = 0; environ && environ[i] && !clear; i++) {
		if (!variant_is_setting(environ[i]))
			continue;
		GROW(a->inherited, a->inherited_n + 1, room);
		a->inherited[a->inherited_n++] = environ[i];
	}
}

static int play(struct replay_run *r, struct replay_cli *cli, struct error *err)
{
	struct progress progress;
	int ret;

	cli->plan.progress = progress_begin(&progress) ? progress_run : NULL;
	cli->plan.context = &progress;
	ret = runs_make(&r->runs, &cli->plan, &cli->variants, err);
	progress_done(&progress);
	return ret;
}

/* ---- where blocks lie ---- */

static void show_heap(void *context, const char *name, size_t done, size_t of)
{
	progress_run(context, "heap of", name, (unsigned)done, (unsigned)of);
}

/* Allocators that failed are not run again. */
static void choose_played(struct replay_run *r, const struct variants *vs)
{
	size_t i;

	r->played.v = must_calloc(vs->n + 1, sizeof(*r->played.v));
	r->answer.heap = must_calloc(vs->n + 1, sizeof(*r->answer.heap));
	for (i = 0; i < vs->n; i++)
		if (!r->runs.row[i].status)
			r->played.v[r->played.n++] = vs->v[i];
}

static void find_names(struct replay_run *r)
{
	const struct profile_options o = { .sites = { .filter = SITE_FILTER_ALL } };
	struct error err;

	if (!r->in.trace)
		return;
	if (profile_names(&r->profile, r->in.trace, &o, &err) < 0) {
		cmd_warn("%s", err.text);
		return;
	}
	r->named = true;
	r->answer.heaps.names = &r->profile;
}

static bool recorded_is_played(const struct replay_run *r, const struct replay_cli *cli)
{
	return cli->process != COMPILE_ALL &&
	       !(playfile_header(r->in.file)->flags & MPROF_PLAY_CHANGED);
}

struct place_plan replay_run_plan(const struct replay_run *r, const struct replay_cli *cli)
{
	return (struct place_plan){
		.at = PLACE_NOWHERE,
		.mode = r->runs.memory_mode == RUNS_ORDERED ? "ordered" : "serial",
		.touch = r->runs.touch,
		.no_huge = cli->plan.no_huge,
		.limit_ms = cli->plan.limit_ms,
	};
}

static void look_at_heaps(struct replay_run *r, const struct replay_cli *cli)
{
	struct progress progress;
	const struct memories_plan plan = {
		.playback = r->in.path,
		/* Heaps are compared only if they are of the process that was played. */
		.trace = recorded_is_played(r, cli) ? r->in.trace : NULL,
		.process = cli->process,
		.plan = replay_run_plan(r, cli),
		.progress = progress_begin(&progress) ? show_heap : NULL,
		.context = &progress,
	};
	size_t i, n = 0;

	choose_played(r, &cli->variants);
	memories_make(&r->memories, &plan, &r->played);
	progress_done(&progress);
	for (i = 0; i < r->runs.n; i++)
		if (!r->runs.row[i].status)
			r->answer.heap[i] = &r->memories.row[n++];
	r->answer.heaps.memories = &r->memories;
	find_names(r);
}

/* ---- all of it ---- */

int replay_run_make(struct replay_run *r, const char *path, struct replay_cli *cli)
{
	/* The answer includes what was left out. */
	const struct playback_options o = { .process = cli->process, .quiet = true };
	struct error err = { "" };
	int status, ret;

	*r =
	    (struct replay_run){ .answer = { .path = path, .plan = &cli->plan, .runs = &r->runs } };
	status = playback_input_open(&r->in, path, &o);
	if (status)
		return status;
	cli->plan.playback = r->in.path;
	cli->plan.head = playfile_header(r->in.file);
	r->answer.choice = r->in.choice;
	r->answer.recorded_under = playback_allocator(&r->in);
	r->answer.of_python = r->in.trace && code_of_python(trace_stacks(r->in.trace));
	add_used(cli, r->answer.recorded_under);
	if (!cli->clear)
		r->answer.settings_n =
		    playback_configure(&r->in, &cli->variants, &r->answer.settings);
	ret = play(r, cli, &err);
	if (ret)
		return cmd_error(ret == -EBADMSG ? STATUS_FILE : STATUS_FOUND, "%s", err.text);
	if (!cli->no_heaps)
		look_at_heaps(r, cli);
	verdict_make(&r->answer.verdict, &r->runs, cli->plan.head->sum.peak_bytes,
		     r->answer.recorded_under);
	find_inherited(&r->answer, cli->clear);
	return STATUS_OK;
}

int replay_run_print(const struct replay_run *r, bool as_json, bool paged,
		     void (*text)(const struct replay_answer *a, FILE *out))
{
	if (as_json) {
		json_print(stdout, replay_json(&r->answer));
	} else {
		if (paged)
			pager_start();
		terminal_fit();
		text(&r->answer, stdout);
	}
	return r->answer.verdict.played ? STATUS_OK : STATUS_FOUND;
}

void replay_run_release(struct replay_run *r)
{
	if (r->named)
		profile_release(&r->profile);
	memories_release(&r->memories);
	free(r->played.v);
	free(r->answer.heap);
	verdict_release(&r->answer.verdict);
	runs_release(&r->runs);
	free(r->answer.inherited);
	free(r->answer.settings);
	if (r->in.file)
		playback_input_close(&r->in);
	*r = (struct replay_run){ .answer = { .path = NULL } };
}
