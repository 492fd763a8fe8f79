// SPDX-License-Identifier: LGPL-3.0-or-later
/* view_hot.c - the most frequent allocations, and their sizes. */
#include "flat_view.h"

#define RECYCLED 10u /* shown if the total is at least this many times the peak */

static bool own_peaks(const struct view_request *r)
{
	return true;
}

static struct long_text about(const struct view_request *r, const struct profile_group *g)
{
	struct long_text t;
	uint64_t mean = g->v->calls ? g->v->bytes / g->v->calls : 0;
	char what[80] = "";
	int n;

	if (r->sort != VALUE_CALLS)
		snprintf(what, sizeof(what), "in %s", format_many(g->v->calls, "call", "calls").s);
	else
		snprintf(what, sizeof(what), "for %s", format_bytes(g->v->bytes).s);
	if (g->v->size_min == g->v->size_max)
		n = snprintf(t.s, sizeof(t.s), "%s, %s each", what, format_bytes(mean).s);
	else
		n = snprintf(t.s, sizeof(t.s), "%s, %s to %s each, %s on average", what,
			     format_bytes(g->v->size_min).s, format_bytes(g->v->size_max).s,
			     format_bytes(mean).s);
	if (g->v->local_bytes && g->v->bytes / g->v->local_bytes >= RECYCLED)
		snprintf(t.s + n, sizeof(t.s) - (size_t)n, "; in total %s%s times its own peak",
			 profile_own_peak_is_bound(r->profile, g) ? "at least " : "",
			 format_count(g->v->bytes / g->v->local_bytes).s);
	return t;
}

static struct text cell(const struct view_request *r, const struct profile_group *g)
{
	return r->sort != VALUE_CALLS ? format_count(g->v->calls) : format_bytes(g->v->bytes);
}

static void text(struct view_request *r, FILE *out)
{
	const struct profile *p = r->profile;
	const struct site_values *v = &p->total;
	const struct flat_view flat = {
		.nothing = "No allocation passes the filters.",
		.about = about,
		.title = r->sort == VALUE_CALLS ? ">bytes" : ">calls",
		.cell = cell,
	};

	fprintf(out, "%s allocated %s: %s on average", format_many(v->calls, "call", "calls").s,
		format_exact(v->bytes).s, format_bytes(v->calls ? v->bytes / v->calls : 0).s);
	if (v->size_max || !v->bytes)
		fprintf(out, ", from %s to %s", format_bytes(v->size_min).s,
			format_bytes(v->size_max).s);
	fputs(".\n", out);
	if (v->map_calls)
		fprintf(out, "In addition, %s mapped %s.\n",
			format_many(v->map_calls, "call", "calls").s, format_bytes(v->map_bytes).s);
	flat_view_text(&flat, r, out);
}

const struct view_ops view_hot = {
	.sort = VALUE_CALLS,
	.totals = true,
	.own_peaks = own_peaks,
	.text = text,
	FLAT_VIEW_JSON,
};
