// SPDX-License-Identifier: LGPL-3.0-or-later
/* view_temporary.c - blocks that are freed immediately. */
#include "flat_view.h"

static struct long_text about(const struct view_request *r, const struct profile_group *g)
{
	struct long_text t;
	uint64_t n = g->v->temporary_calls;

	snprintf(t.s, sizeof(t.s), "%s of its calls, %s on average",
		 format_percent(n, g->v->calls).s,
		 format_bytes(n ? g->v->temporary_bytes / n : 0).s);
	return t;
}

static struct text cell(const struct view_request *r, const struct profile_group *g)
{
	return format_percent(g->v->temporary_calls, g->v->calls);
}

static void text(struct view_request *r, FILE *out)
{
	const struct profile *p = r->profile;
	const struct sites_options *o = &p->sites.options;
	/* A profile has counted its temporary blocks already. */
	const bool by_default = !o->temporary_events && !o->temporary_ns && !p->sites.totals.read;
	const struct flat_view flat = {
		.nothing = by_default ? "To count blocks that were freed a little later: "
					"--temporary 10, within ten\n"
					"calls, or --temporary 1ms."
				      : NULL,
		.about = about,
		.title = ">of its calls",
		.cell = cell,
	};
	uint64_t calls = o->temporary_events ? o->temporary_events : SITE_TEMPORARY_EVENTS;

	fprintf(out, "%s of %s %s temporary: freed by the thread that allocated them ",
		format_many(p->total.temporary_calls, "call", "calls").s,
		format_count(p->total.calls).s, p->total.temporary_calls == 1 ? "was" : "were");
	if (calls == 1)
		fputs("in its very next call", out);
	else
		fprintf(out, "within its next %s calls", format_count(calls).s);
	if (o->temporary_ns)
		fprintf(out, ", or within %s", format_ns(o->temporary_ns).s);
	fputs(".\n", out);
	flat_view_text(&flat, r, out);
}

const struct view_ops view_temporary = {
	.sort = VALUE_TEMPORARY,
	.totals = true,
	.text = text,
	FLAT_VIEW_JSON,
};
