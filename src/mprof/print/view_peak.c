// SPDX-License-Identifier: LGPL-3.0-or-later
/* view_peak.c - call stacks of the blocks live at the peak. */
#include <inttypes.h>

#include "flat_view.h"

/* With --at, a row shows only that time: its earlier peak would need the whole walk. */
static bool has_own_peak(const struct view_request *r)
{
	return r->sort == VALUE_LOCAL || !r->options->sites.until.set;
}

/* Are the rows peaks of processes, each at a time of its own? */
static bool is_of_processes(const struct profile *p)
{
	return p->sites.totals.process && !p->sites.options.filter.process &&
	       (p->by == PROFILE_BY_PROCESS || p->by == PROFILE_BY_RANK);
}

/* A row that is at its own peak does not need it twice. */
static bool shows_own_peak(const struct view_request *r)
{
	return has_own_peak(r) && (r->sort == VALUE_LOCAL || !is_of_processes(r->profile));
}

static struct long_text about(const struct view_request *r, const struct profile_group *g)
{
	const char *most = profile_own_peak_is_bound(r->profile, g) ? "at most " : "";
	struct long_text t;

	if (r->sort == VALUE_LOCAL)
		snprintf(t.s, sizeof(t.s), "in %s; %s of it at the peak",
			 format_many(g->v->local_calls, "block", "blocks").s,
			 format_bytes(g->v->peak_bytes).s);
	else if (shows_own_peak(r) && g->v->local_bytes > g->v->peak_bytes)
		snprintf(t.s, sizeof(t.s), "in %s; its own peak was %s%s",
			 format_many(g->v->peak_calls, "block", "blocks").s, most,
			 format_bytes(g->v->local_bytes).s);
	else
		snprintf(t.s, sizeof(t.s), "in %s",
			 format_many(g->v->peak_calls, "block", "blocks").s);
	return t;
}

static struct text cell(const struct view_request *r, const struct profile_group *g)
{
	if (!shows_own_peak(r))
		return format_count(g->v->peak_calls);
	return r->sort == VALUE_LOCAL ? format_bytes(g->v->peak_bytes)
				      : format_bytes(g->v->local_bytes);
}

/* Returns the process with this peak. */
static struct text who_of(const struct profile *p)
{
	struct text t = { "the program" };

	if (p->sites.totals.process && !p->sites.options.filter.process)
		snprintf(t.s, sizeof(t.s), "process %" PRIu32 ", the largest,",
			 p->sites.totals.process);
	else if (p->sites.options.filter.process && p->tree.processes > 1)
		snprintf(t.s, sizeof(t.s), "process %" PRIu32, p->sites.options.filter.process);
	else if (p->tree.processes > 1 && !p->sites.totals.read)
		snprintf(t.s, sizeof(t.s), "all processes together");
	return t;
}

/* Prints the accuracy of a profile's peak. */
static void print_bound(const struct sites *s, FILE *out)
{
	const int64_t rest = s->totals.unplaced;

	if (s->totals.bound)
		fprintf(out, "With several threads it is accurate to %s.\n",
			format_exact(s->totals.bound).s);
	if (rest > 0)
		fprintf(out, "%s of it cannot be attributed to a stack.\n",
			format_exact((uint64_t)rest).s);
	if (rest < 0)
		fprintf(out, "The rows add up to %s more than that.\n",
			format_exact(0 - (uint64_t)rest).s);
}

/* Tells a reader of own peaks that some are not exact. */
static void print_own_bounds(const struct view_request *r, FILE *out)
{
	const struct profile *p = r->profile;
	bool any = false;

	for (size_t i = 0; i < p->groups && shows_own_peak(r) && !any; i++)
		any = profile_own_peak_is_bound(p, &p->group[i]);
	if (any && (p->by != PROFILE_BY_STACK || r->sort == VALUE_LOCAL))
		fprintf(out, "The own peak of a row with several %s is an upper bound.\n",
			p->tree.processes > 1 ? "sites or processes" : "sites");
}

static void text(struct view_request *r, FILE *out)
{
	const struct profile *p = r->profile;
	const struct flat_view flat = {
		.nothing = flat_none_live(&p->sites.peak),
		.about = about,
		.title = !shows_own_peak(r)	  ? ">blocks"
			 : r->sort == VALUE_LOCAL ? ">at the peak"
						  : ">own peak",
		.cell = cell,
	};

	fprintf(out, "%s%s, %s held %s in %s.\n", p->sites.options.until.set ? "" : "At the peak, ",
		flat_moment(p->sites.peak.ns).s, who_of(p).s, format_exact(p->sites.peak.bytes).s,
		format_many(p->sites.peak.calls, "block", "blocks").s);
	if (is_of_processes(p) && r->sort != VALUE_LOCAL)
		fputs(
		    p->by == PROFILE_BY_RANK
			? "A rank has the sum of the peaks of its processes, which may be at "
			  "other times.\n"
			: "Each process is shown at its own peak, which may be at another time.\n",
		    out);
	else if (p->total.peak_bytes != p->sites.peak.bytes)
		fprintf(out, "The selected blocks held %s of that (%s) in %s.\n",
			format_exact(p->total.peak_bytes).s,
			format_percent(p->total.peak_bytes, p->sites.peak.bytes).s,
			format_many(p->total.peak_calls, "block", "blocks").s);
	print_bound(&p->sites, out);
	if (r->sort == VALUE_LOCAL)
		fputs("Each row has its own peak, which may be at another time.\n", out);
	print_own_bounds(r, out);
	flat_view_text(&flat, r, out);
}

const struct view_ops view_peak = {
	.sort = VALUE_PEAK,
	.totals = true,
	.own_peaks = has_own_peak,
	.text = text,
	FLAT_VIEW_JSON,
};
