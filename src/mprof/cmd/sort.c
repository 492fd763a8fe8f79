// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * sort.c - `mprof sort`: compiles a trace to a playback file, or checks one.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../export/exports.h"
#include "../print/json_rows.h"
#include "../print/text.h"
#include "argument.h"
#include "cmd.h"
#include "output.h"
#include "playback_input.h"
#include "usage.h"

struct options {
	const char *log, *output;
	struct playback_options playback;
	bool json, check;
};

enum { JSON = 256, PROCESS, CHECK };

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "Write the playback file to FILE [LOG.play]", 0 },
	{ "process", PROCESS, "N|all", 0,
	  "Compile the process with this number in the run, or all as threads of one [the one with "
	  "most calls]",
	  0 },
	{ "json", JSON, NULL, 0, "Print one JSON object", 0 },
	{ "check", CHECK, NULL, 0, "Check every word of a playback file; write nothing", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'o':
		o->output = arg;
		return 0;
	case PROCESS:
		if (!playback_process(arg, &o->playback.process))
			argp_error(
			    state,
			    "invalid --process '%s': expected the number of a process or all", arg);
		return 0;
	case JSON:
		o->json = true;
		return 0;
	case CHECK:
		o->check = true;
		return 0;
	case ARGP_KEY_END:
		if (o->check && o->output)
			argp_error(state, "--check writes nothing; leave out -o");
		return 0;
	default:
		return argument_file(key, arg, state, &o->log,
				     "which trace? for example: mprof sort mprof.log");
	}
}

static const struct argp_child children[] = {
	{ &memory_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = children,
	.args_doc = "LOG",
	.doc = "Compiles a trace, or another tool's record of calls, to a playback file: the same "
	       "calls in the same order, with block numbers instead of addresses, ready to be "
	       "played on any allocator. mprof replay, image, movie and compare compile traces "
	       "themselves; a playback file saves them this step.",
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

	printf("%s: %s", playfile_path(p), text_many(s->calls, "call", "calls").s);
	if (*h->program)
		printf(" of '%.60s%s'", h->program, strlen(h->program) > 60 ? "..." : "");
	printf("\n  ");
	for (op = MPROF_PLAY_MALLOC; op <= MPROF_PLAY_ALIGNED; op++) {
		if (!s->by_op[op])
			continue;
		printf("%s%s %s", comma, text_count(s->by_op[op]).s, op_names[op]);
		comma = ", ";
	}
	printf("; %s asked for\n", text_bytes(s->asked_bytes).s);
	printf("  peak %s in up to %s, after call %s\n", text_bytes(s->peak_bytes).s,
	       text_many(s->peak_blocks, "block", "blocks").s, text_count(s->peak_op + 1).s);
	printf("  left at the end %s in %s\n", text_bytes(s->left_bytes).s,
	       text_many(s->left_blocks, "block", "blocks").s);
	printf("  %s", text_many(h->threads, "thread", "threads").s);
	if (h->threads > 1)
		printf(", %s by another thread than allocated",
		       text_many(s->remote_frees, "block freed", "blocks freed").s);
	if (h->flags & MPROF_PLAY_HAS_TIMES)
		printf("; recorded in %s", text_ns(s->recorded_ns).s);
	printf("\n  %s, %.1f bytes a call; %s\n", text_bytes(h->file_bytes).s,
	       (double)h->file_bytes / (double)s->calls, text_many(h->slots, "slot", "slots").s);
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
	else if (!o->json)
		print_text(p);
	else if (json_print(stdout, JSON_NEW(playback, p, source), &err))
		status = cmd_error(STATUS_FOUND, "%s", err.text);
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
		path = strdup(o->output);
	else if (asprintf(&path, "%s.play", o->log) < 0)
		path = NULL;
	if (!path)
		return cmd_error(STATUS_FOUND, "no memory for a name");
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

	if (usage_parse(&argp, argc, argv, 0, &o))
		return STATUS_USAGE;
	return o.check ? answer(o.log, &o, NULL) : compile(&o);
}
