// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_html.c - a playback on several allocators as a page. */
#include "replay_html.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/markup.h"
#include "replay_table.h"

/*
 * Light and dark as the reader's system, or as the movie's button says; colours are those of the
 * report (src/web/report/report.css).  What has a size of its own scrolls within the page.
 */
static const char style[] =
    "<style>\n"
    ":root{--back:#f6f7f8;--card:#fff;--text:#1c2126;--dim:#59626b;--rule:#d9dde1;--area:#c9d3df;"
    "color-scheme:light}\n"
    "@media(prefers-color-scheme:dark){html:not([data-mp-theme=light]){--back:#15181c;"
    "--card:#1d2126;--text:#e6e8ea;--dim:#a2abb3;--rule:#343b42;--area:#39434f;"
    "color-scheme:dark}}\n"
    "html[data-mp-theme=dark]{--back:#15181c;--card:#1d2126;--text:#e6e8ea;--dim:#a2abb3;"
    "--rule:#343b42;--area:#39434f;color-scheme:dark}\n"
    "body{font:14px/1.45 system-ui,\"DejaVu Sans\",sans-serif;color:var(--text);"
    "background:var(--back);margin:0 auto;padding:16px 20px;max-width:1216px;"
    "font-variant-numeric:tabular-nums}\n"
    "h1{font-size:18px;margin:0 0 4px;overflow-wrap:anywhere}h2{font-size:15px;margin:24px 0 6px}"
    "p.dim,ul.dim,svg .dim,td small{color:var(--dim);fill:var(--dim)}p,li{margin:4px 0;"
    "overflow-wrap:anywhere}\n"
    "ul.findings,.wide,pre{background:var(--card);border:1px solid var(--rule);border-radius:6px;"
    "padding:6px 12px}ul.findings{padding-left:30px}ul.findings "
    "li:first-child{font-weight:600}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse}td,th{padding:4px 14px 4px 0;"
    "border-bottom:1px solid var(--rule);text-align:left}td.n{white-space:nowrap}"
    "th{color:var(--dim);font-weight:500;vertical-align:bottom}td.n,th.n{text-align:right}"
    "td small{display:block;overflow-wrap:anywhere}\n"
    "td i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:7px}\n"
    "svg{width:100%;height:auto;display:block}.wide>svg{min-width:820px}svg text{font-size:13px}"
    "pre{font-size:13px;overflow-x:auto}.wide:has(img){padding:0}img{display:block}\n"
    "@media(max-width:600px){body{padding:10px}td,th{padding:3px 6px 3px 0;font-size:12px}"
    "ul.findings,.wide,pre{padding:6px 8px}ul.findings{padding-left:22px}}\n"
    "</style>\n";

/* Sentences have "+-" for want of the sign. */
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

void replay_html_part(FILE *out, const char *heading)
{
	fputs("<h2>", out);
	put_text(out, heading);
	fputs("</h2>\n", out);
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
	fputs("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"generator\" content=\"mprof " MPROF_VERSION "\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:\">\n"
	      "<link rel=\"icon\" href=\"data:,\">\n<title>",
	      out);
	put_text(out, w.n ? w.line[0] : "");
	fprintf(out, " on %zu allocators</title>\n%s<body>\n<h1>", a->runs->n, style);
	put_text(out, w.n ? w.line[0] : "");
	fputs("</h1>\n", out);
	put_lines(out, &w, 1, "<p class=\"dim\">", "</p>\n");
	sentences_free(&w);
}

static void put_list(const struct replay_answer *a, const char *class,
		     void (*say)(const struct replay_answer *a, struct sentences *w), FILE *out)
{
	struct sentences w = { .n = 0 };

	say(a, &w);
	fprintf(out, "<ul class=\"%s\">\n", class);
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

/* The first cell of a row: name and version, with the colour of the row in the curves.  Its name
 * decides, some rows may be left out. */
static void put_name(FILE *out, const struct replay_answer *a, const char *name)
{
	const struct variant *v = NULL;
	size_t i;

	fputs("<td>", out);
	for (i = 0; i < a->runs->n && !v; i++)
		if (!strcmp(a->runs->row[i].variant->name, name)) {
			v = a->runs->row[i].variant;
			fprintf(out, "<i style=\"background:%s\"></i>", replay_colour(i));
		}
	put_text(out, name);
	if (v && v->version && *v->version) {
		fputs("<small>", out);
		put_text(out, v->version);
		fputs("</small>", out);
	}
	fputs("</td>", out);
}

/* Prints and releases. */
static void put_table(struct replay_table *t, const struct replay_answer *a, FILE *out)
{
	const size_t columns = table_columns(&t->table);
	size_t i, c;

	if (t->table.cells) {
		replay_html_part(out, t->title);
		fputs("<div class=\"wide\"><table>\n<tr>", out);
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
	if (t->table.cells)
		fputs("</tr>\n</table></div>\n", out);
	free(t->table.cell);
}

void replay_html_begin(const struct replay_answer *a, FILE *out)
{
	struct replay_table t;

	put_head(a, out);
	put_list(a, "findings", replay_verdict, out);
	replay_table_rows(&t, a);
	put_table(&t, a, out);
	replay_html_part(out, "Memory over the run");
	replay_svg(a, out);
	replay_table_latency(&t, a);
	put_table(&t, a, out);
}

/* ---- the end ---- */

/* What is told of heaps is text: it stays in its columns. */
static void put_heaps(const struct replay_answer *a, FILE *out)
{
	char *text = NULL;
	size_t size;
	FILE *f;

	if (!a->heaps.memories)
		return;
	f = must_memstream(&text, &size);
	replay_memory_text(&a->heaps, f);
	must_close(f);
	if (*text) {
		replay_html_part(out, "Where blocks lie");
		fputs("<pre>", out);
		put_text(out, text + strspn(text, "\n"));
		fputs("</pre>\n", out);
	}
	free(text);
}

void replay_html_end(const struct replay_answer *a, FILE *out)
{
	put_heaps(a, out);
	replay_html_part(out, "How");
	put_list(a, "dim", replay_how, out);
	fputs("</body>\n</html>\n", out);
}
