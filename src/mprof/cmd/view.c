/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * view.c - `mprof view`: the pages of `mprof report --html`, served on this machine, with exact
 * answers from the traces.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../import/import.h"
#include "../print/json.h"
#include "../print/text.h"
#include "../trace/compact.h"
#include "../util/alloc.h"
#include "../util/outputs.h"
#include "cmd.h"
#include "missing.h"
#include "overview.h"
#include "profile_options.h"
#include "report_html.h"
#include "running.h"
#include "usage.h"
#include "view_answers.h"

struct options {
	struct arguments log;
	struct serve_options serve;
	bool open, diff;
	json *traces;		       /* their names, if there are several */
	const char *const *source_dir; /* ends with NULL; may be NULL */
	struct profile_cli cli;
};

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_NUMBER(0, "port", "N", serve.port, 1, UINT16_MAX,
		      "Listen on this port of 127.0.0.1 [any free port]", .example = "8000"),
	OPTION_FILE(0, "socket", "PATH", serve.socket,
		    "Listen on a unix socket instead, for ssh -L 8000:PATH"),
	OPTION_FLAG(0, "diff", diff, "First show what changed from one trace to another"),
	OPTION_FLAG(0, "open", open, "Open the page in the desktop's browser"),
	OPTION_LIST(0, "source-dir", "DIR", source_dir, &option_directories,
		    "Look for source files in DIR first; may be repeated"),
	OPTION_ROWS(option_profile, cli),
	OPTION_ROWS_ALONE(option_memory),
	OPTION_END,
};

static int check(void *options, struct error *err)
{
	const struct options *o = options;

	if (o->diff && o->log.count != 2)
		return fail(err, -EINVAL, "--diff takes two traces, not %zu", o->log.count);
	if (o->serve.socket && (o->serve.port || o->open))
		return fail(err, -EINVAL, "--socket and %s: choose one",
			    o->open ? "--open" : "--port");
	return 0;
}

static const struct usage usage = {
	.options = options,
	.args = "LOG...\n--diff BEFORE.log AFTER.log",
	.doc = "Serves the pages of mprof report --html on this machine, and answers questions "
	       "about any window of time exactly, from the trace. The page of a profile follows a "
	       "running program. Prints the address to open; Ctrl-C stops the server." RUNNING_HELP,
	.words = USAGE_FILES,
	.at = offsetof(struct options, log),
	.missing = "no trace given; for example: mprof view mprof.log",
	.check = check,
};

/* ---- pages ---- */

struct making {
	const struct options *o;
	struct view_page *page;
	size_t index;
};

static int make_page(const struct making *m, struct error *err)
{
	struct view_page *p = m->page;
	FILE *out = must_memstream(&p->html, &p->bytes);
	const struct report_served served = { &p->map,	  &p->snapshots, m->o->traces, m->index,
					      &p->events, &p->live,	 p->made };
	int ret;

	p->sources.dir = m->o->source_dir;
	ret = report_page(p->trace, &m->o->cli.options, out, &p->sources, false, &served, err);
	must_close(out, &p->html);
	return ret;
}

/* The page of a profile is complete: it sends no further requests. */
static int make_totals_page(void *context, const struct print_totals *totals, struct error *err)
{
	const struct making *m = context;
	struct view_page *p = m->page;
	FILE *out = must_memstream(&p->html, &p->bytes);
	const struct report_served served = { .map = &p->map,
					      .traces = m->o->traces,
					      .index = m->index,
					      .live = &p->live,
					      .made = p->made };
	int ret;

	p->totals = true;
	p->sources.dir = m->o->source_dir;
	ret = report_page_totals(totals, &m->o->cli.options, out, &p->sources, &served, err);
	must_close(out, &p->html);
	return ret;
}

/* ---- a trace that is not compressed ---- */

#define COPIED (4u << 20) /* bytes: a shorter trace is read fast enough */

/*
 * Reading a raw trace begins at its start.  So queries read a compressed copy, with exact times;
 * its file has no name, so that nothing remains of it.  Without a copy, they take longer.
 */
static void take_copy(struct view_page *p)
{
	char copy[64];
	const struct compact_options how = { .level = COMPACT_LEVEL_DEFAULT,
					     .exact = true,
					     .to = temporary_file(NULL) };
	struct trace *t = NULL;
	struct error err;

	snprintf(copy, sizeof(copy), "/proc/self/fd/%d", how.to);
	if (how.to > 0 && !trace_compress(p->path, &how, &err) &&
	    !trace_open(&t, copy, MPROF_MAGIC_TRACE, &err) && trace_set_original(t, p->trace)) {
		trace_close(p->trace);
		p->trace = t;
		p->copy = how.to;
		return;
	}
	trace_close(t);
	if (how.to > 0)
		close(how.to);
	cmd_warn("no compressed copy of '%s' could be made: each window is read from its start",
		 p->path);
}

static bool is_raw(const struct trace *t)
{
	const struct mprof_file_header *h = trace_header(t);

	return !trace_source(t) && !(h->flags & MPROF_FILE_COMPRESSED) && trace_has_events(t) &&
	       trace_bytes(t) >= COPIED && h->flags & MPROF_FILE_CLOSED;
}

static int status_of(int ret)
{
	return ret == -EINVAL ? STATUS_USAGE : ret < 0 ? STATUS_FOUND : STATUS_OK;
}

/* Returns an exit status, with err filled unless it is STATUS_OK. */
static int open_page(const struct options *o, struct view_page *page, size_t index,
		     struct error *err)
{
	const char *log = o->log.item[index];
	struct making m = { .o = o, .page = page, .index = index };
	struct profile_options options = o->cli.options;
	int ret;

	page->path = log;
	if (running_open(&page->trace, log, NULL, err) < 0)
		return STATUS_FILE;
	if (profile_show_totals(page->trace, &options, err) < 0 ||
	    report_page_check(page->trace, err))
		return STATUS_USAGE;
	if (!trace_has_events(page->trace)) {
		ret = totals_make(page->trace, &options, make_totals_page, &m, err);
		return status_of(ret);
	}
	if (is_raw(page->trace))
		take_copy(page);
	page->snapshots.functions = o->cli.options.sites.filter.functions;
	ret = make_page(&m, err);
	malloc_trim(0); /* the page took much more than answers will */
	return status_of(ret);
}

static void close_page(struct view_page *page)
{
	free(page->html);
	html_map_release(&page->map);
	html_sources_release(&page->sources);
	snapshots_release(&page->snapshots);
	trace_close(page->trace);
	if (page->copy > 0)
		close(page->copy);
}

/* ---- serving ---- */

struct viewing {
	const struct options *o;
	struct view_page *page;
};

/* Without its file, the page remains as it was; the file may be there again the next time. */
static int make_again(void *self, size_t index, struct error *err)
{
	const struct viewing *v = self;
	struct view_page page = { .made = v->page[index].made + 1 };

	if (open_page(v->o, &page, index, err)) {
		close_page(&page);
		return -EIO;
	}
	close_page(&v->page[index]);
	v->page[index] = page;
	return 0;
}

static void announce(const struct options *o, const char *root)
{
	char url[256];

	snprintf(url, sizeof(url), "%s%s", root, o->diff ? "1/#page=compare&with=0" : "");
	printf("%s\n", url);
	fflush(stdout);
	if (o->serve.socket)
		fprintf(stderr,
			"mprof: from another machine: ssh -L 8000:%s HOST, then open the address; "
			"Ctrl-C stops the server\n",
			o->serve.socket);
	else
		fprintf(stderr,
			"mprof: only this machine can open the address; Ctrl-C stops the server\n");
	if (o->open && !browser_show(url))
		fprintf(stderr, "mprof: cannot open a browser with xdg-open\n");
}

static sigset_t end_signals(void)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	return ends;
}

static int serve(struct options *o, struct view_page *page)
{
	struct viewing viewing = { o, page };
	const struct view_maker maker = { make_again, &viewing };
	struct view_answers *answers =
	    view_answers_new(page, o->log.count, &o->cli.options, &maker);
	struct error err = { "" };
	struct serve *s;
	const sigset_t ends = end_signals();
	int signal;

	if (!answers)
		return cmd_error(STATUS_FOUND, "cannot start a thread for the answers");
	o->serve.answer = view_answer;
	o->serve.context = answers;
	if (serve_start(&s, &o->serve, &err) < 0) {
		view_answers_free(answers);
		return cmd_error(STATUS_FOUND, "%s", err.text);
	}
	announce(o, serve_url(s));
	sigwait(&ends, &signal);
	serve_stop(s);
	view_answers_free(answers);
	return STATUS_OK;
}

static int view(struct options *o)
{
	struct view_page *page = must_calloc(o->log.count, sizeof(*page));
	struct error err = { "" };
	int status = STATUS_OK;
	size_t i;

	if (o->log.count > 1)
		o->traces = JSON_LIST(o->log.count, true, json_string(text_base(o->log.item[i])));
	for (i = 0; i < o->log.count && !status; i++)
		status = open_page(o, &page[i], i, &err);
	for (i = 0; i < o->log.count && !status; i++)
		missing_names(page[i].trace, &o->cli.options.sites.filter.thread);
	if (status) {
		cmd_error(status, "%s", err.text);
	} else {
		/* Before threads start, so that only sigwait() receives them. */
		const sigset_t ends = end_signals();

		pthread_sigmask(SIG_BLOCK, &ends, NULL);
		status = serve(o, page);
	}
	for (i = 0; i < o->log.count; i++)
		close_page(&page[i]);
	free(page);
	json_object_put(o->traces);
	return status;
}

int cmd_view(int argc, char **argv)
{
	struct options o = { .diff = false };
	int status;

	profile_cli_init(&o.cli);
	status = usage_take(&usage, argc, argv, &o) ? STATUS_USAGE
						    : running_find(o.log.item, o.log.count);
	if (!status)
		status = view(&o);
	profile_cli_release(&o.cli);
	free((void *)o.source_dir);
	return status;
}
