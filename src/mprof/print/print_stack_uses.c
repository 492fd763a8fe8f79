// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_stack_uses.c - how much of its stack each thread used, in words and as a table. */
#include "print_stack_uses.h"

#include <inttypes.h>

#include "figures.h"
#include "print_table.h"

static struct text since(const struct profile *p, uint64_t ticks)
{
	const int64_t ns = trace_ns(p->trace, ticks);

	return format_ns(ns > 0 ? (uint64_t)ns : 0);
}

static void put_row(struct table *t, const struct stack_of *s, struct profile *p)
{
	table_cell(t, "%" PRIu32, s->thread);
	table_cell(t, "%" PRIu64, s->tid);
	table_cell(t, "%" PRIu32, s->process);
	table_cell(t, "%s%s", s->looked_ticks ? "" : ">= ", format_bytes(s->used).s);
	table_cell(t, "%s", s->limit ? format_bytes(s->limit).s : "-");
	table_cell(t, "%s", s->limit ? format_percent(s->used, s->limit).s : "-");
	table_cell(t, "%s", s->looked_ticks ? format_bytes(s->resident).s : "-");
	table_cell(t, "%s", s->deepest ? format_bytes(s->deepest).s : "-");
	table_cell(t, "%s", s->deepest ? since(p, s->deepest_ticks).s : "-");
}

static void put_deepest(const struct stack_of *s, struct profile *p, FILE *out)
{
	const struct profile_path *path = s->stack ? profile_path_once(p, s->stack) : NULL;

	if (!s->deepest || !path || !path->count)
		return;
	fprintf(out, "\nThread %" PRIu32 " was deepest at a recorded call, %s down, in\n",
		s->thread, format_bytes(s->deepest).s);
	for (size_t i = path->count; i-- > 0;) {
		fputs("  ", out);
		figures_line(out, path->line[i], true);
		fputc('\n', out);
	}
}

static void put_largest(const struct stack_of *s, struct profile *p, FILE *out)
{
	char limit[128] = "", when[128] = "";

	if (s->limit)
		snprintf(limit, sizeof(limit), " of %s", format_bytes(s->limit).s);
	if (s->deepest)
		snprintf(when, sizeof(when), "; its deepest recorded call came %s after the start",
			 since(p, s->deepest_ticks).s);
	fprintf(out, "Stacks: thread %" PRIu32 "%s used most, %s %s%s%s.\n", s->thread,
		s->main ? " (main)" : "", s->looked_ticks ? "up to" : "at least",
		format_bytes(s->used).s, limit, when);
}

void stack_uses_print(const struct stack_uses *s, struct profile *p, size_t most, FILE *out)
{
	struct table t = TABLE(">thread", ">tid", ">process", ">stack used", ">of", ">%",
			       ">resident", ">deepest call", ">at");
	size_t shown = most && most < s->count ? most : s->count, i;
	const struct stack_of *deepest = NULL;

	if (!s->count)
		return;
	put_largest(&s->of[0], p, out);
	fputc('\n', out);
	for (i = 0; i < shown; i++)
		put_row(&t, &s->of[i], p);
	table_print(&t, out);
	if (shown < s->threads)
		fprintf(out, "  and %s that used no more%s\n",
			format_many(s->threads - shown, "thread", "threads").s,
			shown < s->count ? "; --top 0 shows all" : "");
	for (i = 0; i < s->count; i++)
		if (!deepest || s->of[i].deepest > deepest->deepest)
			deepest = &s->of[i];
	put_deepest(deepest, p, out);
}
