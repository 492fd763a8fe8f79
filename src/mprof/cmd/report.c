/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * report.c - `mprof report`: what a trace says about its program.
 */
#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../out/report.h"
#include "../pass/analysis.h"
#include "../run/elf.h"
#include "cmd.h"

struct options {
	const char *log;
	struct report_options report;
	bool json;
};

enum { JSON = 256 };

static const struct argp_option options[] = {
	{ "all", 'a', NULL, 0, "Every row of every table, not only the largest", 0 },
	{ "json", JSON, NULL, 0, "The whole analysis as one JSON object", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'a':
		o->report.all = true;
		return 0;
	case JSON:
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->log)
			argp_error(state, "one trace at a time, not '%s' as well", arg);
		o->log = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->log)
			argp_error(state, "which trace? for example: mprof report mprof.log");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "LOG",
	.doc = "Says what a recorded program did with its memory: what ran and how it ended, the"
	       " peak, what was never freed, sizes, waste, realloc, lifetimes and compactness.",
};

/* ---- the progress line ---- */

struct progress {
	struct timespec start;
	bool shown;
};

static void show_progress(void *context, const struct walk *w)
{
	struct progress *p = context;
	struct timespec now;
	uint64_t end = 0, span, done;
	size_t i;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!p->shown && now.tv_sec - p->start.tv_sec + (now.tv_nsec > p->start.tv_nsec) < 2)
		return;
	p->shown = true;
	for (i = 0; i < w->input.thread_count; i++)
		if (w->input.threads[i].last_ticks > end)
			end = w->input.threads[i].last_ticks;
	span = end > w->first_ticks ? end - w->first_ticks : 1;
	done = w->last_ticks < end ? w->last_ticks - w->first_ticks : span;
	fprintf(stderr, "\rmprof: reading, %3.0f %%, %.0f million events ",
		100.0 * (double)done / (double)span, (double)w->events / 1e6);
}

/* ---- the command ---- */

/* Why the programs that are missing could not be recorded, as their files say now. */
static void explain_missing(struct tree *r)
{
	struct program program;
	size_t i;

	for (i = 0; i < r->missing_count; i++) {
		struct tree_missing *m = &r->missing[i];

		if (!m->environment && *m->path && !program_find(m->path, &program, NULL))
			snprintf(m->why, sizeof(m->why), "%s", program.why_not);
	}
}

static int report(struct trace *t, const struct options *o, struct error *err)
{
	struct analysis *a = calloc(1, sizeof(*a));
	struct analysis_source source;
	struct progress progress = { .shown = false };
	int ret;

	if (!a)
		return fail(err, -1, "no memory to read '%s'", o->log);
	analysis_source_of(&source, t);
	clock_gettime(CLOCK_MONOTONIC, &progress.start);
	if (isatty(STDERR_FILENO))
		source.progress = show_progress;
	source.progress_context = &progress;
	ret = analysis_make(a, &source, err);
	if (progress.shown)
		fputs("\r\033[K", stderr);
	if (!ret) {
		explain_missing(&a->tree);
		ret =
		    o->json ? report_json(a, stdout, err) : report_text(a, &o->report, stdout, err);
	}
	analysis_release(a);
	free(a);
	return ret;
}

int cmd_report(int argc, char **argv)
{
	struct options o = { .log = NULL };
	struct error err = { "" };
	struct trace *t;
	int ret;

	if (argp_parse(&argp, argc, argv, 0, NULL, &o))
		return STATUS_USAGE;
	if (trace_open(&t, o.log, MPROF_MAGIC_TRACE, &err) < 0)
		return cmd_error(STATUS_FILE, "%s", err.text);
	ret = report(t, &o, &err);
	trace_close(t);
	return ret < 0 ? cmd_error(STATUS_FOUND, "%s", err.text) : STATUS_OK;
}
