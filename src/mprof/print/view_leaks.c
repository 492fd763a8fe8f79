// SPDX-License-Identifier: LGPL-3.0-or-later
/* view_leaks.c - blocks that were never freed, with evidence of leaks. */
#include <string.h>

#include "../profile/leaks.h"
#include "../profile/reachable.h"
#include "../profile/suppressions.h"
#include "flat_view.h"
#include "json_rows.h"
#include "text.h"

struct own {
	bool runs; /* runs_still() when the text was begun: it asks the system */
};

/* Do the processes whose blocks are shown still run? */
static bool runs_still(const struct profile *p)
{
	const uint32_t one = p->sites.options.filter.process;
	const struct tree_process *of = one ? tree_find(&p->tree, one) : NULL;

	if (p->walk.input.log_end || p->sites.options.until.set)
		return false;
	return one ? of && text_runs(of) : text_running(&p->tree);
}

static const char *heading(const struct view_request *r, const struct profile_group *g)
{
	if (r->sorted)
		return NULL;
	if (r->profile->reachable && g->v->unreachable_calls)
		return ((struct own *)r->own)->runs
			   ? "Unreachable: no pointer leads to these blocks"
			   : "Unreachable: no pointer led to these blocks";
	if (r->profile->reachable && g->v->examined_calls)
		return ((struct own *)r->own)->runs
			   ? "Reachable: pointers lead to these blocks"
			   : "Reachable: pointers still led to these blocks";
	if (r->profile->reachable)
		return ((struct own *)r->own)->runs ? "Not examined"
						    : "Not examined as their process ended";
	if (!leaks_know_growth(r->profile))
		return NULL;
	if (!leak_matters_most(r->profile, g))
		return "Growing only for a short time, slightly, or no longer";
	if (((const struct own *)r->own)->runs)
		return r->profile->walk.heap.processes > 1 &&
			       !r->profile->sites.options.filter.process
			   ? "Still growing, now or when their process ended"
			   : "Still growing";
	return r->profile->walk.heap.processes > 1 ? "Still growing when their process ended"
						   : "Still growing at the end";
}

/* Stacks that each grew for a while can make a function that grows to the end, which a finding
 * says.  As there, not where growth cannot be told from replacement or from many processes. */
static bool only_sum_grows(const struct profile *p)
{
	uint64_t sum[SITE_EPOCHS] = { 0 };
	size_t i, k;

	if (p->sites.totals.read || p->header->dropped_ticks || p->walk.heap.processes > 1)
		return false;
	for (i = 0; i < p->groups; i++) {
		if (leak_matters_most(p, &p->group[i]))
			return false;
		for (k = 0; k < SITE_EPOCHS; k++)
			sum[k] += p->group[i].leaked_epochs[k];
	}
	return leak_goes_on(sum);
}

/* What a profile knows of growth: how much was live at an earlier time. */
static void put_growth(struct long_text *t, size_t n, const struct sites *s,
		       const struct site_values *v)
{
	const uint64_t then = v->past_bytes[SITE_PASTS - 1], ticks = s->totals.past_ticks[1];

	if (ticks && v->calls > 1 && v->live_bytes > then)
		snprintf(t->s + n, sizeof(t->s) - n, "; %s more than at %s",
			 format_bytes(v->live_bytes - then).s,
			 flat_moment(walk_ns(s->walk, ticks)).s);
}

/* Which blocks were unreachable, or what held them. */
static void put_reachable(struct long_text *t, size_t n, const struct profile *p,
			  const struct profile_group *g)
{
	const struct site_values *v = g->v;
	struct reachable_holder holder;

	if (!v->unreachable_calls) {
		holder = reachable_holder(p->reachable, p->sym, v);
		if (*holder.text)
			snprintf(t->s + n, sizeof(t->s) - n, "; held by %s", holder.text);
		return;
	}
	if (v->unreachable_calls < v->leaked_calls)
		n += (size_t)snprintf(t->s + n, sizeof(t->s) - n, "; %s unreachable (%s)",
				      format_count(v->unreachable_calls).s,
				      format_bytes(v->unreachable_bytes).s);
	else
		n += (size_t)snprintf(t->s + n, sizeof(t->s) - n, "; unreachable");
	if (v->below_calls)
		snprintf(t->s + n, sizeof(t->s) - n, ", %s of them through another one",
			 format_count(v->below_calls).s);
}

static struct long_text about(const struct view_request *r, const struct profile_group *g)
{
	struct long_text t;
	struct leak leak;
	int n;

	leak_of(r->profile, g, &leak);
	if (g->v->leaked_calls == g->v->calls)
		n = snprintf(t.s, sizeof(t.s), "in %s",
			     g->v->calls == 1 ? "its only block" : "all ");
	else
		n = snprintf(t.s, sizeof(t.s), "in %s of ", format_count(g->v->leaked_calls).s);
	if (g->v->calls > 1)
		n += snprintf(t.s + n, sizeof(t.s) - (size_t)n, "%s blocks",
			      format_count(g->v->calls).s);
	if (r->profile->sites.totals.read) {
		put_growth(&t, (size_t)n, &r->profile->sites, g->v);
		return t;
	}
	if (!leaks_know_growth(r->profile))
		return t;
	if (leak.kind == LEAK_GROWING)
		snprintf(t.s + n, sizeof(t.s) - (size_t)n, "; growing by %s a second since %s",
			 format_bytes(leak.bytes_per_s).s, flat_moment(leak.since_ns).s);
	else if (leak.kind == LEAK_STOPPED)
		snprintf(t.s + n, sizeof(t.s) - (size_t)n, "; grew until %s",
			 flat_moment(leak.grew_ns).s);
	else
		snprintf(t.s + n, sizeof(t.s) - (size_t)n, "; kept since %s",
			 flat_moment(leak.since_ns).s);
	if (r->profile->reachable)
		put_reachable(&t, strlen(t.s), r->profile, g);
	return t;
}

static struct text cell(const struct view_request *r, const struct profile_group *g)
{
	struct leak leak;
	struct text t;

	leak_of(r->profile, g, &leak);
	snprintf(t.s, sizeof(t.s), "%.28s of %.28s", format_count(g->v->leaked_calls).s,
		 format_count(g->v->calls).s);
	return t;
}

static bool same_reason(const struct suppression *a, const struct suppression *b)
{
	return a->why && b->why && !strcmp(a->why, b->why);
}

/* Sums x and the later ones with the same reason; false if an earlier one has it. */
static bool sum_reason(const struct suppressions *s, size_t x, uint64_t *calls, uint64_t *bytes)
{
	size_t i;

	*calls = *bytes = 0;
	for (i = 0; i < s->count; i++) {
		if (i != x && !same_reason(&s->item[i], &s->item[x]))
			continue;
		if (i < x)
			return false;
		*calls += s->item[i].calls;
		*bytes += s->item[i].bytes;
	}
	return *calls > 0;
}

static void print_suppressed(const struct profile *p, FILE *out)
{
	const struct suppressions *s = p->suppressions;
	uint64_t calls, bytes;
	size_t i;

	if (!p->suppressed_calls)
		return;
	fprintf(out, "\nSuppressed: %s in %s\n", format_exact(p->suppressed_bytes).s,
		format_many(p->suppressed_calls, "block", "blocks").s);
	for (i = 0; i < s->count; i++) {
		if (!sum_reason(s, i, &calls, &bytes))
			continue;
		fprintf(out, "  %10s  in %s: ", format_bytes(bytes).s,
			format_many(calls, "block", "blocks").s);
		if (s->item[i].why)
			fprintf(out, "%s\n", s->item[i].why);
		else
			fprintf(out, "%s%s\n",
				s->item[i].steps.count ? "" : "leak:", s->item[i].pattern);
	}
}

static int make(struct view_request *r, struct error *err)
{
	if (!r->sorted)
		leaks_rank(r->profile);
	return 0;
}

static void print_none(const struct profile *p, FILE *out)
{
	const struct site_values *v = &p->total;
	const uint64_t freed = v->freed_calls + v->live_calls;

	if (v->calls > freed && !p->sites.totals.estimated)
		fprintf(out, "%s, %s, %s live when a %s; every other block was",
			format_many(v->calls - freed, "block", "blocks").s,
			format_exact(v->bytes - v->freed_bytes - v->live_bytes).s,
			v->calls - freed == 1 ? "was" : "were",
			p->sites.totals.gone_blocks ? "process ended or called exec"
						    : "program called exec");
	else
		fputs("Every block was", out);
	fprintf(out, " freed%s.\n", p->suppressed_calls ? ", except suppressed ones" : "");
}

/* Why blocks of a process were not examined. */
static void print_missed(const struct profile *p, FILE *out)
{
	const char *why = reachable_why_not(p->trace);
	const struct tree_process *first;
	size_t n;

	if (*why) {
		fprintf(out, "A process could not be examined: %s.\n", why);
		return;
	}
	if (!p->reachable) {
		fputs("Whether pointers led to them is unknown: no process was examined as it "
		      "ended.\n",
		      out);
		return;
	}
	first = reachable_missed(p->trace, &p->tree, p->sites.options.filter.process, &n);
	if (!first)
		return;
	fprintf(out, "Not examined: %s (pid %d), which %s", text_process(first, 40).s, first->pid,
		text_end(first).s);
	if (n > 1)
		fprintf(out, "; and %s", format_many(n - 1, "other process", "other processes").s);
	fputs(".\n", out);
}

/* Which blocks were reachable, or why that is unknown. */
static void print_reachable(const struct profile *p, FILE *out)
{
	const bool now = runs_still(p);
	const char *when = now				? ""
			   : p->walk.heap.processes > 1 ? " when their process ended"
							: " when the process ended";
	const struct site_values *v = &p->total;

	if (p->reachable && v->unreachable_calls)
		fprintf(out, "No pointer %s to %s%s of them, %s%s%s.\n", now ? "leads" : "led",
			reachable_is_part(p->reachable) ? "at least " : "",
			format_count(v->unreachable_calls).s, format_exact(v->unreachable_bytes).s,
			now ? "" : ",", when);
	else if (p->reachable)
		fprintf(out, "Pointers %s to all %s%s.\n", now ? "lead" : "led",
			v->examined_calls < v->leaked_calls ? "that were examined" : "of them",
			when);
	if (reachable_was_requested(p->trace))
		print_missed(p, out);
}

/* Tells the way to it, where there is one. */
static void suggest_reachable(const struct profile *p, FILE *out)
{
	const int pid = text_running(&p->tree);

	if (p->reachable || p->sites.totals.read || trace_source(p->trace) ||
	    p->header->dropped_ticks || reachable_was_requested(p->trace))
		return;
	fputs("To tell lost blocks from blocks in use: mprof ", out);
	if (pid)
		fprintf(out, "report leaks --reach %d\n", pid);
	else
		fputs("record --reach\n", out);
}

static void text(struct view_request *r, FILE *out)
{
	const struct profile *p = r->profile;
	const bool log_end = p->walk.input.log_end;
	const bool runs = runs_still(p);
	const struct flat_view flat = {
		.heading = heading,
		.about = about,
		.title = ">blocks",
		.cell = cell,
	};

	((struct own *)r->own)->runs = runs;
	if (!p->total.leaked_calls) {
		print_none(p, out);
		print_suppressed(p, out);
		return;
	}
	fprintf(out, "%s %s: %s.\n",
		format_many(p->total.leaked_calls, runs ? "block is" : "block was",
			    runs ? "blocks are" : "blocks were")
		    .s,
		runs ? "live now"
		: tree_left_open(&p->tree, &p->walk.heap, p->sites.options.filter.process) ||
			log_end
		    ? "live at the end"
		    : "never freed",
		format_exact(p->total.leaked_bytes).s);
	print_reachable(p, out);
	if (only_sum_grows(p))
		fputs("No row grew to the end by itself, but their sum did.\n", out);
	flat_view_text(&flat, r, out);
	print_suppressed(p, out);
	if (!p->sites.totals.read && !leaks_know_growth(p))
		fputs(
		    "Whether they grow is unknown: they may replace older blocks, which this trace "
		    "lacks.\n"
		    "  What grows: mprof profile\n",
		    out);
	suggest_reachable(p, out);
	text_growth(&p->tree, p->header, out);
}

/* ---- JSON ---- */

#include "../json/leaks.def"

static void leaks_json(struct view_request *r, json *o)
{
	leaks_view_fields(o, r);
	flat_view_json(r, o);
}

static json *leak_row(struct view_request *r, size_t i)
{
	json *row = flat_view_json_row(r, i);

	leak_row_fields(row, r, &r->profile->group[i]);
	return row;
}

const struct view_ops view_leaks = {
	.own = sizeof(struct own),
	.sort = VALUE_LEAKED,
	.rows = true,
	.flat = true,
	.totals = true,
	.make = make,
	.text = text,
	.json = leaks_json,
	.json_row = leak_row,
	.json_rows = flat_view_json_rows,
};
