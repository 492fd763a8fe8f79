// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * view_realloc.c - the view realloc: blocks grown step by step, their sites, and what a sufficient
 * first request would save.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../pass/growth.h"
#include "../pass/interner.h"
#include "../profile/filters.h"
#include "../util/alloc.h"
#include "figures.h"
#include "json_rows.h"
#include "views.h"

struct grown {
	struct growth growth;
	struct growth_site *site; /* sites whose stacks pass the filters, one for each row */
	size_t sites;
};

/* A block that grows passes through calls of several sizes, and perhaps several threads, so this
 * view accepts only filters of call stacks. */
static int check_filters(const struct view_request *r, struct error *err)
{
	struct profile_options blocks = { .sites.filter = r->options->sites.filter };

	return filters_refuse(&blocks, false, "realloc", err);
}

static int prepare(struct view_request *r, struct error *err)
{
	struct grown *g = r->own;

	if (check_filters(r, err))
		return -EINVAL;
	view_needs(r, &growth_pass, &g->growth);
	return 0;
}

static void release(void *own)
{
	free(((struct grown *)own)->site);
}

/* ---- who ---- */

static void put_lines(struct profile *p, uint32_t stack, FILE *out)
{
	const struct profile_path *path = profile_path(p, stack);
	const struct sym_line *through = profile_path_through(p, path);
	size_t i;

	if (!path->count) {
		fputs("(stack not known)", out);
		return;
	}
	figures_line(out, path->line[path->count - 1], true);
	if (through && path->count <= path->asked) {
		fputs(", through ", out);
		figures_name(out, through->function);
	}
	for (i = path->count - 1; i-- && i + 4 > path->count;) {
		fputs(" < ", out);
		figures_name(out, path->line[i]->function);
	}
}

struct same {
	struct profile *p;
	struct interner lines; /* lines as shown */
};

/* Combines rows with the same text; drops rows that filters exclude. */
static uint32_t key_of(void *same, uint32_t stack)
{
	struct same *s = same;
	uint32_t id;
	char *text;

	if (!s->p->site_of[stack])
		return 0;
	text = WRITTEN(out, put_lines(s->p, stack, out));
	id = interner_id(&s->lines, text, strlen(text));
	free(text);
	return id;
}

static int make(struct view_request *r, struct error *err)
{
	struct same same = { .p = r->profile };
	struct grown *g = r->own;

	g->site = growth_merged(&g->growth, key_of, &same, &g->sites);
	interner_release(&same.lines);
	return 0;
}

/* ---- text ---- */

static void put_site(struct profile *p, const struct growth_site *s, FILE *out)
{
	fputs("\n  ", out);
	put_lines(p, s->stack, out);
	fprintf(
	    out,
	    "\n    grew %s in %s%s, at most %s in a row, up to %s; %s moved, at most %s copied\n",
	    format_many(s->chains, "block", "blocks").s, format_many(s->steps, "step", "steps").s,
	    s->copies == s->steps ? " (new block, copy, free)" : "", format_count(s->longest).s,
	    format_bytes(s->greatest).s, format_count(s->moved).s, format_bytes(s->copied).s);
	if (profile_is_closed(p, s->stack)) {
		fputs("    its class has no reserve()\n", out);
		return;
	}
	fprintf(out, "    reserve %s: saves %s and copying up to %s, and wastes %s on average\n",
		format_exact(s->reserve).s, format_many(s->saved_steps, "call", "calls").s,
		format_bytes(s->saved_copied).s, format_bytes(s->spare).s);
}

static void text(struct view_request *r, FILE *out)
{
	struct grown *g = r->own;
	size_t i, n;

	if (!g->sites) {
		fputs("No block was grown step by step.\n", out);
		return;
	}
	fprintf(out, "%s grown in %s, which copied at most %s",
		format_many(g->growth.chains, "block was", "blocks were").s,
		format_many(g->growth.steps, "step", "steps").s, format_bytes(g->growth.copied).s);
	if (g->growth.copies)
		fprintf(out,
			"; %s of the steps not by realloc but as vectors grow, by a new block, a "
			"copy and a free",
			format_count(g->growth.copies).s);
	fputs(".\n", out);
	n = view_shown(r, g->sites);
	for (i = 0; i < n; i++)
		put_site(r->profile, &g->site[i], out);
	if (n < g->sites)
		fprintf(out, "\n  and %s; --top 0 shows all\n",
			format_many(g->sites - n, "call site more", "call sites more").s);
}

/* ---- JSON ---- */

#include "../json/growth.def"

static void members(struct view_request *r, json *o)
{
	realloc_view_fields(o, &((struct grown *)r->own)->growth);
}

static json *row(struct view_request *r, size_t i)
{
	const struct growth_site *s = &((struct grown *)r->own)->site[i];

	return JSON_NEW(grown_row, s, profile_path(r->profile, s->stack));
}

static size_t rows(const struct view_request *r)
{
	const struct grown *g = r->own;

	return view_shown(r, g->sites);
}

const struct view_ops view_realloc = {
	.sort = VALUE_TOTAL,
	.by = PROFILE_BY_STACK,
	.own = sizeof(struct grown),
	.prepare = prepare,
	.make = make,
	.text = text,
	.json = members,
	.json_row = row,
	.json_rows = rows,
	.release = release,
};
