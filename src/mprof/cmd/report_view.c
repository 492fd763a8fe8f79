// SPDX-License-Identifier: LGPL-3.0-or-later
/* report_view.c - `mprof report VIEW [ARG] LOG...`. */
#include "report_view.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../profile/filters.h"
#include "../util/format.h"
#include "../util/pager.h"
#include "../util/alloc.h"
#include "../util/styled.h"
#include "cmd.h"
#include "missing.h"
#include "progress.h"

const char *report_view_moment(const struct report_view *v)
{
	if (v->at.kind == WHEN_PEAK)
		return NULL;
	if (v->view->ops->sort != VALUE_PEAK)
		return "--at works with peak, top-down, bottom-up, callers and annotate; other "
		       "views"
		       " show the whole run";
	if (v->request.sorted && v->request.sort == VALUE_RSS)
		return "--at and --sort rss: choose one, both select a time";
	return when_unheeded(&v->cli->options);
}

static void tell_losses(struct view_request *r, const struct trace *t)
{
	const struct profile *p = r->profile;
	const uint64_t without = p->tree.lost[MPROF_LOST_STACK];

	const bool lost = p->tree.lost_all || trace_lacks_events(trace_damage(t));

	r->incomplete = lost || p->tree.owns || p->tree.deepbinds;
	if (lost)
		cmd_warn("parts of '%s' are missing: figures are too low, and blocks shown as "
			 "never freed may have been freed; mprof report shows what is missing",
			 p->path);
	missing_calls(p, false);
	if (without)
		cmd_warn("%s of '%s' %s no call stack", format_many(without, "call", "calls").s,
			 p->path, without == 1 ? "has" : "have");
}

/* A process without blocks has a size, and may have mapped memory. */
static bool needs_blocks(const struct report_view *v)
{
	struct error others;

	return v->view->ops != &view_peak_rss ||
	       filters_refuse(&v->cli->options, true, v->view->name, &others);
}

static int print(struct report_view *v, struct trace *t, struct error *err)
{
	struct view_request *r = &v->request;
	struct error nothing;
	int ret = filters_check(&r->profile, 1, r->options, &nothing, err);

	if (ret)
		return ret;
	tell_losses(r, t);
	if (!r->json)
		terminal_fit();
	if (*nothing.text && !r->json && needs_blocks(v)) {
		*nothing.text = (char)toupper(*nothing.text);
		printf("%s.\n", nothing.text);
		return 0;
	}
	profile_sort(r->profile, r->sort);
	if (!r->json)
		pager_start();
	ret = r->json ? view_json(v->view, r, stdout, err) : view_text(v->view, r, stdout, err);
	if (r->notes_unnamed)
		profile_tell_remarks_of(r->profile, r->unnamed, r->unnamed_count);
	else
		profile_tell_remarks(r->profile);
	profile_tell_rules(r->profile, r->profile);
	return ret;
}

static int answer(struct report_view *v, struct trace *t, struct error *err)
{
	struct view_request *r = &v->request;
	struct progress progress;
	int ret;

	r->profile = must_calloc(1, sizeof(*r->profile));
	r->options->progress = progress_start(&progress);
	r->options->progress_context = &progress;
	ret = profile_make(r->profile, t, r->options, err);
	progress_done(&progress);
	if (!ret) {
		ret = print(v, t, err);
		profile_release(r->profile);
	}
	free(r->profile);
	return ret;
}

static bool is_of_thread_events(const struct view_request *r)
{
	return r->by == PROFILE_BY_THREAD && r->sort != VALUE_CALLS && r->sort != VALUE_TOTAL &&
	       r->sort != VALUE_TEMPORARY;
}

/* Rejects what a profile cannot answer. */
static int check_totals(const struct report_view *v, const struct trace *t, struct error *err)
{
	if (!trace_has_events(t) && is_of_thread_events(&v->request))
		return fail(
		    err, -EINVAL,
		    "'%s' contains totals, not individual calls: '%s' by thread needs a trace from "
		    "mprof record; expected --sort calls%s",
		    trace_path(t), profile_value_name(v->request.sort),
		    trace_is_sampled(t) ? " or total" : ", total or temporary");
	if (v->view->ops->times && trace_source(t) && profile_value_check(t, VALUE_LIFETIME, err))
		return -EINVAL;
	if (trace_has_events(t) || v->view->ops->totals)
		return profile_value_check(t, v->request.sort, err);
	return fail(
	    err, -EINVAL,
	    "'%s' contains totals, not individual calls: '%s' needs a trace from mprof record",
	    trace_path(t), v->view->name);
}

int report_view(struct report_view *v, struct trace *t)
{
	struct view_request *r = &v->request;
	const struct view_ops *ops = v->view->ops;
	struct error err = { "" };
	int ret = 0;

	r->options = &v->cli->options;
	if (!r->sorted)
		r->sort = ops->sort;
	if (!r->grouped)
		r->by = ops->by;
	r->options->by = r->by;
	if (ops->totals && profile_value_of_totals(r->sort) && !is_of_thread_events(r) &&
	    v->at.kind == WHEN_PEAK)
		missing_choose(t, r->options);
	ret = check_totals(v, t, &err);
	if (!ret)
		ret = when_find(&v->at, t, &r->options->sites.until, &err);
	r->options->own_peaks =
	    r->json || r->sort == VALUE_LOCAL || (ops->own_peaks && ops->own_peaks(r));
	if (ops->flat && !r->json)
		r->options->only = &r->sort;
	if (ret < 0)
		return cmd_error(STATUS_USAGE, "%s", err.text);
	ret = view_prepare(v->view, r, &err);
	if (!ret)
		ret = answer(v, t, &err);
	view_release(v->view, r);
	return ret < 0 ? cmd_failed(ret, &err) : STATUS_OK;
}
