/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * report.c - `mprof report`: what a trace says about its program, as a whole or
 * in one of the views of print/views.def.
 */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../print/print_totals.h"
#include "../print/report.h"
#include "../util/pager.h"
#include "../util/ranges.h"
#include "../util/terminal.h"
#include "cmd.h"
#include "argument.h"
#include "export_files.h"
#include "foreign.h"
#include "overview.h"
#include "forms.h"
#include "report_html.h"
#include "report_view.h"
#include "usage.h"

struct options {
	char **word; /* arguments that are no options: [VIEW [ARG]] LOG... */
	size_t words;
	char **log;
	size_t logs;
	struct report_options report;
	struct report_view view; /* view.view is NULL for the overview */
	struct profile_cli cli;
	struct argument_list source;
	char *newest;		 /* the trace, when none was named */
	const char *of_views;	 /* an option that only views have */
	struct report_html html; /* path: write the page here; NULL */
};

enum { JSON = 256, BY, SORT, TOP, MIN_PERCENT, DEPTH, SOURCE_DIR, HTML, OPEN, SOURCES, AT, ALL };

static const struct argp_option options[] = {
	{ "all", ALL, NULL, 0, "Print every table; of a view, every row", 0 },
	{ "html", HTML, "FILE", 0, "Write one HTML page with flame graphs and tables", 0 },
	{ "open", OPEN, NULL, 0, "Open the page in the desktop's browser", 0 },
	{ "sources", SOURCES, NULL, 0, "Put the text of the source files into the page", 0 },
	{ "json", JSON, NULL, 0, "Print the whole answer as one JSON object", 0 },
	{ NULL, 0, NULL, 0, "Options of a view:", 1 },
	{ "at", AT, "WHEN", 0, "Show what was live then: " WHEN_HELP, 1 },
	{ "by", BY, "WHAT", 0, "Print a row per stack, function, line, file, module ...", 1 },
	{ "sort", SORT, "VALUE", 0, "Sort by this figure (mprof export --value help)", 1 },
	{ "top", TOP, "N", 0, "Print at most N rows, 0 for all [20; all with --json]", 1 },
	{ "depth", DEPTH, "N", 0, "Print at most N lines of a stack, or levels of a tree", 1 },
	{ "min-percent", MIN_PERCENT, "PERCENT", 0, "Leave out smaller branches of a tree [1]", 1 },
	{ "source-dir", SOURCE_DIR, "DIR", 0, "Look for source files in DIR first; may be repeated",
	  1 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

/* ---- words ---- */

static size_t number(const char *arg, const char *what, struct argp_state *state)
{
	uint64_t n = 0;

	if (parse_whole(arg, 0, UINT32_MAX, &n))
		argp_error(state, "invalid number of %s '%s': expected a whole number", what, arg);
	return n;
}

static void add_source(struct options *o, const char *dir, struct argp_state *state)
{
	argument_add(&o->source, dir, state);
	o->view.request.source = o->html.source_dir = o->source.item;
}

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st);
}

/* The newest trace here, where none was named. */
static void take_newest(struct options *o, const struct view *v, struct argp_state *state)
{
	o->newest = export_newest();
	if (!o->newest)
		argp_error(state,
			   "which trace? there is none in this directory; for example: mprof report"
			   " %s%s%s%smprof.log",
			   v ? v->name : "", v ? " " : "", v && *v->arg ? o->view.request.arg : "",
			   v && *v->arg ? " " : "");
	fprintf(stderr, "mprof: reading the newest trace here, '%s'\n", o->newest);
	o->log = &o->newest;
	o->logs = 1;
}

/* The first word is a view, unless it is all there is and a file of that name exists. */
static void find_view(struct options *o, struct argp_state *state)
{
	const char *word = o->words ? o->word[0] : "";
	const struct view *v = view_find(word);
	struct error err;
	size_t taken = 0;

	if (v && (o->words > 1 || !is_file(word))) {
		o->view.view = v;
		taken = 1;
		if (*v->arg) {
			if (o->words < 2 || (o->words == 2 && export_is_trace(o->word[1])))
				argp_error(state, "which %s? for example: mprof report %s %s %s",
					   v->arg, v->name,
					   strcmp(v->arg, "FILE") ? "main" : "main.c",
					   o->words < 2 ? "mprof.log" : o->word[1]);
			o->view.request.arg = o->word[taken++];
		}
	} else if (o->words > 1) {
		if (is_file(word))
			argp_error(state, "expected one trace, got '%s' as well", o->word[1]);
		else if (view_unknown(word, &err))
			argp_error(state, "%s", err.text);
	}
	o->log = o->word + taken;
	o->logs = o->words - taken;
	if (!o->logs)
		take_newest(o, v, state);
	if (!o->of_views)
		o->of_views = o->cli.filter;
	if (!o->of_views && o->source.count && !o->html.path)
		o->of_views = "source-dir";
	if (o->of_views && !o->view.view)
		argp_error(state, "--%s needs a view, for example: mprof report peak --%s ... %s",
			   o->of_views, o->of_views, o->log[0]);
}

/* ---- the parser ---- */

static error_t parse_view(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct view_request *r = &o->view.request;
	struct error err;

	switch (key) {
	case AT:
		o->of_views = "at";
		when_parse(&o->view.at, arg, state);
		return 0;
	case BY:
		o->of_views = "by";
		r->grouped = true;
		if (profile_by_find(arg, &r->by, &err) < 0)
			argp_error(state, "%s", err.text);
		return 0;
	case SORT:
		o->of_views = "sort";
		r->sorted = true;
		if (profile_value_find(arg, &r->sort, &err) < 0)
			argp_error(state, "%s", err.text);
		return 0;
	case TOP:
		o->of_views = "top";
		r->top = number(arg, "rows", state);
		r->top_said = true;
		return 0;
	case DEPTH:
		o->of_views = "depth";
		r->depth = (unsigned)number(arg, "lines", state);
		return 0;
	case MIN_PERCENT:
		o->of_views = "min-percent";
		r->min_percent = argument_percent(arg, state);
		return 0;
	case SOURCE_DIR:
		add_source(o, arg, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void check_at(const struct options *o, struct argp_state *state)
{
	const char *why = o->view.view ? report_view_moment(&o->view) : NULL;

	if (why)
		argp_error(state, "%s", why);
}

static void check_html(const struct options *o, struct argp_state *state)
{
	if (o->html.path && o->view.view)
		argp_error(state, "--html shows every view: leave '%s' out", o->view.view->name);
	if (o->html.path && o->view.request.json)
		argp_error(state, "--html and --json: choose one");
	if (o->html.open && (!o->html.path || !strcmp(o->html.path, "-")))
		argp_error(state, "--open needs --html FILE");
	if (o->html.sources && !o->html.path)
		argp_error(state, "--sources needs --html FILE");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->cli;
		return 0;
	case ALL:
		o->report.all = o->view.request.top_said = true;
		return 0;
	case JSON:
		o->view.request.json = true;
		return 0;
	case HTML:
		o->html.path = arg;
		return 0;
	case OPEN:
		o->html.open = true;
		return 0;
	case SOURCES:
		o->html.sources = true;
		return 0;
	case ARGP_KEY_ARG:
		o->word[o->words++] = arg;
		return 0;
	case ARGP_KEY_END:
		find_view(o, state);
		check_at(o, state);
		check_html(o, state);
		return 0;
	default:
		return parse_view(key, arg, state);
	}
}

static char *list_views(int key, const char *text, void *input)
{
	const struct view *v;
	char *list = NULL;
	size_t n;
	FILE *out;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	out = open_memstream(&list, &n);
	if (!out)
		return NULL;
	fputs("Views:\n", out);
	for (v = view_table; v->name; v++)
		fprintf(out, "  %s%s%-*s %s\n", v->name, *v->arg ? " " : "",
			17 - (int)strlen(v->name) - (*v->arg != 0), v->arg, v->help);
	return fclose(out) ? NULL : list;
}

static const struct argp_child children[] = {
	{ &profile_argp, 0, NULL, 0 },
	{ &memory_argp, 0, NULL, 0 },
	{ &terminal_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[LOG]\nVIEW [ARG] [LOG...]",
	.doc = "Explains a trace on one screen: what ran, the peak, leaks, and findings; or, with"
	       " VIEW, which call stacks allocated the memory. Without LOG: the newest trace in"
	       " the current directory."
	       "\v",
	.children = children,
	.help_filter = list_views,
};

/* ---- the command ---- */

static int answer(void *options, const struct analysis *a, struct error *err)
{
	const struct options *o = options;

	if (o->html.path)
		return report_html(a, &o->cli.options, &o->html, err);
	if (!o->view.request.json && !o->report.analyses)
		pager_start();
	return o->view.request.json ? report_json(a, stdout, err)
				    : report_text(a, &o->report, stdout, err);
}

/* ---- of a profile: totals, no events ---- */

static int print_profile(struct analysis *a, struct trace *t, struct profile_options *o,
			 const struct report_options *report, bool json, struct error *err)
{
	struct print_totals totals = { .a = a };
	struct site_lanes *lanes = calloc(1, sizeof(*lanes));
	struct profile *p = calloc(1, sizeof(*p));
	struct rank_totals ranks = { .count = 0 };
	int ret = lanes && p ? 0 : fail(err, -ENOMEM, "no memory to read '%s'", trace_path(t));

	o->by = PROFILE_BY_FUNCTION;
	if (!ret && rank_totals_read(&ranks, t))
		ret = fail(err, -ENOMEM, "no memory to read '%s'", trace_path(t));
	if (!ret)
		ret = profile_make(p, t, o, err);
	if (!ret) {
		totals.ranks = &ranks;
		site_lanes_read(lanes, t);
		a->sampled = p->sites.totals.estimated;
		a->calls = a->sampled ? p->total.error.samples : lanes->calls;
		a->threads = lanes->threads;
		totals.p = p;
		totals.lanes = lanes;
		ret = json ? totals_json(&totals, stdout, err)
			   : totals_text(&totals, report, stdout, err);
		profile_release(p);
	}
	rank_totals_release(&ranks);
	free(p);
	free(lanes);
	return ret;
}

static int report_totals(struct trace *t, struct profile_options *o,
			 const struct report_options *report, bool json, struct error *err)
{
	struct analysis *a = calloc(1, sizeof(*a));
	struct analysis_source source;
	int ret;

	if (!a)
		return fail(err, -ENOMEM, "no memory to read '%s'", trace_path(t));
	analysis_source_of(&source, t);
	ret = analysis_make(a, &source, err);
	if (!ret) {
		overview_explain(&a->tree);
		ret = print_profile(a, t, o, report, json, err);
	}
	analysis_release(a);
	free(a);
	return ret;
}

static int whole(struct trace *t, struct options *o, struct error *err)
{
	if (trace_has_events(t))
		return overview_make(t, &o->cli.options, answer, o, err);
	if (o->html.path)
		return fail(err, -EINVAL,
			    "'%s' holds totals, not events: --html needs a recording, as mprof"
			    " record makes it",
			    trace_path(t));
	return report_totals(t, &o->cli.options, &o->report, o->view.request.json, err);
}

static int report(struct options *o)
{
	struct error err = { "" };
	char *log = NULL;
	struct trace *t;
	size_t of;
	int ret, status;

	ret = export_pick(o->log, o->logs, &log, &of, &err);
	if (!ret && of > 1)
		fprintf(stderr, "mprof: the largest of %zu traces is '%s'\n", of, log);
	if (!ret)
		ret = import_open(&t, log, NULL, &err);
	free(log);
	if (ret < 0)
		return cmd_error(STATUS_FILE, "%s", err.text);
	if (o->view.view) {
		status = report_view(&o->view, t);
	} else {
		ret = whole(t, o, &err);
		status = ret < 0 ? cmd_error(ret == -EINVAL ? STATUS_USAGE : STATUS_FOUND, "%s",
					     err.text)
				 : STATUS_OK;
	}
	if (!status)
		foreign_tell_times(t);
	trace_close(t);
	return status;
}

/* argv as of a command; analyses: below the first screen, those of mprof -t. */
static int run(int argc, char **argv, bool analyses)
{
	struct options o = { .view = { .request = { .min_percent = 1 } } };
	struct view_request *r = &o.view.request;
	int status = STATUS_USAGE;

	o.report.width = terminal_text_width();
	o.report.analyses = analyses;
	o.word = calloc((size_t)argc + 1, sizeof(*o.word));
	if (!o.word)
		return cmd_error(STATUS_FOUND, "no memory for %d arguments", argc);
	profile_cli_init(&o.cli);
	o.view.cli = &o.cli;
	if (!usage_parse(&argp, argc, argv, 0, &o)) {
		if (!r->top_said)
			r->top = r->json ? 0 : VIEW_ROWS;
		status = report(&o);
	}
	profile_cli_release(&o.cli);
	free(o.source.item);
	free(o.word);
	free(o.newest);
	return status;
}

int report_after_test(const char *path)
{
	static char name[] = "mprof report", end[] = "--";
	char *argv[] = { name, end, (char *)path, NULL };

	return run(3, argv, true);
}

int cmd_report(int argc, char **argv)
{
	return run(argc, argv, false);
}
