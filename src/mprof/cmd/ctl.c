/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ctl.c - `mprof ctl`: reads and controls a profile while its program runs.
 *
 * The program is not involved: its profile can be read at any time, so a dump is a copy made by
 * this process; pausing and clearing are a word in the header, which every process maps and
 * compares at its next call.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../export/exports.h"
#include "../pass/site_totals.h"
#include "../run/code_names.h"
#include "../run/run_file_of.h"
#include "../trace/append.h"
#include "../trace/combine.h"
#include "../trace/lost.h"
#include "../util/alloc.h"
#include "../util/format.h"
#include "../util/ranges.h"
#include "cmd.h"
#include "usage.h"

#define TRIES	   20 /* to copy a file that the program is writing */
#define TRY_US	   50000
#define NUMBER_MAX 1000000u

struct options {
	struct arguments words;
	uint64_t pid;
	const char *output;
	const struct action *action;
};

struct action {
	const char *name;
	int (*run)(struct run_file_of *t, const struct options *o, struct error *err);
};

/* ---- dump ---- */

/* Returns the first free name of FILE.1, FILE.2 ... */
static char *free_name(const char *path)
{
	char *name;

	for (unsigned i = 1; i < NUMBER_MAX; i++) {
		name = must_printf("%s.%u", path, i);
		if (access(name, F_OK))
			return name;
		free(name);
	}
	return NULL;
}

/* Between two stores of the program a part may be incomplete; it is complete soon afterwards. */
static int copy(struct run_file_of *t, const char *name, struct error *err)
{
	const char *const from[] = { t->link };
	struct export_file f;
	int ret = -EBADMSG;

	for (int i = 0; i < TRIES && (ret == -EBADMSG || ret == -EAGAIN); i++) {
		if (i)
			usleep(TRY_US);
		ret = export_file_open_recording(&f, name, err);
		if (ret)
			return ret;
		ret = export_file_done(&f, trace_combine(f.out, from, 1, MPROF_FILE_RUNNING, err),
				       err);
	}
	if (ret == -ENOSPC || ret == -EDQUOT)
		return fail(err, ret, "cannot write '%s': %s; name a file elsewhere with -o FILE",
			    name, strerror(-ret));
	return ret;
}

static int dump(struct run_file_of *t, const struct options *o, struct error *err)
{
	char *name = o->output ? must_strdup(o->output) : free_name(t->path);
	int ret =
	    name ? copy(t, name, err)
		 : fail(err, -EEXIST,
			"'%s.1' to '%s.%u' exist; delete some, or name another file with -o FILE",
			t->path, t->path, NUMBER_MAX - 1);

	if (!ret)
		code_names_add(name); /* as at the end of a run */
	if (!ret) {
		fputs("mprof: ", stderr);
		cmd_next(name);
		printf("%s\n", cmd_path(name));
	}
	free(name);
	return ret;
}

/* ---- status ---- */

static bool ended_early(const struct tree *tree, pid_t pid)
{
	uint64_t n = 0;

	for (size_t i = 0; i < tree->processes; i++)
		for (unsigned k = 0; k < MPROF_LOST_REASONS; k++)
			if (tree->process[i].pid == pid && lost_reason[k].counts == LOST_PROCESSES)
				n += tree->process[i].lost[k];
	return n > 0;
}

static void print_state(const struct run_file_of *t, struct trace *trace, const struct tree *tree)
{
	printf("process %d: %s, profile %s%s (%s)\n", (int)t->pid,
	       ended_early(tree, t->pid) ? "recording ended early"
	       : t->header.paused & 1	 ? "paused"
					 : "recording",
	       cmd_path(t->path), t->deleted ? ", which was deleted" : "",
	       format_bytes(trace_bytes(trace)).s);
	for (unsigned i = 0; i < MPROF_LOST_REASONS; i++)
		if (tree->lost[i] && lost_reason[i].counts == LOST_PROCESSES)
			printf("recording ended early in %s: %s\n",
			       format_many(tree->lost[i], "process", "processes").s,
			       lost_reason[i].at_end);
}

static int status(struct run_file_of *t, const struct options *o, struct error *err)
{
	struct site_lanes lanes;
	struct walk_input input;
	struct trace *trace;
	struct tree tree;
	struct site_now now;
	int ret = trace_open(&trace, t->link, MPROF_MAGIC_PROFILE, err);

	if (ret)
		return ret;
	site_lanes_read(&lanes, trace);
	walk_input_from_trace(&input, trace);
	tree_make(&tree, &input, 0, trace_damage(trace)->lost);
	site_now_read(&now, trace, &tree);
	print_state(t, trace, &tree);
	tree_release(&tree);
	if (trace_is_sampled(trace))
		printf("samples of %s\n", format_many(lanes.threads, "thread", "threads").s);
	else
		printf("%s of %s\n", format_many(lanes.calls, "call", "calls").s,
		       format_many(lanes.threads, "thread", "threads").s);
	if (t->header.processes > 1)
		printf("live %s in %s, peak of the largest %s\n", format_bytes(now.live_bytes).s,
		       format_many(now.processes, "process", "processes").s,
		       format_bytes(now.peak_bytes).s);
	else
		printf("live %s, peak %s\n", format_bytes(now.live_bytes).s,
		       format_bytes(now.peak_bytes).s);
	trace_close(trace);
	return 0;
}

/* ---- pause, resume, clear ---- */

enum change { PAUSE, RESUME, CLEAR };

/* header.paused is 1 while paused, and 2 more for each clear. */
static void change_header(struct mprof_file_header *h, enum change change, uint64_t ticks)
{
	uint32_t had;

	switch (change) {
	case PAUSE:
		had = __atomic_fetch_or(&h->paused, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&h->pauses, !(had & 1), __ATOMIC_RELAXED);
		break;
	case RESUME:
		__atomic_fetch_and(&h->paused, ~1u, __ATOMIC_RELAXED);
		break;
	case CLEAR:
		__atomic_store_n(&h->cleared_ticks, ticks, __ATOMIC_RELEASE);
		had = __atomic_fetch_add(&h->paused, 2, __ATOMIC_RELAXED);
		__atomic_store_n(&h->pauses, had & 1, __ATOMIC_RELAXED);
		break;
	}
}

static int change(struct run_file_of *t, enum change change, struct error *err)
{
	struct append a;
	int ret = append_open_link(&a, t->link, t->header.run_id);

	if (ret)
		return fail(err, ret, "cannot write '%s': %s", t->path,
			    ret == -EAGAIN ? "it is now another file" : strerror(-ret));
	change_header(a.header, change, append_ticks(&a));
	append_close(&a);
	return 0;
}

static int pause_it(struct run_file_of *t, const struct options *o, struct error *err)
{
	return change(t, PAUSE, err);
}

static int resume_it(struct run_file_of *t, const struct options *o, struct error *err)
{
	return change(t, RESUME, err);
}

static int clear(struct run_file_of *t, const struct options *o, struct error *err)
{
	return change(t, CLEAR, err);
}

/* ---- the command ---- */

static const struct action actions[] = {
	{ "dump", dump },	 { "status", status }, { "pause", pause_it },
	{ "resume", resume_it }, { "clear", clear },
};

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_FILE('o', "output", "FILE", output,
		    "Write the dump to FILE [beside the profile, numbered]"),
	OPTION_ROWS_ALONE(option_memory),
	OPTION_END,
};

static const struct action *find_action(const char *name)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strcmp(actions[i].name, name))
			return &actions[i];
	return NULL;
}

static int check(void *options, struct error *err)
{
	struct options *o = options;
	const char *const *word = (const char *const *)o->words.item;

	if (find_action(word[0]))
		return fail(err, -EINVAL, "the process comes first: mprof ctl %s %s",
			    o->words.count > 1 ? word[1] : "PID", word[0]);
	if (parse_whole(word[0], 1, INT_MAX, &o->pid))
		return fail(err, -EINVAL, "invalid PID '%s': expected the number of a process",
			    word[0]);
	if (o->words.count < 2)
		return fail(err, -EINVAL, "no action given; for example: mprof ctl %s dump",
			    word[0]);
	if (o->words.count > 2)
		return fail(err, -EINVAL, "unexpected argument '%s': expected one action", word[2]);
	o->action = find_action(word[1]);
	if (!o->action)
		return fail(err, -EINVAL,
			    "invalid action '%s': expected dump, status, pause, resume or clear",
			    word[1]);
	if (o->output && o->action->run != dump)
		return fail(err, -EINVAL, "--output belongs to dump");
	return 0;
}

static const struct usage usage = {
	.options = options,
	.args = "PID dump|status|pause|resume|clear",
	.doc = "Dumps, pauses, resumes or clears the profile of a running program, or shows its "
	       "status. This works for programs that were started with mprof profile, or with "
	       "MODE=Profile or MODE=Sample, and does not interrupt them.\vThe "
	       "action applies to all processes that share the profile, not only to PID.",
	.words = USAGE_FILES,
	.at = offsetof(struct options, words),
	.missing = "no process and action given; for example: mprof ctl 4711 dump",
	.check = check,
};

int cmd_ctl(int argc, char **argv)
{
	struct options o = { .output = NULL };
	static struct run_file_of t;
	struct error err;
	int ret;

	if (usage_take(&usage, argc, argv, &o))
		return STATUS_USAGE;
	ret = run_file_find(&t, (pid_t)o.pid, MPROF_MAGIC_PROFILE, &err);
	if (!ret)
		ret = o.action->run(&t, &o, &err);
	if (!ret)
		return STATUS_OK;
	return cmd_error(STATUS_FILE, "%s", err.text);
}
