// SPDX-License-Identifier: LGPL-3.0-or-later
/* view_leaks.c - what was never freed, with the evidence. */
#include "flat_view.h"

static struct long_text about(const struct view_request *r, const struct profile_group *g)
{
	struct long_text t;

	(void)r;
	snprintf(t.s, sizeof(t.s), "in %s of %s", text_many(g->leaked_calls, "block", "blocks").s,
		 text_count(g->v.calls).s);
	return t;
}

static struct text cell(const struct view_request *r, const struct profile_group *g)
{
	(void)r;
	return text_count(g->leaked_calls);
}

static int text(struct view_request *r, FILE *out, struct error *err)
{
	const struct profile *p = r->profile;
	const struct flat_view flat = {
		.nothing = "Nothing else was left.",
		.about = about,
		.title = ">blocks",
		.cell = cell,
	};

	fprintf(out, "%s in %s never freed", text_exact(p->leaked_total).s,
		text_many(p->leaked_calls_total, "block was", "blocks were").s);
	if (p->suppressed_calls)
		fprintf(out, ", not counting %s in %s that are suppressed",
			text_bytes(p->suppressed_bytes).s,
			text_many(p->suppressed_calls, "block", "blocks").s);
	fputs(".\n", out);
	return flat_view_text(&flat, r, out, err);
}

const struct view_ops view_leaks = {
	.sort = VALUE_LEAKED,
	.rows = true,
	.text = text,
	.json = flat_view_json,
	.json_row = flat_view_json_row,
	.json_rows = flat_view_json_rows,
};
