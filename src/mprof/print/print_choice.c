// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_choice.c - which of the programs of a trace is played, in words. */
#include "print_choice.h"

#include <inttypes.h>
#include <stdio.h>

#include "../util/alloc.h"
#include "../util/format.h"

/* How many processes, and how many programs the chosen one was. */
static void count(const struct program_choice *c, size_t *processes, size_t *images)
{
	size_t i, k;

	*processes = *images = 0;
	for (i = 0; i < c->n; i++) {
		for (k = 0; k < i && c->list[k].number != c->list[i].number; k++)
			;
		*processes += k == i;
		*images += c->chosen && c->list[i].number == c->chosen->number;
	}
}

static const struct trace_program *largest(const struct program_choice *c)
{
	const struct trace_program *p = c->list;
	size_t i;

	for (i = 1; i < c->n; i++)
		if (c->list[i].peak_bytes > p->peak_bytes)
			p = &c->list[i];
	return p;
}

static void put_others(FILE *f, const struct program_choice *c)
{
	const struct trace_program *most = c->list, *large = largest(c);

	if (c->chosen != most)
		fprintf(f, "; most are by process %" PRIu32 ", '%s' with %s", most->number,
			most->exe, format_count(most->calls).s);
	if (large->peak_bytes > c->chosen->peak_bytes)
		fprintf(f, "; the largest peak, %s, is of process %" PRIu32 ", '%s'",
			format_bytes(large->peak_bytes).s, large->number, large->exe);
}

static void put(FILE *f, const struct program_choice *c)
{
	const struct trace_program *p = c->chosen;
	size_t processes, images;

	count(c, &processes, &images);
	if (!p) {
		fprintf(f, "all %s of %s, as one heap", format_many(c->n, "program", "programs").s,
			format_many(processes, "process", "processes").s);
		return;
	}
	/* Numbers count processes without calls, too. */
	fprintf(f, "process %" PRIu32 " (of %zu that made calls), '%s' with %s and a peak of %s",
		p->number, processes, p->exe, format_many(p->calls, "call", "calls").s,
		format_bytes(p->peak_bytes).s);
	if (images > 1)
		fprintf(f, ", one of the %zu programs that it ran", images);
	put_others(f, c);
	fputs("; choose with --process N or --process all", f);
}

char *program_choice_text(const struct program_choice *c)
{
	return c->n < 2 ? NULL : WRITTEN(f, put(f, c));
}
