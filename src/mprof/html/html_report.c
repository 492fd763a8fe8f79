// SPDX-License-Identifier: LGPL-3.0-or-later
/* html_report.c - see html_report.h. */
#include "html_report.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/markup.h"
#include "html_data.h"
#include "html_frame.h"
#include "../print/print_totals.h"
#include "../print/report.h"
#include "../profile/findings.h"
#include "../print/text.h"

#define CURVE_WIDTH  960
#define CURVE_HEIGHT 120

/* ---- text in HTML ---- */

static void put_text(const struct html_report *r, const char *text, FILE *out)
{
	char *hidden = r->served ? NULL : html_hide_home(text);

	markup_text(hidden ? hidden : text, out);
	free(hidden);
}

/* ---- what ran, and findings ---- */

/* Converts a printer's text to HTML: titles, items, and the commands below them. */
struct lines {
	const struct html_report *report;
	FILE *out;
	bool list, item;
	bool command; /* the line before was one */
	bool each;    /* each line is an item, marked or not */
};

static void end_item(struct lines *l)
{
	if (l->item)
		fputs("</li>\n", l->out);
	l->item = false;
}

static void end_list(struct lines *l)
{
	end_item(l);
	if (l->list)
		fputs("</ul>\n", l->out);
	l->list = false;
}

static void put_line(struct lines *l, const char *line)
{
	size_t blanks = strspn(line, " ");

	if (!line[blanks])
		return;
	if (!blanks) {
		end_list(l);
		fputs("<h2>", l->out);
		put_text(l->report, line, l->out);
		fputs("</h2>\n", l->out);
		return;
	}
	if (!l->list)
		fputs("<ul>\n", l->out);
	l->list = true;
	line += blanks;
	if (!strncmp(line, "mprof ", 6)) {
		fputs("<br><code>", l->out);
		put_text(l->report, line, l->out);
		fputs("</code>", l->out);
		l->command = true;
		return;
	}
	if (*line == '*' || !l->item || l->each) {
		end_item(l);
		fputs("<li>", l->out);
		l->item = true;
		line += *line == '*' ? 1 + strspn(line + 1, " ") : 0;
	} else {
		fputs(l->command ? "<br>" : " ", l->out);
	}
	l->command = false;
	put_text(l->report, line, l->out);
}

static void put_sections(const struct html_report *r, FILE *out, char *text)
{
	struct lines l = { .report = r, .out = out, .each = r->totals };
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n")))
		put_line(&l, line);
	end_list(&l);
}

static void put_findings(const struct html_report *r, FILE *out)
{
	char *text = r->totals ? WRITTEN(to, totals_findings(r->totals, to))
			       : WRITTEN(to, report_findings(r->analysis, to));

	put_sections(r, out, text);
	free(text);
}

/* For a run that did not keep every call: writes which calls it kept, and the totals of all.  The
 * same for a program that ran before. */
static void put_kept(const struct html_report *r, FILE *out)
{
	char *text = NULL;
	size_t bytes;
	FILE *to;

	to = must_memstream(&text, &bytes);
	report_attached(r->analysis, to);
	if (report_is_partial(r->analysis))
		fputs(report_partial(r->analysis).s, to);
	if (report_has_whole(r->analysis)) {
		fputs(" The whole run: ", to);
		report_whole(r->analysis, to);
	}
	must_close(to, &text);
	if (*text) {
		fputs("<p id=\"kept\">", out);
		put_text(r, text, out);
		fputs("</p>\n", out);
	}
	free(text);
}

struct headline {
	uint64_t calls, peak, left;
};

static struct headline headline_of(const struct html_report *r)
{
	const struct analysis *a = r->analysis;

	if (r->totals)
		return (struct headline){ a->calls, r->totals->p->sites.peak.bytes,
					  r->totals->p->total.live_bytes };
	return (struct headline){ a->totals.all.calls, a->peak.all.at.bytes,
				  a->never_freed.all.bytes };
}

/* Blocks that libraries keep on purpose are not leaks. */
static void put_left(const struct html_report *r, uint64_t left, FILE *out)
{
	const struct analysis *a = r->analysis;
	const struct kept *k = !r->totals && a->findings ? &a->findings->kept : NULL;

	fprintf(out, "%s%s %s", a->sampled ? "about " : "", format_bytes(left).s,
		html_is_live(r)	    ? "live now"
		: html_left_open(r) ? "live at the end"
				    : "never freed");
	if (k && k->all.live_bytes && k->all.live_bytes == left)
		fprintf(out, ", all of it kept by %s", kept_by(k));
	else if (k && k->all.live_bytes)
		fprintf(out, ", %s%s of it kept by %s", kept_least(k),
			format_bytes(k->all.live_bytes).s, kept_by(k));
}

static void put_header(const struct html_report *r, FILE *out)
{
	const struct analysis *a = r->analysis;
	const struct headline n = headline_of(r);
	const char *about = a->sampled ? "about " : "";

	fputs("<header id=\"run\"><h1>", out);
	put_text(r, html_command(a).s, out);
	fputs("</h1>\n<p>", out);
	markup_text(text_base(a->path), out);
	fprintf(
	    out, "; %s in %s, %s; peak %s%s; ",
	    format_many(n.calls, a->sampled ? "sample" : "call", a->sampled ? "samples" : "calls")
		.s,
	    format_many(a->tree.processes, "process", "processes").s,
	    format_ns(walk_duration_ns(&a->walk, a->tree.end_ticks - a->tree.start_ticks)).s, about,
	    format_bytes(n.peak).s);
	put_left(r, n.left, out);
	if (a->tree.lost_all)
		fprintf(out, "; <strong>%s lost</strong>",
			format_many(a->tree.lost_all, "event", "events").s);
	if (trace_lacks_events(a->damage))
		fputs("; <strong>the trace is damaged, so figures are too low</strong>", out);
	fputs(".</p>\n", out);
	put_kept(r, out);
	fputs("</header>\n", out);
}

/* ---- the glossary ---- */

static const struct {
	const char *word, *meaning;
} glossary[] = {
#define WORD(word, meaning) { word, meaning },
#include "glossary.def"
#undef WORD
};

#define WORDS (sizeof(glossary) / sizeof(glossary[0]))

static void put_glossary(FILE *out)
{
	size_t i;

	fputs("<details id=\"glossary\"><summary>Glossary</summary><dl>\n", out);
	for (i = 0; i < WORDS; i++) {
		fputs("<dt>", out);
		markup_text(glossary[i].word, out);
		fputs("</dt><dd>", out);
		markup_text(glossary[i].meaning, out);
		fputs("</dd>\n", out);
	}
	fputs("</dl></details>\n", out);
}

/* ---- the curve ---- */

/* course: of a profile, where a point has the most of the time since the one before; else NULL. */
static void put_curve(const struct cells *c, const struct course *course, FILE *out)
{
	const bool stairs = course && course->count && course->step[0].from_ns >= 0;
	uint64_t most = 1, begin, span;
	size_t i;

	if (!c->points)
		return;
	begin = stairs ? (uint64_t)course->step[0].from_ns : c->point[0].ticks;
	span = c->point[c->points - 1].ticks - begin + 1;
	for (i = 0; i < c->points; i++)
		if (c->point[i].live.bytes > most)
			most = c->point[i].live.bytes;
	fprintf(out,
		"<figure id=\"curve\"><svg role=\"img\" aria-label=\"Live memory over time, at"
		" most %s\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\"><path class=\"live\""
		" d=\"M0 %d",
		format_bytes(most).s, CURVE_WIDTH, CURVE_HEIGHT, CURVE_HEIGHT);
	for (i = 0; i < c->points; i++) {
		const double y = CURVE_HEIGHT * (1 - (double)c->point[i].live.bytes / (double)most);

		if (stairs)
			fprintf(out, "V%.1fH", y);
		else
			fputc('L', out);
		fprintf(out, "%.1f",
			(double)(c->point[i].ticks - begin) / (double)span * CURVE_WIDTH);
		if (!stairs)
			fprintf(out, " %.1f", y);
	}
	fprintf(out,
		"L%d %dZ\"/></svg><figcaption>Live memory over time, at most %s</figcaption>"
		"</figure>\n",
		CURVE_WIDTH, CURVE_HEIGHT, format_bytes(most).s);
}

/* ---- data ---- */

/* Compressed, because each process takes 2 KiB, and most of them are the same. */
static void put_json(json *o, FILE *out)
{
	const char *s = json_text(o, JSON_C_TO_STRING_PLAIN);
	struct blob b = { .data = NULL };

	blob_add(&b, s, strlen(s));
	json_object_put(o);
	blob_deflate(&b);
	blob_base64(b.data, b.used, out);
	blob_release(&b);
}

/* ---- the page ---- */

/* The JSON of a movie contains no "<". */
static void put_heap(const struct html_report *r, FILE *out)
{
	if (!r->heap)
		return;
	fputs("<script type=\"application/json\" id=\"mprof-heap\">", out);
	fwrite(r->heap->data, 1, r->heap->used, out);
	fputs("</script>\n", out);
}

void html_report(const struct html_report *r, FILE *out)
{
	char *title = r->served ? NULL : html_hide_home(html_command(r->analysis).s);

	html_frame_begin(title ? title : html_command(r->analysis).s, r->served, out);
	free(title);
	put_header(r, out);
	fputs("<main id=\"plain\">\n<section id=\"findings\">\n", out);
	if (!r->totals) /* all sections of totals have titles */
		fputs("<h2>Findings</h2>\n", out);
	put_findings(r, out);
	put_glossary(out);
	fputs("</section>\n", out);
	put_curve(r->cells, r->totals ? r->totals->course : NULL, out);
	fputs("<noscript><p>The other pages of this report need JavaScript. Everything they show, "
	      "<code>mprof report</code> shows as text.</p></noscript>\n</main>\n"
	      "<script type=\"text/plain\" id=\"mprof-head\">",
	      out);
	put_json(html_head(r), out);
	fputs("</script>\n<script type=\"text/plain\" id=\"mprof-data\">", out);
	blob_base64(r->data->blob.data, r->data->blob.used, out);
	fputs("</script>\n", out);
	put_heap(r, out);
	html_frame_end(out);
}
