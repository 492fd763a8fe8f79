// SPDX-License-Identifier: LGPL-3.0-or-later
/* view_lifetimes.c - how long blocks live. */
#include <string.h>

#include "flat_view.h"

static struct text mean_of(const struct site_values *v)
{
	struct text none = { "-" };

	return v->freed_calls ? format_ns(v->lifetime_ns / v->freed_calls) : none;
}

/* Returns "3 ns to 5 us, 1 us on average"; samples have no minimum and maximum. */
static struct long_text span_of(const struct view_request *r, const struct site_values *v)
{
	const struct text least = format_ns(v->lifetime_min_ns),
			  most = format_ns(v->lifetime_max_ns);
	struct long_text t;

	if (v->freed_calls == 1)
		snprintf(t.s, sizeof(t.s), "%s", mean_of(v).s);
	else if (r->profile->sites.totals.estimated || !strcmp(least.s, most.s))
		snprintf(t.s, sizeof(t.s), "%s on average", mean_of(v).s);
	else
		snprintf(t.s, sizeof(t.s), "%s to %s, %s on average", least.s, most.s,
			 mean_of(v).s);
	return t;
}

static struct long_text about(const struct view_request *r, const struct profile_group *g)
{
	const struct site_values *v = g->v;
	struct long_text t;
	int n = 0;

	if (!v->freed_calls) {
		snprintf(t.s, sizeof(t.s), "none was freed");
		return t;
	}
	n = snprintf(t.s, sizeof(t.s), "%s lived %s",
		     format_many(v->freed_calls, "block", "blocks").s, span_of(r, v).s);
	if (v->foreign_frees)
		n += snprintf(t.s + n, sizeof(t.s) - (size_t)n, "; %s freed by another thread",
			      format_percent(v->foreign_frees, v->freed_calls).s);
	if (v->live_calls)
		snprintf(t.s + n, sizeof(t.s) - (size_t)n, "; %s never freed",
			 format_count(v->live_calls).s);
	return t;
}

static struct text cell(const struct view_request *r, const struct profile_group *g)
{
	return mean_of(g->v);
}

static void text(struct view_request *r, FILE *out)
{
	const struct site_values *v = &r->profile->total;
	const struct flat_view flat = {
		.nothing = "No block passes the filters.",
		.about = about,
		.title = ">mean life",
		.cell = cell,
	};

	if (v->freed_calls)
		fprintf(out, "%s lived %s%s; %s never freed.\n",
			format_many(v->freed_calls, "freed block", "freed blocks").s,
			span_of(r, v).s,
			v->reallocs > v->freed_calls / 10 ? " (realloc counts as a free)" : "",
			format_many(v->live_calls, "was", "were").s);
	else
		fprintf(
		    out, "No block was freed; %s.\n",
		    format_many(v->live_calls, "block is still live", "blocks are still live").s);
	flat_view_text(&flat, r, out);
}

const struct view_ops view_lifetimes = {
	.sort = VALUE_CALLS,
	.totals = true,
	.times = true,
	.text = text,
	FLAT_VIEW_JSON,
};
