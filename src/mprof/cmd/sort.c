// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * sort.c - `mprof sort`: compiles a trace to a playback file, or checks one.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../print/json_rows.h"
#include "../util/format.h"
#include "../util/alloc.h"
#include "../util/styled.h"
#include "cmd.h"
#include "playback_input.h"
#include "running.h"
#include "usage.h"

struct options {
	const char *log, *output;
	struct playback_options playback;
	bool json, check;
};

static int check_output(void *options, struct error *err)
{
	const struct options *o = options;

	if (o->check && o->output)
		return fail(err, -EINVAL, "--check writes nothing; leave out -o");
	return 0;
}

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_FILE('o', "output", "FILE", output, "Write the playback file to FILE [LOG.play]"),
	OPTION_CUSTOM(
	    0, "process", "NUMBER|all", uint32_t, playback.process, &option_process_or_all,
	    "Compile the process with this number in the run, or all as threads of one process "
	    "[the one with most calls]"),
	OPTION_JSON(json),
	OPTION_FLAG(0, "check", check, "Check every word of a playback file; write nothing"),
	OPTION_ROWS_ALONE(option_memory),
	OPTION_END,
};

static const struct usage usage = {
	.options = options,
	.args = "LOG",
	.doc = "Compiles a trace, or another tool's record of calls, to a playback file: the same "
	       "calls in the same order, with block numbers instead of addresses, ready to be "
	       "played on any allocator. The commands replay, image, movie and compare compile "
	       "traces themselves; a playback file saves them this step." RUNNING_HELP,
	.words = USAGE_FILE,
	.at = offsetof(struct options, log),
	.missing = "no trace given; for example: mprof sort mprof.log",
	.check = check_output,
};

static const char *const op_names[] = {
	[MPROF_PLAY_MALLOC] = "malloc",	  [MPROF_PLAY_FREE] = "free",
	[MPROF_PLAY_CALLOC] = "calloc",	  [MPROF_PLAY_REALLOC] = "realloc",
	[MPROF_PLAY_ALIGNED] = "aligned",
};

/* ---- as text ---- */

static void print_text(const struct playfile *p)
{
	const struct mprof_playback_header *h = playfile_header(p);
	const struct mprof_play_summary *s = &h->sum;
	const char *comma = "";
	unsigned op;

	terminal_fit();
	printf("%s: %s", playfile_path(p), format_many(s->calls, "call", "calls").s);
	if (*h->program)
		printf(" of '%.60s%s'", h->program, strlen(h->program) > 60 ? "..." : "");
	printf("\n  ");
	for (op = MPROF_PLAY_MALLOC; op <= MPROF_PLAY_ALIGNED; op++) {
		if (!s->by_op[op])
			continue;
		printf("%s%s %s", comma, format_count(s->by_op[op]).s, op_names[op]);
		comma = ", ";
	}
	printf("; %s requested\n", format_bytes(s->asked_bytes).s);
	printf("  peak %s in up to %s, after call %s\n", format_bytes(s->peak_bytes).s,
	       format_many(s->peak_blocks, "block", "blocks").s, format_count(s->peak_op + 1).s);
	printf("  live at the end %s in %s\n", format_bytes(s->left_bytes).s,
	       format_many(s->left_blocks, "block", "blocks").s);
	printf("  %s", format_many(h->threads, "thread", "threads").s);
	if (h->threads > 1)
		printf(", %s by a thread other than the one that allocated",
		       format_many(s->remote_frees, "block freed", "blocks freed").s);
	if (h->flags & MPROF_PLAY_HAS_TIMES)
		printf("; recorded in %s", format_ns(s->recorded_ns).s);
	printf("\n  %s, %.1f bytes a call; %s\n", format_bytes(h->file_bytes).s,
	       (double)h->file_bytes / (double)s->calls, format_many(h->slots, "slot", "slots").s);
}

/* ---- as JSON ---- */

#include "../json/sort.def"

/* ---- the command ---- */

static int answer(const char *path, const struct options *o, const struct playback_source *source)
{
	struct playfile *p;
	struct error err;
	int status = STATUS_OK;

	if (playfile_open(&p, path, &err))
		return cmd_error(STATUS_FILE, "%s", err.text);
	if (o->check && playfile_check(p, &err))
		status = cmd_error(STATUS_FILE, "%s", err.text);
	else if (o->json)
		json_print(stdout, JSON_NEW(playback, p, source));
	else
		print_text(p);
	playfile_close(p);
	return status;
}

static int compile(const struct options *o)
{
	struct playback_source source;
	struct mprof_play_summary sum;
	char *path = NULL;
	int status;

	if (playfile_is(o->log))
		return cmd_error(STATUS_USAGE,
				 "'%s' is already a playback file; mprof sort --check checks it",
				 o->log);
	if (o->output)
		path = must_strdup(o->output);
	else
		path = must_printf("%s.play", running_name(o->log));
	status = output_check(path, o->log, o->output);
	if (!status)
		status = playback_compile(o->log, path, -1, &o->playback, &source, &sum);
	if (!status) {
		status = answer(path, o, &source);
		playback_source_release(&source);
	}
	free(path);
	return status;
}

int cmd_sort(int argc, char **argv)
{
	struct options o = { .log = NULL };

	if (usage_take(&usage, argc, argv, &o))
		return STATUS_USAGE;
	if (o.check)
		return answer(o.log, &o, NULL);
	return running_find((char **)&o.log, 1) ?: compile(&o);
}
