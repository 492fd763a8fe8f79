// SPDX-License-Identifier: LGPL-3.0-or-later
/* view_hot.c - the most frequent allocations, and their sizes. */
#include <string.h>

#include "flat_view.h"

#define RECYCLED 10u /* shown if the total is at least this many times the peak */

static bool own_peaks(const struct view_request *r)
{
	return true;
}

/* Adds ", 20 to 80 bytes each, 50 bytes on average"; returns its length. */
static int put_sizes(char *to, size_t room, const struct site_values *v)
{
	const struct text least = format_bytes(v->size_min), most = format_bytes(v->size_max);

	if (v->size_min == v->size_max)
		return snprintf(to, room, ", %s each", least.s);
	if (!strcmp(least.s, most.s)) /* the mean, too */
		return snprintf(to, room, ", %s to %s bytes each", format_count(v->size_min).s,
				format_count(v->size_max).s);
	return snprintf(to, room, ", %s to %s each, %s on average", least.s, most.s,
			format_bytes(v->bytes / v->calls).s);
}

static struct long_text about(const struct view_request *r, const struct profile_group *g)
{
	struct long_text t;
	char what[80] = "";
	int n;

	if (r->sort != VALUE_CALLS)
		snprintf(what, sizeof(what), "in %s", format_many(g->v->calls, "call", "calls").s);
	else
		snprintf(what, sizeof(what), "for %s", format_bytes(g->v->bytes).s);
	n = snprintf(t.s, sizeof(t.s), "%s", what);
	if (g->v->calls > 1) /* none: the profile is damaged */
		n += put_sizes(t.s + n, sizeof(t.s) - (size_t)n, g->v);
	if (g->v->local_bytes && g->v->bytes / g->v->local_bytes >= RECYCLED)
		snprintf(t.s + n, sizeof(t.s) - (size_t)n, "; at most %s live at once",
			 format_bytes(g->v->local_bytes).s);
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
