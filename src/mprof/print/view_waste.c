// SPDX-License-Identifier: LGPL-3.0-or-later
/* view_waste.c - bytes lost to the allocator's rounding. */
#include "flat_view.h"

static struct long_text about(const struct view_request *r, const struct profile_group *g)
{
	struct long_text t;
	int n = snprintf(t.s, sizeof(t.s), "in %s: %s more than requested",
			 format_many(g->v->calls, "block", "blocks").s,
			 format_percent(g->v->slack, g->v->bytes).s);

	if (!r->profile->sites.totals.read)
		snprintf(t.s + n, sizeof(t.s) - (size_t)n, "; %s of it at the peak",
			 format_bytes(g->v->peak_slack).s);
	return t;
}

static struct text cell(const struct view_request *r, const struct profile_group *g)
{
	return format_bytes(g->v->peak_slack);
}

static void text(struct view_request *r, FILE *out)
{
	const struct site_values *v = &r->profile->total;
	const bool has_peak = !r->profile->sites.totals.read;
	const struct flat_view flat = {
		.nothing = "Nothing was rounded up, or the allocator does not tell usable sizes.",
		.about = about,
		.title = has_peak ? ">at the peak" : NULL,
		.cell = has_peak ? cell : NULL,
	};

	fprintf(out, "The allocator rounded %s up by %s, %s more than requested",
		format_many(v->calls, "block", "blocks").s, format_exact(v->slack).s,
		format_percent(v->slack, v->bytes).s);
	if (has_peak)
		fprintf(out, "; at the peak, by %s (%s)", format_bytes(v->peak_slack).s,
			format_percent(v->peak_slack, v->peak_bytes).s);
	fputs(".\n", out);
	flat_view_text(&flat, r, out);
}

const struct view_ops view_waste = {
	.sort = VALUE_WASTE,
	.text = text,
	.totals = true,
	FLAT_VIEW_JSON,
};
