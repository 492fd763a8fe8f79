// SPDX-License-Identifier: LGPL-3.0-or-later
/* missing.c - see missing.h. */
#include "missing.h"

#include <stdio.h>

#include "../util/format.h"
#include "cmd.h"
#include "event_count.h"

bool missing_lines(const struct trace *t)
{
	const struct import_report *r = import_report(t);
	const char *path = trace_path(t);
	size_t i;

	for (i = 0; r && i < r->remarks; i++)
		cmd_warn("%s: %s", path, r->remark[i]);
	if (r && r->bad > r->remarks)
		cmd_warn("%s: %s left out", path,
			 format_many(r->bad - r->remarks, "more line", "more lines").s);
	if (r && r->cut)
		cmd_warn("%s ends in the middle", path);
	return r;
}

void missing_times(const struct trace *t)
{
	if (missing_lines(t) && !trace_source(t)->timed)
		cmd_warn("%s is %s, which has no times: each call counts as %u us", trace_path(t),
			 import_title(t), TRACE_UNTIMED / 1000);
}

void missing_parts(const struct trace *t, const char *done)
{
	const struct trace_damage *d = trace_damage(t);
	struct event_count missing = { .lost = 0 };

	event_count_losses(&missing, t);
	if (missing.damaged || d->bytes_skipped || d->stacks_missing)
		cmd_warn("'%s' is damaged: its unreadable parts are not %s; mprof report has the "
			 "details",
			 trace_path(t), done);
}

static void choose(struct trace *t, const struct profile_options *o, const char *lacks)
{
	const bool events = trace_has_events(t);

	if (profile_complete(t, o) && events && !trace_has_events(t))
		fprintf(stderr, "mprof: '%s' %s: figures are its totals of the whole run\n",
			trace_path(t), lacks);
}

#define LACKS_BUSY "does not have all calls of busy call stacks"

void missing_choose(struct trace *t, const struct profile_options *o)
{
	const struct trace_reduced *reduced;

	if (trace_reduced(t, &reduced))
		choose(t, o, LACKS_BUSY);
}

void missing_choose_whole(struct trace *t, const struct profile_options *o)
{
	const struct trace_reduced *reduced;

	choose(t, o,
	       trace_reduced(t, &reduced) ? LACKS_BUSY : "has the calls of a part of the run only");
}

static void warn_of_bypass(const char *path)
{
	cmd_warn("'%s' lacks the calls of objects that bypass the library; mprof report names them",
		 path);
}

void missing_names(const struct trace *t, const struct thread_choice *choice)
{
	const uint64_t n = choice->pattern ? trace_unnamed_threads(t) : 0;

	if (n)
		cmd_warn("'%s' does not have the names of %s: --thread '%s' leaves these out",
			 trace_path(t), format_many(n, "thread", "threads").s, choice->pattern);
}

void missing_calls(const struct profile *p, bool of_events)
{
	const struct mprof_file_header *h = p->header;
	const char *whole = of_events ? "; --totals shows the whole run, in formats without times"
				      : "; add --totals for the whole run";
	const struct trace_reduced *reduced;
	const size_t n = trace_reduced(p->trace, &reduced);

	if (p->tree.owns || p->tree.deepbinds)
		warn_of_bypass(p->path);
	missing_names(p->trace, &p->sites.options.filter.thread);
	if (!trace_has_events(p->trace))
		return;
	if (h->dropped_ticks)
		cmd_warn("'%s' contains only the calls of the last %s (--last)%s", p->path,
			 format_ns(profile_last_ns(p)).s, trace_has_totals(p->trace) ? whole : "");
	if (p->total.kept_until_ns)
		cmd_warn(
		    "'%s' does not have all calls of %s: figures are too low; mprof report says "
		    "which",
		    p->path, format_many(n, "busy call stack", "busy call stacks").s);
	if (h->log_end)
		cmd_warn("'%s' contains %s calls only up to %s after the start (%s)%s", p->path,
			 p->total.kept_until_ns ? "other" : "all",
			 format_ns((uint64_t)trace_ns(p->trace, h->log_end & MPROF_TICKS_MASK)).s,
			 h->log_end_why == MPROF_LOG_END_OVERHEAD ? "--overhead" : "--budget",
			 whole);
}

static bool is_bypassed(const struct trace *t)
{
	const struct trace_fact *fact;
	const size_t n = trace_facts(t, &fact);

	for (size_t i = 0; i < n; i++)
		if (*fact[i].malloc_of || fact[i].fact->what == MPROF_FACT_DEEPBIND)
			return true;
	return false;
}

void missing_of_playback(const struct trace *t)
{
	if (is_bypassed(t))
		warn_of_bypass(trace_path(t));
	if (profile_is_part(t))
		cmd_warn("'%s' does not have all calls of the program, which used more memory and "
			 "time than they do; mprof report says which are missing",
			 trace_path(t));
}
