// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_html.c - a playback on several allocators as a page. */
#include "replay_html.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/markup.h"
#include "replay.h"

/* Puts text, in which "+-" becomes the sign. */
static void put_text(FILE *out, const char *s)
{
	const char *sign;
	char *before;

	for (; (sign = strstr(s, "+-")); s = sign + 2) {
		before = must_strndup(s, (size_t)(sign - s));
		markup_text(before, out);
		free(before);
		fputs("\xc2\xb1", out);
	}
	markup_text(s, out);
}

void replay_html_part(FILE *out, const char *id, const char *heading)
{
	fprintf(out, "<section id=\"%s\"><h2>", id);
	put_text(out, heading);
	fputs("</h2>\n", out);
}

void replay_html_part_end(FILE *out)
{
	fputs("</section>\n", out);
}

/* ---- words ---- */

static void put_lines(FILE *out, const struct sentences *w, size_t from, const char *before,
		      const char *after)
{
	for (; from < w->n; from++) {
		fputs(before, out);
		put_text(out, w->line[from]);
		fputs(after, out);
	}
}

static void put_head(const struct replay_answer *a, FILE *out)
{
	struct sentences w = { .n = 0 };

	replay_what(a, &w);
	fputs("<header id=\"run\"><h1>", out);
	put_text(out, w.n ? w.line[0] : "");
	fputs("</h1>\n", out);
	put_lines(out, &w, 1, "<p>", "</p>\n");
	fputs("</header>\n<main id=\"plain\" data-pages=\"allocators\">\n", out);
	sentences_free(&w);
}

static void put_list(const struct replay_answer *a,
		     void (*say)(const struct replay_answer *a, struct sentences *w), FILE *out)
{
	struct sentences w = { .n = 0 };

	say(a, &w);
	fputs("<ul>\n", out);
	put_lines(out, &w, 0, "<li>", "</li>\n");
	fputs("</ul>\n", out);
	sentences_free(&w);
}

/* ---- tables ---- */

static void put_cell(FILE *out, const char *tag, char align, const char *text)
{
	fprintf(out, "<%s%s>", tag, align == '>' ? " class=\"n\"" : "");
	put_text(out, text);
	fprintf(out, "</%s>", tag);
}

/*
 * Puts the first cell of a row: name and version.  Rows are found by name, because some may be left
 * out.
 */
static void put_name(FILE *out, const struct replay_answer *a, const char *name)
{
	const struct variant *v = NULL;
	size_t i;

	for (i = 0; i < a->runs->n && !v; i++)
		if (!strcmp(a->runs->row[i].variant->name, name))
			v = a->runs->row[i].variant;
	fprintf(out, "<td data-row=\"%zu\">", v ? i - 1 : 0);
	put_text(out, name);
	if (v && v->version && *v->version) {
		fputs(" <small>", out);
		put_text(out, v->version);
		fputs("</small>", out);
	}
	fputs("</td>", out);
}

/* Prints and releases a table. */
static void put_table(struct replay_table *t, const char *id, const struct replay_answer *a,
		      FILE *out)
{
	const size_t columns = table_columns(&t->table);
	size_t i, c;

	if (t->table.cells) {
		replay_html_part(out, id, t->title);
		fputs("<div class=\"scroll\"><table>\n<tr>", out);
		for (c = 0; c < columns; c++)
			put_cell(out, "th", *t->table.title[c], t->table.title[c] + 1);
	}
	for (i = 0; i < t->table.cells; i++) {
		c = i % columns;
		if (!c) {
			fputs("</tr>\n<tr>", out);
			put_name(out, a, t->table.cell[i]);
		} else {
			put_cell(out, "td", *t->table.title[c], t->table.cell[i]);
		}
		free(t->table.cell[i]);
	}
	if (t->table.cells) {
		fputs("</tr>\n</table></div>\n", out);
		replay_html_part_end(out);
	}
	free(t->table.cell);
}

void replay_html_begin(const struct replay_answer *a, FILE *out)
{
	struct replay_table t;

	put_head(a, out);
	replay_html_part(out, "findings", "Findings");
	put_list(a, replay_verdict, out);
	replay_html_part_end(out);
	replay_table_rows(&t, a);
	put_table(&t, "allocators", a, out);
	replay_html_part(out, "memory", "Memory over the run");
	replay_svg(a, out);
	replay_html_part_end(out);
	replay_table_latency(&t, a);
	put_table(&t, "latency", a, out);
}

/* ---- the end ---- */

/* Puts the preformatted text about heaps, which keeps its columns. */
static void put_heaps(const struct replay_answer *a, FILE *out)
{
	char *text;

	if (!a->heaps.memories)
		return;
	text = WRITTEN(to, replay_memory_text(&a->heaps, to));
	if (*text) {
		replay_html_part(out, "blocks", "Where blocks lie");
		fputs("<pre>", out);
		put_text(out, text + strspn(text, "\n"));
		fputs("</pre>\n", out);
		replay_html_part_end(out);
	}
	free(text);
}

void replay_html_end(const struct replay_answer *a, FILE *out)
{
	put_heaps(a, out);
	replay_html_part(out, "how", "How it was played");
	put_list(a, replay_how, out);
	replay_html_part_end(out);
	fputs("</main>\n", out);
}
