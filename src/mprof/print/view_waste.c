// SPDX-License-Identifier: LGPL-3.0-or-later
/* view_waste.c - bytes lost to the allocator's rounding. */
#include "flat_view.h"

static struct long_text about(const struct view_request *r, const struct profile_group *g)
{
	struct long_text t;

	snprintf(t.s, sizeof(t.s), "over %s: %s more than was requested; %s of it at the peak",
		 format_many(g->v.calls, "block", "blocks").s,
		 format_percent(g->v.slack, g->v.bytes).s, format_bytes(g->v.peak_slack).s);
	return t;
}

static struct text cell(const struct view_request *r, const struct profile_group *g)
{
	return format_bytes(g->v.peak_slack);
}

static void text(struct view_request *r, FILE *out)
{
	const struct site_values *v = &r->profile->total;
	const struct flat_view flat = {
		.nothing = "Nothing was rounded up.",
		.about = about,
		.title = ">at the peak",
		.cell = cell,
	};

	fprintf(out,
		"The allocator rounded %s up by %s, %s more than was requested; at the peak it"
		" was %s (%s).\n",
		format_many(v->calls, "block", "blocks").s, format_exact(v->slack).s,
		format_percent(v->slack, v->bytes).s, format_bytes(v->peak_slack).s,
		format_percent(v->peak_slack, v->peak_bytes).s);
	flat_view_text(&flat, r, out);
}

const struct view_ops view_waste = {
	.sort = VALUE_WASTE,
	.text = text,
	FLAT_VIEW_JSON,
};
