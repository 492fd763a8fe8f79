// SPDX-License-Identifier: LGPL-3.0-or-later
/* html_window.c - see html_window.h. */
#include "html_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"

/* ---- the highest moment of a window ---- */

struct highest {
	uint64_t from, to; /* ticks */
	uint64_t bytes;
	struct walk_until at;
	bool in_window;
};

static void look(void *self, const struct batch *b)
{
	struct highest *h = self;
	size_t i;

	for (i = 0; i < b->count; i++) {
		const struct note *n = &b->note[i];
		const uint64_t ticks = b->event[i].ticks;

		if (!(n->did & (NOTE_BEGAN | NOTE_ENDED)) || ticks > h->to)
			continue;
		/* Until the window begins, the latest state counts. */
		h->in_window |= ticks > h->from;
		if (h->in_window && note_all_bytes(n) <= h->bytes && h->at.set)
			continue;
		h->bytes = note_all_bytes(n);
		h->at = (struct walk_until){ .set = true, .ticks = ticks, .event = b->number + i };
	}
}

static const struct pass_ops highest_pass = { .name = "highest", .batch = look };

/* ---- one walk ---- */

static int run(struct trace *t, const struct window_question *q, const struct walk_pass *pass,
	       const struct walk_until *until, struct walk *w, struct error *err)
{
	struct walk_input in;
	int ret;

	trace_rewind(t);
	walk_input_from_trace(&in, t);
	in.stacks = trace_stacks(t);
	walk_init(w, &in, pass, 1);
	w->no_pages = true;
	w->until = *until;
	w->cancel = q->cancel;
	w->progress = q->progress;
	w->progress_context = q->progress_context;
	ret = walk_run(w, err);
	w->passes = 0; /* the list is the caller's */
	return ret;
}

/* Where the walk for the answer has to end. */
static int find_moment(struct trace *t, const struct window_question *q, struct walk_until *until,
		       struct error *err)
{
	struct highest h = { .from = q->from_ns < 0 ? 0 : trace_ticks(t, (uint64_t)q->from_ns),
			     .to = trace_ticks(t, q->to_ns < 0 ? 0 : (uint64_t)q->to_ns) };
	const struct walk_pass pass = { &highest_pass, &h };
	struct walk w;
	int ret;

	*until = (struct walk_until){ .set = true, .ticks = h.to };
	if (q->kind != WINDOW_PEAK)
		return 0;
	ret = run(t, q, &pass, until, &w, err);
	walk_release(&w);
	if (!ret && h.at.set)
		*until = h.at;
	return ret;
}

/* ---- the answer ---- */

static void add_site(struct window_answer *a, const struct html_map *map, const struct site *s,
		     bool moment)
{
	const uint64_t bytes = moment ? s->v.peak_bytes : s->v.bytes;
	const uint64_t blocks = moment ? s->v.peak_calls : s->v.calls;
	uint32_t node = s->key < map->stacks ? map->node_of[s->key] : HTML_NO_NODE;

	if (!blocks || node == HTML_NO_NODE)
		return;
	a->bytes += bytes;
	a->blocks += blocks;
	a->node_bytes[node] += bytes;
	a->node_blocks[node] += blocks;
}

static int check(const struct window_question *q, struct error *err)
{
	const struct site_filter *f = &q->filter;
	const bool lifetimes = f->lifetime_min_ns || f->lifetime_max_ns != UINT64_MAX;

	if (lifetimes && q->kind != WINDOW_TOTAL)
		return fail(err, -EINVAL, "the lifetime of a live block is not known yet");
	if (q->from_ns >= q->to_ns)
		return fail(err, -EINVAL, "the window ends before it begins");
	return 0;
}

static void take(struct window_answer *a, const struct html_map *map, const struct sites *sites,
		 bool moment)
{
	size_t i;

	a->nodes = map->nodes;
	a->node_bytes = must_calloc(map->nodes + 1, sizeof(*a->node_bytes));
	a->node_blocks = must_calloc(map->nodes + 1, sizeof(*a->node_blocks));
	for (i = 0; i < sites->count; i++)
		add_site(a, map, &sites->site[i], moment);
}

int window_ask(struct window_answer *a, struct trace *t, const struct html_map *map,
	       const struct window_question *q, struct error *err)
{
	const bool moment = q->kind != WINDOW_TOTAL;
	struct sites sites = { .options = { .filter = q->filter } };
	struct site_filter *f = &sites.options.filter;
	const struct walk_pass pass = { &sites_pass, &sites };
	struct walk_until until;
	struct walk w;
	int ret = check(q, err);

	memset(a, 0, sizeof(*a));
	if (!ret)
		ret = find_moment(t, q, &until, err);
	if (ret)
		return ret;
	f->from_ns = INT64_MIN;
	f->to_ns = INT64_MAX;
	if (!moment || q->kind == WINDOW_KEPT)
		f->from_ns = q->from_ns + 1;
	if (!moment) {
		f->to_ns = q->to_ns;
		/* Whether a block lived long enough shows later. */
		if (f->lifetime_min_ns || f->lifetime_max_ns != UINT64_MAX)
			until.set = false;
	}
	sites.options.until = until;
	ret = run(t, q, &pass, &until, &w, err);
	if (!ret)
		take(a, map, &sites, moment);
	a->ns = moment && !ret ? sites.peak.ns : q->to_ns;
	sites_pass.release(&sites);
	walk_release(&w);
	if (ret)
		window_answer_release(a);
	return ret;
}

void window_answer_release(struct window_answer *a)
{
	free(a->node_bytes);
	free(a->node_blocks);
	a->node_bytes = a->node_blocks = NULL;
}
