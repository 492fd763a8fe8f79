// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_text.c - a playback on several allocators as text: words, table, latency, how. */
#include "replay.h"

#include "report.h"

static void print_words(const struct sentences *w, const char *title, const char *bullet, FILE *out)
{
	size_t i;

	if (w->n) {
		fputc('\n', out);
		report_title(title, out);
	}
	for (i = 0; i < w->n; i++)
		fprintf(out, "  %s%s\n", bullet, w->line[i]);
}

static void section(const struct replay_answer *a, const char *title, const char *bullet,
		    void (*say)(const struct replay_answer *a, struct sentences *w), FILE *out)
{
	struct sentences w = { .n = 0 };

	say(a, &w);
	print_words(&w, title, bullet, out);
	sentences_free(&w);
}

static void print_table(struct replay_table *t, FILE *out)
{
	if (!t->table.cells)
		return;
	fprintf(out, "\n%s\n", t->title);
	table_print(&t->table, out);
}

void replay_brief(const struct replay_answer *a, FILE *out)
{
	struct replay_table t;

	section(a, "What was played", "", replay_what, out);
	section(a, "Findings", "* ", replay_verdict, out);
	replay_table_rows(&t, a);
	print_table(&t, out);
}

void replay_text(const struct replay_answer *a, FILE *out)
{
	struct replay_table t;

	replay_brief(a, out);
	replay_table_latency(&t, a);
	print_table(&t, out);
	if (a->heaps.memories)
		replay_memory_text(&a->heaps, out);
	section(a, "How", "", replay_how, out);
}
