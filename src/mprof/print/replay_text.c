// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_text.c - a playback on several allocators as text: words, table, latency, how. */
#include "replay.h"

#include <errno.h>

#include "paragraph.h"
#include "replay_table.h"
#include "report.h"

static void print_words(const struct sentences *w, const char *title, const char *bullet, FILE *out)
{
	size_t i;

	if (w->n) {
		fputc('\n', out);
		report_title(title, out);
	}
	for (i = 0; i < w->n; i++)
		paragraph_line(out, "  %s%s\n", bullet, w->line[i]);
}

static int section(const struct replay_answer *a, const char *title, const char *bullet,
		   void (*say)(const struct replay_answer *a, struct sentences *w), FILE *out)
{
	struct sentences w = { .n = 0 };
	bool failed;

	say(a, &w);
	print_words(&w, title, bullet, out);
	failed = w.failed;
	sentences_free(&w);
	return failed ? -ENOMEM : 0;
}

static int print_table(struct replay_table *t, FILE *out)
{
	if (!t->table.cells)
		return 0;
	fprintf(out, "\n%s\n", t->title);
	return table_print(&t->table, out);
}

int replay_brief(const struct replay_answer *a, FILE *out, struct error *err)
{
	struct replay_table t;
	int ret = section(a, "What was played", "", replay_what, out);

	if (!ret)
		ret = section(a, "Findings", "* ", replay_verdict, out);
	if (!ret) {
		replay_table_rows(&t, a);
		ret = print_table(&t, out);
	}
	return ret ? fail(err, ret, "no memory to print the answer") : 0;
}

int replay_text(const struct replay_answer *a, FILE *out, struct error *err)
{
	struct replay_table t;
	int ret = replay_brief(a, out, err);

	if (ret)
		return ret;
	replay_table_latency(&t, a);
	ret = print_table(&t, out);
	if (!ret && a->heaps.memories)
		ret = replay_memory_text(&a->heaps, out, err);
	if (!ret)
		ret = section(a, "How", "", replay_how, out);
	return ret ? fail(err, ret, "no memory to print the answer") : 0;
}
