// SPDX-License-Identifier: LGPL-3.0-or-later
/* view_peak_rss.c - who held memory when the process was largest. */
#include <inttypes.h>

#include "flat_view.h"

static struct long_text about(const struct view_request *r, const struct profile_group *g)
{
	struct long_text t;

	(void)r;
	snprintf(t.s, sizeof(t.s), "in %s", text_many(g->v.rss_calls, "block", "blocks").s);
	return t;
}

static struct text cell(const struct view_request *r, const struct profile_group *g)
{
	(void)r;
	return text_count(g->v.rss_calls);
}

static int text(struct view_request *r, FILE *out, struct error *err)
{
	const struct profile *p = r->profile;
	const struct site_moment *m = &p->sites.rss;
	const struct flat_view flat = {
		.nothing = "Nothing that is looked at lived then.",
		.about = about,
		.title = ">blocks",
		.cell = cell,
	};

	if (!m->rss) {
		fputs("The size of the process was never sampled (it was recorded with"
		      " --no-sample, or did not live long enough).\n"
		      "`mprof report peak' tells the moment when its blocks held most.\n",
		      out);
		return 0;
	}
	fprintf(out, "Process %" PRIu32 " was largest %s, with %s in memory.\n", m->process,
		flat_moment(m->ns).s, text_exact(m->rss).s);
	fprintf(out, "  of that, its blocks  %s in %s (%s)\n", text_exact(p->total.rss_bytes).s,
		text_many(p->total.rss_calls, "block", "blocks").s,
		text_percent(p->total.rss_bytes, m->rss).s);
	fprintf(out, "  arena: %s by brk and sbrk   mmap: %s mapped by the program itself\n",
		text_bytes(m->arena).s, text_bytes(m->mapped).s);
	return flat_view_text(&flat, r, out, err);
}

const struct view_ops view_peak_rss = {
	.sort = VALUE_RSS,
	.rows = true,
	.text = text,
	.json = flat_view_json,
	.json_row = flat_view_json_row,
	.json_rows = flat_view_json_rows,
};
