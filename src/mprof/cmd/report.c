/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * report.c - `mprof report`: explains a trace, as a whole or in one of the views of
 * print/views.def.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../export/exports.h"
#include "../print/print_totals.h"
#include "../print/quote.h"
#include "../print/report.h"
#include "../util/pager.h"
#include "../util/alloc.h"
#include "../util/styled.h"
#include "../util/terminal.h"
#include "cmd.h"
#include "export_files.h"
#include "missing.h"
#include "overview.h"
#include "reach_running.h"
#include "forms.h"
#include "report_html.h"
#include "report_view.h"
#include "running.h"
#include "usage.h"

struct options {
	struct arguments word; /* [VIEW [ARG]] LOG... */
	struct arguments log;
	struct report_options report;
	struct report_view view; /* view.view is NULL for the overview */
	struct profile_cli cli;
	char *newest;		 /* the trace, if none was named */
	const char *of_views;	 /* an option that was given and that only views have */
	struct report_html html; /* path: write the page here; may be NULL */
	bool reach;
};

#define OPTIONS	 struct options
#define OF_VIEWS .named = OPTION_AT(of_views)
static const struct option_row options[] = {
	OPTION_FLAG(0, "all", report.all, "Print every table or, with VIEW, every row"),
	OPTION_FILE(0, "html", "FILE", html.path,
		    "Write one HTML page with flame graphs and tables", .dash = true),
	OPTION_FLAG(0, "open", html.open, "Open the page in the desktop's browser"),
	OPTION_FLAG(0, "sources", html.sources, "Put the text of the source files into the page"),
	OPTION_FLAG(0, "no-heap-map", html.no_heap_map,
		    "Leave out the heap map, for which the trace is read once more"),
	OPTION_JSON(view.request.json),
	OPTION_TITLE("Options of a view:"),
	OPTION_WHEN(view.at, "Show what was live at this point: ", OF_VIEWS),
	OPTION_WORD(0, "by", "WHAT", view.request.by, profile_by_names, "Print a row per %s",
		    OF_VIEWS, .given = OPTION_AT(view.request.grouped)),
	OPTION_WORD(0, "sort", "VALUE", view.request.sort, profile_value_names,
		    "Sort by this figure (mprof export --value help)", OF_VIEWS,
		    .given = OPTION_AT(view.request.sorted)),
	OPTION_NUMBER(0, "top", "N", view.request.top, 0, UINT32_MAX,
		      "Print at most N rows, 0 for all [20; all with --json]", OF_VIEWS,
		      .example = "20", .given = OPTION_AT(view.request.top_said)),
	OPTION_NUMBER(0, "depth", "N", view.request.depth, 0, UINT32_MAX,
		      "Print at most N lines of a stack, or levels of a tree", OF_VIEWS,
		      .example = "10"),
	OPTION_PERCENT(0, "min-percent", view.request.min_percent, 100,
		       "Leave out smaller branches of a tree [1]", OF_VIEWS),
	OPTION_FLAG(0, "reach", reach,
		    "Stop the running process PID and find blocks that no pointer leads to"),
	OPTION_LIST(0, "source-dir", "DIR", html.source_dir, &option_directories,
		    "Look for source files in DIR first; may be repeated"),
	OPTION_ROWS(option_profile, cli),
	OPTION_ROWS_ALONE(option_memory),
	OPTION_ROWS_ALONE(option_colour),
	OPTION_ROWS_ALONE(option_pager),
	OPTION_END,
};

/* ---- the words, and rules between options ---- */

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st);
}

/* Could it be a trace, or the number of a process that is recorded? */
static bool is_log(const char *word)
{
	return is_file(word) || running_is_pid(word);
}

/* Takes the newest trace here, if none was named. */
static int take_newest(struct options *o, const struct view *v, struct error *err)
{
	char *example;

	if (o->html.path &&
	    (export_file_look(o->html.path, NULL) == -EEXIST || running_is_pid(o->html.path))) {
		example = shell_command("mprof report --html report.html ", o->html.path);
		fail(err, -EINVAL,
		     "--html takes the name of the page, before that of the trace; for example: %s",
		     example);
		free(example);
		return -EINVAL;
	}
	o->newest = export_newest();
	if (!o->newest)
		return fail(err, -EINVAL,
			    "no trace in this directory; name one, for example: mprof report"
			    " %s%s%s%smprof.log",
			    v ? v->name : "", v ? " " : "", v && *v->arg ? o->view.request.arg : "",
			    v && *v->arg ? " " : "");
	fprintf(stderr, "mprof: reading the newest trace here, '%s'\n", o->newest);
	o->log = (struct arguments){ &o->newest, 1 };
	return 0;
}

/* Takes the view's argument, which precedes the traces. */
static int take_argument(struct options *o, const struct view *v, struct error *err)
{
	char **word = o->word.item;

	if (o->word.count < 2 || (o->word.count == 2 && export_is_trace(word[1])))
		return fail(err, -EINVAL, "no %s given; for example: mprof report %s %s %s", v->arg,
			    v->name, strcmp(v->arg, "FILE") ? "main" : "main.c",
			    o->word.count < 2 ? "mprof.log" : word[1]);
	o->view.request.arg = word[1];
	return 0;
}

/* Finds the view: the first word is one, unless it is the only word and a file of that name
 * exists. */
static int find_view(struct options *o, struct error *err)
{
	const char *word = o->word.count ? o->word.item[0] : "";
	const struct view *v = view_find(word);
	size_t taken = 0;

	if (v && (o->word.count > 1 || !is_file(word))) {
		o->view.view = v;
		taken = 1;
		if (*v->arg && take_argument(o, v, err))
			return -EINVAL;
		taken += *v->arg != '\0';
	} else if (o->word.count > 1 && is_log(word) && view_find(o->word.item[1])) {
		return fail(err, -EINVAL, "a view comes before the trace: mprof report %s %s",
			    o->word.item[1], word);
	} else if (o->word.count > 1 && is_log(word)) {
		return usage_one_file(o->word.item, o->word.count, err);
	} else if (o->word.count > 1) {
		return view_unknown(word, err);
	}
	o->log = (struct arguments){ o->word.item + taken, o->word.count - taken };
	return o->log.count ? 0 : take_newest(o, v, err);
}

static int check(void *options, struct error *err)
{
	struct options *o = options;
	const char *why;

	if (find_view(o, err))
		return -EINVAL;
	if (!o->of_views)
		o->of_views = o->cli.filter;
	o->view.request.source = o->html.source_dir;
	if (!o->of_views && o->html.source_dir && !o->html.path)
		o->of_views = "source-dir";
	if (o->of_views && !o->view.view)
		return fail(err, -EINVAL,
			    "--%s needs a view, for example: mprof report peak --%s ... %s",
			    o->of_views, o->of_views, o->log.item[0]);
	if (o->reach && (!o->view.view || o->view.view->ops != &view_leaks))
		return fail(
		    err, -EINVAL,
		    "--reach works with leaks, for example: mprof report leaks --reach PID");
	if (o->reach && (o->log.count > 1 || !running_is_pid(o->log.item[0])))
		return fail(err, -EINVAL,
			    "--reach needs the PID of a running process, not '%s'; processes that "
			    "end are examined by mprof record --reach",
			    o->log.item[o->log.count > 1]);
	why = o->view.view ? report_view_moment(&o->view) : NULL;
	if (why)
		return fail(err, -EINVAL, "%s", why);
	if (o->html.path && o->view.view)
		return fail(err, -EINVAL, "--html includes every view; leave out '%s'",
			    o->view.view->name);
	if (o->html.path && o->view.request.json)
		return fail(err, -EINVAL, "--html and --json: choose one");
	if (o->html.open && (!o->html.path || !strcmp(o->html.path, "-")))
		return fail(err, -EINVAL, "--open needs --html FILE");
	if (o->html.sources && !o->html.path)
		return fail(err, -EINVAL, "--sources needs --html FILE");
	if (o->html.no_heap_map && !o->html.path)
		return fail(err, -EINVAL, "--no-heap-map needs --html FILE");
	return 0;
}

static char *list_views(void)
{
	const struct view *v;
	char *list = NULL;
	size_t n;
	FILE *out = must_memstream(&list, &n);

	fputs("Views:\n", out);
	for (v = view_table; v->name; v++)
		fprintf(out, "  %s%s%-*s %s\n", v->name, *v->arg ? " " : "",
			17 - (int)strlen(v->name) - (*v->arg != 0), v->arg, v->help);
	must_close(out, &list);
	return list;
}

static const struct usage usage = {
	.options = options,
	.args = "[LOG]\nVIEW [ARG] [LOG...]",
	.doc = "Explains a trace on one screen: what ran, the peak, leaks, and findings; or, with"
	       " VIEW, which call stacks allocated the memory. Without LOG: the newest trace in"
	       " the current directory." RUNNING_HELP,
	.more = list_views,
	.words = USAGE_FILES,
	.at = offsetof(struct options, word),
	.check = check,
};

/* ---- the command ---- */

static int answer(void *options, const struct analysis *a, struct error *err)
{
	const struct options *o = options;

	if (o->view.request.json) {
		report_json(a, stdout);
		return 0;
	}
	if (!o->report.analyses)
		pager_start();
	terminal_fit();
	report_text(a, &o->report, stdout);
	return 0;
}

/* ---- of a profile: totals, no events ---- */

static int answer_totals(void *options, const struct print_totals *totals, struct error *err)
{
	const struct options *o = options;

	if (o->html.path)
		return report_html_totals(totals, &o->cli.options, &o->html, err);
	if (o->view.request.json) {
		totals_json(totals, stdout);
		return 0;
	}
	terminal_fit();
	totals_text(totals, &o->report, stdout);
	return 0;
}

static int whole(struct trace *t, struct options *o, struct error *err)
{
	const bool screen =
	    !o->html.path && !o->view.request.json && !o->report.all && !o->report.analyses;

	if (o->html.path && report_page_check(t, err))
		return -EINVAL;
	if (trace_has_events(t) && o->html.path)
		return report_html(t, &o->cli.options, &o->html, err);
	if (trace_has_events(t))
		return overview_make(t, &o->cli.options, screen, answer, o, err);
	return totals_make(t, &o->cli.options, answer_totals, o, err);
}

static int open_log(struct options *o, struct trace **t, struct error *err)
{
	char *log = NULL;
	int ret = export_pick(o->log.item, o->log.count, &log, err);

	if (!ret)
		ret = running_open(t, log, NULL, err);
	free(log);
	return ret;
}

/* Opens the trace of a process and examines that, while it is stopped. */
static int open_examined(struct options *o, pid_t pid, struct trace **t, struct error *err)
{
	uint32_t *only = &o->cli.options.sites.filter.process;
	struct reach_running r;
	int ret = reach_running_stop(&r, pid, err);

	if (ret)
		return ret;
	if (*only && *only != r.x.of.number) {
		reach_running_end(&r);
		return fail(err, -EINVAL,
			    "--reach shows only process %d, which has the number %u; leave out "
			    "--process",
			    (int)pid, r.x.of.number);
	}
	ret = open_log(o, t, err);
	if (ret) {
		reach_running_end(&r);
		return ret;
	}
	ret = reach_running_take(&r, *t, err);
	if (ret)
		trace_close(*t);
	else
		*only = r.x.of.number;
	return ret;
}

static int report(struct options *o)
{
	const pid_t pid = o->reach ? atoi(o->log.item[0]) : 0;
	struct error err = { "" };
	struct trace *t;
	int ret, status;

	if (running_find(o->log.item, o->log.count))
		return STATUS_FILE;
	ret = pid ? open_examined(o, pid, &t, &err) : open_log(o, &t, &err);
	if (ret < 0)
		return cmd_error(STATUS_FILE, "%s", err.text);
	if (profile_show_totals(t, &o->cli.options, &err)) {
		trace_close(t);
		return cmd_error(STATUS_USAGE, "%s", err.text);
	}
	/* A file of MODE=Guard has no events, so there is nothing else to report. */
	if (!o->view.view && !o->html.path && trace_is_guarded(t))
		o->view.view = view_find("errors");
	if (o->view.view) {
		status = report_view(&o->view, t);
	} else {
		ret = whole(t, o, &err);
		status = ret < 0 ? cmd_failed(ret, &err) : STATUS_OK;
	}
	if (!status)
		missing_times(t);
	trace_close(t);
	return status;
}

/* argv as for a command; analyses: adds those of mprof -t below the first screen. */
static int run(int argc, char **argv, bool analyses)
{
	struct options o = { .view = { .request = { .min_percent = 1 } } };
	struct view_request *r = &o.view.request;
	int status = STATUS_USAGE;

	o.report.width = terminal_text_width();
	o.report.analyses = analyses;
	profile_cli_init(&o.cli);
	o.view.cli = &o.cli;
	if (!usage_take(&usage, argc, argv, &o)) {
		r->top_said |= o.report.all;
		if (!r->top_said)
			r->top = r->json ? 0 : VIEW_ROWS;
		status = report(&o);
	}
	profile_cli_release(&o.cli);
	free((void *)o.html.source_dir);
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
