// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * view_threads.c - the view threads: which thread frees whose blocks, as a
 * matrix of producers and consumers, the sites whose blocks other threads free, and the stack use
 * of each thread. For a profile, which has no events, only the stacks.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../util/order.h"
#include "../pass/cross_frees.h"
#include "../pass/stack_uses.h"
#include "../pass/thread_title.h"
#include "../profile/stack_frames.h"
#include "../util/alloc.h"
#include "figures.h"
#include "json_rows.h"
#include "print_table.h"
#include "views.h"

#define PRODUCERS 8u /* in the matrix */
#define CONSUMERS 5u
#define SITES	  5u

struct threads {
	struct cross_frees cross_frees;
	struct stack_uses stacks;
};

static int prepare(struct view_request *r, struct error *err)
{
	struct threads *t = r->own;

	t->cross_frees.process = r->options->sites.filter.process;
	view_needs(r, &cross_free_pass, &t->cross_frees);
	return 0;
}

static int make(struct view_request *r, struct error *err)
{
	struct stack_uses *s = &((struct threads *)r->own)->stacks;
	const uint32_t process = r->options->sites.filter.process;
	size_t n = 0;

	stack_uses_find(s, r->profile->trace);
	for (size_t i = 0; i < s->count; i++) {
		if (!process || s->of[i].process == process)
			s->of[n++] = s->of[i];
		else
			s->threads -= 1 + s->of[i].others;
	}
	s->count = n;
	return 0;
}

static void release(void *own)
{
	stack_uses_release(&((struct threads *)own)->stacks);
}

static const struct cross_free_thread *thread_at(const struct cross_frees *h, size_t i)
{
	return (const struct cross_free_thread *)h->thread.item + i;
}

ORDER_IN(by_bytes, size_t, struct cross_free_thread,
	 COMPARE(in[*y].allocated.bytes + in[*y].of_others.bytes,
		 in[*x].allocated.bytes + in[*x].of_others.bytes)
	     ?: COMPARE(in[*x].number, in[*y].number))

ORDER_IN(by_given, size_t, struct cross_free_thread,
	 COMPARE(in[*y].by_others.bytes, in[*x].by_others.bytes)
	     ?: COMPARE(in[*x].number, in[*y].number))

ORDER_IN(by_taken, size_t, struct cross_free_thread,
	 COMPARE(in[*y].of_others.bytes, in[*x].of_others.bytes)
	     ?: COMPARE(in[*x].number, in[*y].number))

/* Returns indices of those that did anything, busiest first; the caller frees them. */
static size_t *busiest(const struct cross_frees *h, size_t *n)
{
	size_t *index = must_calloc(h->thread.count + 1, sizeof(*index)), i;

	*n = 0;
	for (i = 0; i < h->thread.count; i++)
		if (thread_at(h, i)->allocated.blocks || thread_at(h, i)->of_others.blocks)
			index[(*n)++] = i;
	SORT_IN(index, *n, by_bytes, h->thread.item);
	return index;
}

/* Numbers line up on the right, names on the left. */
static const char *thread_column(const struct trace *t)
{
	return trace_has_thread_names(t) ? "<thread" : ">thread";
}

static void put_threads(const struct trace *trace, const struct cross_frees *h, const size_t *index,
			size_t n, FILE *out)
{
	struct table t =
	    TABLE(thread_column(trace), ">tid", ">process", ">allocated", ">freed itself",
		  ">freed by others", ">freed for others", ">not freed");
	size_t i;

	for (i = 0; i < n; i++) {
		const struct cross_free_thread *h1 = thread_at(h, index[i]);

		table_cells(&t, thread_title(trace_thread_name(trace, h1->number), h1->number).s);
		if (h1->tid)
			table_cell(&t, "%" PRIu64, h1->tid);
		else
			table_cell(&t, "-");
		table_cells(
		    &t, format_number(h1->process).s, format_bytes(h1->allocated.bytes).s,
		    format_bytes(h1->own.bytes).s, format_bytes(h1->by_others.bytes).s,
		    format_bytes(h1->of_others.bytes).s,
		    format_bytes(h1->allocated.bytes - h1->own.bytes - h1->by_others.bytes).s);
	}
	table_print(&t, out);
}

/* Returns how many of n sorted threads are in the matrix: those whose blocks others freed
 * (`given`), or those that freed blocks of others. */
static size_t in_matrix(const struct cross_frees *h, const size_t *index, size_t n, bool given)
{
	const size_t most = given ? PRODUCERS : CONSUMERS;
	size_t i = 0;

	while (i < n && i < most &&
	       (given ? thread_at(h, index[i])->by_others.blocks
		      : thread_at(h, index[i])->of_others.blocks))
		i++;
	return i;
}

/* Puts one row for each producer, one column for each consumer, those of most bytes first.  index:
 * of n threads, which it sorts. */
static void put_matrix(const struct cross_frees *h, size_t *index, size_t n, FILE *out)
{
	uint32_t to[CONSUMERS], from;
	const struct cross_free_pair *p;
	size_t consumers, producers, i, k, shown = 0;

	SORT_IN(index, n, by_taken, h->thread.item);
	consumers = in_matrix(h, index, n, false);
	fprintf(out, "  %-12s", "of thread");
	for (k = 0; k < consumers; k++) {
		to[k] = thread_at(h, index[k])->number;
		fprintf(out, " %8s%-4" PRIu32, "by ", to[k]);
	}
	fputc('\n', out);
	SORT_IN(index, n, by_given, h->thread.item);
	producers = in_matrix(h, index, n, true);
	for (i = 0; i < producers; i++) {
		from = thread_at(h, index[i])->number;
		fprintf(out, "  %-12" PRIu32, from);
		for (k = 0; k < consumers; k++) {
			p = cross_free_find(h, from, to[k]);
			shown += p != NULL;
			fprintf(out, " %12s", p ? format_bytes(p->sum.bytes).s : ".");
		}
		fputc('\n', out);
	}
	if (shown < h->pairs)
		fprintf(out, "  and %s; --json shows all\n",
			format_many(h->pairs - shown, "more pair", "more pairs").s);
}

/* A site whose blocks other threads free. */
struct traveller {
	const struct sym_line *line; /* NULL if unknown */
	uint64_t blocks, foreign;
};

struct travellers {
	struct traveller *of;
	size_t count;
};

ORDER(by_foreign, struct traveller, FALLING(foreign) ?: FALLING(blocks))

/* Finds them, most first.  The caller frees of. */
static void find_travellers(struct profile *p, struct travellers *t)
{
	struct line_interner lines = { .same = LINE_LINE };
	const struct profile_path *path = NULL;
	uint32_t id = 0;
	size_t i;

	t->count = 0;
	t->of = must_calloc(p->count + 2, sizeof(*t->of));
	for (i = 0; i < p->count; i++) {
		path = profile_path_once(p, p->site[i].key);
		id = path->count ? line_interner_id(&lines, path->line[path->asked - 1]) : 0;
		t->of[id].line = id ? line_interner_line(&lines, id) : NULL;
		t->of[id].blocks += p->site[i].v.calls;
		t->of[id].foreign += p->site[i].v.foreign_frees;
	}
	t->count = lines.keys.count + 1;
	SORT(t->of, t->count, by_foreign);
	while (t->count && !t->of[t->count - 1].foreign)
		t->count--;
	line_interner_release(&lines);
}

static void put_sites(struct view_request *r, FILE *out)
{
	struct travellers t;
	size_t shown, i;

	find_travellers(r->profile, &t);
	shown = view_shown(r, t.count);
	if (r->top && shown > SITES)
		shown = SITES;
	if (t.count)
		fputs("\nBlocks that other threads freed, of all that each line allocated:\n\n",
		      out);
	for (i = 0; i < shown; i++) {
		fprintf(out, "  %11s of %11s  ", format_count(t.of[i].foreign).s,
			format_count(t.of[i].blocks).s);
		if (t.of[i].line)
			figures_line(out, t.of[i].line, true);
		else
			fputs("(stack not known)", out);
		fputc('\n', out);
	}
	if (shown < t.count)
		fprintf(out, "  and %s more; --top 0 shows all\n", format_count(t.count - shown).s);
	free(t.of);
}

static void put_frees(struct view_request *r, const struct cross_frees *h, FILE *out)
{
	size_t n, shown, *index = busiest(h, &n);

	shown = view_shown(r, n);
	if (h->all.blocks)
		fprintf(out,
			"Of %s, %s (%s) were freed by a thread other than the one that allocated "
			"them.\n",
			format_many(r->profile->total.freed_calls, "freed block", "freed blocks").s,
			format_count(h->all.blocks).s, format_bytes(h->all.bytes).s);
	else if (r->profile->total.freed_calls)
		fputs("Every freed block was freed by the thread that allocated it.\n", out);
	else
		fputs("No block was freed.\n", out);
	fputc('\n', out);
	put_threads(r->profile->trace, h, index, shown, out);
	if (shown < n)
		fprintf(out, "  and %s with less; --top 0 shows all\n",
			format_many(n - shown, "thread", "threads").s);
	if (h->pairs) {
		fputs("\nBytes of blocks freed by other threads:\n\n", out);
		put_matrix(h, index, n, out);
		if (h->rest.blocks)
			fprintf(out, "  Further pairs of threads: %s in %s.\n",
				format_bytes(h->rest.bytes).s,
				format_many(h->rest.blocks, "block", "blocks").s);
		put_sites(r, out);
	}
	free(index);
}

/* ---- stacks ---- */

static void stack_put_row(struct table *t, const struct stack_of *s, struct profile *p)
{
	table_cells(t, thread_title(s->name, s->thread).s, format_number(s->tid).s,
		    format_number(s->process).s);
	table_cell(t, "%s%s", s->looked_ticks ? "" : ">= ", format_bytes(s->used).s);
	table_cells(t, s->limit ? format_bytes(s->limit).s : "-",
		    s->limit ? format_percent(s->used, s->limit).s : "-",
		    s->looked_ticks ? format_bytes(s->resident).s : "-",
		    s->deepest ? format_bytes(s->deepest).s : "-",
		    s->deepest ? format_since(trace_ns(p->trace, s->deepest_ticks)).s : "-");
}

static void stack_put_functions(const struct stack_frames *f, const struct stack_of *s, size_t most,
				FILE *out)
{
	struct table t = TABLE(">bytes", ">%", ">frames", "<function");
	size_t shown = most && most < f->count ? most : f->count, i;
	uint64_t rest = 0;

	fputs("\nFunctions by their part of that stack:\n\n", out);
	for (i = 0; i < shown; i++) {
		const struct stack_function *x = &f->of[i];
		char *name = figures_line_text(x->line, false);

		table_cells(&t, format_bytes(x->bytes).s, format_percent(x->bytes, s->deepest).s,
			    format_count(x->frames).s, name);
		free(name);
	}
	if (f->outer)
		table_cells(&t, format_bytes(f->outer).s, format_percent(f->outer, s->deepest).s,
			    "-", "(frames further out, not recorded)");
	table_print(&t, out);
	for (; i < f->count; i++)
		rest += f->of[i].bytes;
	if (rest)
		fprintf(out, "  and %s with %s; --top 0 shows all\n",
			format_many(f->count - shown, "function", "functions").s,
			format_bytes(rest).s);
}

static void stack_put_deepest(const struct stack_of *s, struct profile *p, size_t most, FILE *out)
{
	const struct profile_path *path = s->stack ? profile_path_once(p, s->stack) : NULL;
	struct stack_frames f;

	if (!s->deepest || !path || !path->count)
		return;
	fprintf(out, "\nThe deepest recorded call of thread %s, %s down its stack, was in\n",
		stack_thread_title(s).s, format_bytes(s->deepest).s);
	for (size_t i = path->count, n; i > 0; i -= n) {
		for (n = 1; n < i && figures_same_place(path->line[i - 1 - n], path->line[i - 1]);
		     n++)
			;
		fputs("  ", out);
		figures_line(out, path->line[i - 1], true);
		if (n > 1)
			fprintf(out, ", %s", format_many(n, "time", "times").s);
		fputc('\n', out);
	}
	if (path->truncated)
		fputs("  ... and unknown callers\n", out);
	if (stack_frames_find(&f, s, p))
		stack_put_functions(&f, s, most, out);
	stack_frames_release(&f);
}

static void stack_put_largest(const struct stack_of *s, struct profile *p, FILE *out)
{
	char limit[128] = "", when[128] = "";

	if (s->limit)
		snprintf(limit, sizeof(limit), " of %s", format_bytes(s->limit).s);
	if (s->deepest)
		snprintf(when, sizeof(when), "; its deepest recorded call was %s after the start",
			 format_since(trace_ns(p->trace, s->deepest_ticks)).s);
	fprintf(out, "Stacks: thread %s ", stack_thread_title(s).s);
	if (stack_is_only_touched(s))
		fprintf(out, "touched a page %s down%s%s, but hardly any in between (%s resident)",
			format_bytes(s->used).s, *limit ? "," : "", limit,
			format_bytes(s->resident).s);
	else
		fprintf(out, "used the most, %s %s%s", s->looked_ticks ? "up to" : "at least",
			format_bytes(s->used).s, limit);
	fprintf(out, "%s.\n", when);
}

static void put_stacks(const struct stack_uses *s, struct profile *p, size_t most, FILE *out)
{
	struct table t = TABLE(thread_column(p->trace), ">tid", ">process", ">stack used", ">of",
			       ">%", ">resident", ">deepest call", ">at");
	size_t shown = most && most < s->count ? most : s->count, i;
	const struct stack_of *deepest = NULL;

	if (!s->count)
		return;
	stack_put_largest(&s->of[0], p, out);
	fputc('\n', out);
	for (i = 0; i < shown; i++)
		stack_put_row(&t, &s->of[i], p);
	table_print(&t, out);
	if (shown < s->threads)
		fprintf(out, "  and %s that used no more%s\n",
			format_many(s->threads - shown, "thread", "threads").s,
			shown < s->count ? "; --top 0 shows all" : "");
	for (i = 0; i < s->count; i++)
		if (!deepest || s->of[i].deepest > deepest->deepest)
			deepest = &s->of[i];
	stack_put_deepest(deepest, p, most, out);
}

static void text(struct view_request *r, FILE *out)
{
	struct threads *t = r->own;
	const bool events = trace_has_events(r->profile->trace);

	if (events)
		put_frees(r, &t->cross_frees, out);
	else if (!t->stacks.count)
		fputs("This profile does not contain the stack use of its threads.\n", out);
	if (events && t->stacks.count)
		fputc('\n', out);
	put_stacks(&t->stacks, r->profile, r->top, out);
}

/* ---- JSON: rows are pairs ---- */

#include "../json/threads.def"

static void members(struct view_request *r, json *o)
{
	struct threads *v = r->own;
	struct stack_frames *frames = must_calloc(v->stacks.count + 1, sizeof(*frames));
	struct travellers t;

	for (size_t i = 0; i < v->stacks.count; i++)
		stack_frames_find(&frames[i], &v->stacks.of[i], r->profile);
	find_travellers(r->profile, &t);
	threads_view_fields(o, &v->cross_frees, &t, view_shown(r, t.count), &v->stacks, frames,
			    r->profile);
	for (size_t i = 0; i < v->stacks.count; i++)
		stack_frames_release(&frames[i]);
	free(frames);
	free(t.of);
}

static json *pair(struct view_request *r, size_t i)
{
	return JSON_NEW(pair, &((struct threads *)r->own)->cross_frees.pair[i]);
}

static size_t pairs(const struct view_request *r)
{
	return ((const struct threads *)r->own)->cross_frees.pairs;
}

const struct view_ops view_threads = {
	.sort = VALUE_TOTAL,
	.by = PROFILE_BY_STACK,
	.whole = true,
	.of_process = true,
	.totals = true,
	.own = sizeof(struct threads),
	.prepare = prepare,
	.make = make,
	.text = text,
	.json = members,
	.json_row = pair,
	.json_rows = pairs,
	.release = release,
};
