// SPDX-License-Identifier: LGPL-3.0-or-later
/* html_report.c - see html_report.h. */
#include "html_report.h"

#include <stdlib.h>
#include <string.h>

#include "../util/markup.h"
#include "html_data.h"
#include "html_frame.h"
#include "../print/report.h"
#include "../profile/suppressions.h"
#include "../print/text.h"
#include "../util/alloc.h"
#include "../util/memory.h"

#define CURVE_WIDTH  960
#define CURVE_HEIGHT 120
#define THREADS_MOST 4096 /* listed one by one */
#define PAIRS_MOST   4096
#define RSS_MOST     2000 /* samples */

/* ---- text in HTML ---- */

static void put_text(const struct html_report *r, const char *text, FILE *out)
{
	char *hidden = r->served ? NULL : html_hide_home(text);

	markup_text(hidden ? hidden : text, out);
	free(hidden);
}

/* ---- what ran, and findings ---- */

/* A printer's text as HTML: titles, points, and the commands under them. */
struct lines {
	const struct html_report *report;
	FILE *out;
	bool list, item;
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
		return;
	}
	if (*line == '*' || !l->item) {
		end_item(l);
		fputs("<li>", l->out);
		l->item = true;
		line += *line == '*' ? 1 + strspn(line + 1, " ") : 0;
	} else {
		putc(' ', l->out);
	}
	put_text(l->report, line, l->out);
}

static void put_sections(const struct html_report *r, FILE *out, char *text)
{
	struct lines l = { .report = r, .out = out };
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n")))
		put_line(&l, line);
	end_list(&l);
}

static void put_findings(const struct html_report *r, FILE *out)
{
	char *text = NULL;
	size_t bytes;
	FILE *to = must_memstream(&text, &bytes);

	report_findings(r->analysis, to);
	must_close(to);
	put_sections(r, out, text);
	free(text);
}

/* What was started first, as it would be typed. */
static struct long_text command_of(const struct analysis *a)
{
	const struct tree_process *p = a->tree.processes ? &a->tree.process[0] : NULL;

	return text_command(p && p->images ? p->image[0] : NULL, 200);
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Of a run that did not keep every call: which it kept, and the totals of all. */
static void put_kept(const struct html_report *r, FILE *out)
{
	char *text = NULL;
	size_t bytes;
	FILE *to;

	if (!report_is_partial(r->analysis))
		return;
	to = must_memstream(&text, &bytes);
	fputs(report_partial(r->analysis).s, to);
	if (report_has_whole(r->analysis)) {
		fputs(" The whole run: ", to);
		report_whole(r->analysis, to);
	}
	must_close(to);
	fputs("<p id=\"kept\">", out);
	put_text(r, text, out);
	fputs("</p>\n", out);
	free(text);
}

static void put_header(const struct html_report *r, FILE *out)
{
	const struct analysis *a = r->analysis;
	const struct peak_of *p = &a->peak.all;

	fputs("<header id=\"run\"><h1>", out);
	put_text(r, command_of(a).s, out);
	fputs("</h1>\n<p>", out);
	markup_text(base_of(a->path), out);
	fprintf(out, "; %s in %s, %s; peak %s; %s %s",
		format_many(a->totals.all.calls, "call", "calls").s,
		format_many(a->tree.processes, "process", "processes").s,
		format_ns(walk_duration_ns(&a->walk, a->tree.end_ticks - a->tree.start_ticks)).s,
		format_bytes(p->at.bytes).s, format_bytes(a->never_freed.all.bytes).s,
		report_ends_early(a) ? "live at the end" : "never freed");
	if (a->tree.lost_all)
		fprintf(out, "; <strong>%s lost</strong>",
			format_many(a->tree.lost_all, "event", "events").s);
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

static void put_curve(const struct cells *c, FILE *out)
{
	uint64_t most = 1, begin, span;
	size_t i;

	if (!c->points)
		return;
	begin = c->point[0].ticks;
	span = c->point[c->points - 1].ticks - begin + 1;
	for (i = 0; i < c->points; i++)
		if (c->point[i].live.bytes > most)
			most = c->point[i].live.bytes;
	fprintf(out,
		"<figure id=\"curve\"><svg role=\"img\" aria-label=\"Live memory over time, at"
		" most %s\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\"><path class=\"live\""
		" d=\"M0 %d",
		format_bytes(most).s, CURVE_WIDTH, CURVE_HEIGHT, CURVE_HEIGHT);
	for (i = 0; i < c->points; i++)
		fprintf(out, "L%.1f %.1f",
			(double)(c->point[i].ticks - begin) / (double)span * CURVE_WIDTH,
			CURVE_HEIGHT * (1 - (double)c->point[i].live.bytes / (double)most));
	fprintf(out,
		"L%d %dZ\"/></svg><figcaption>Live memory over time, at most %s</figcaption>"
		"</figure>\n",
		CURVE_WIDTH, CURVE_HEIGHT, format_bytes(most).s);
}

/* ---- data ---- */

static json *values_json(void)
{
	json *list = json_object_new_array(), *o;
	size_t i;

	for (i = 0; i < VALUE_COUNT; i++) {
		o = json_object_new_object();
		add_s(o, "name", profile_value_name((enum profile_value)i));
		add_s(o, "unit", profile_value_unit((enum profile_value)i));
		add_s(o, "help", profile_value_help((enum profile_value)i));
		json_object_array_add(list, o);
	}
	return list;
}

/* From which thread to which: [from, to, blocks, bytes], most bytes first; and what is left out. */
static json *cross_free_json(const struct cross_frees *h)
{
	json *o = json_object_new_object(), *pairs = json_object_new_array(), *pair;
	uint64_t blocks = h->rest.blocks;
	size_t i;

	for (i = 0; i < h->pairs; i++) {
		const struct cross_free_pair *p = &h->pair[i];

		if (i >= PAIRS_MOST) {
			blocks += p->sum.blocks;
			continue;
		}
		pair = json_object_new_array();
		json_object_array_add(pair, json_object_new_uint64(p->from));
		json_object_array_add(pair, json_object_new_uint64(p->to));
		json_object_array_add(pair, json_object_new_uint64(p->sum.blocks));
		json_object_array_add(pair, json_object_new_uint64(p->sum.bytes));
		json_object_array_add(pairs, pair);
	}
	add(o, "pairs", pairs);
	add_n(o, "blocks", h->all.blocks);
	add_n(o, "bytes", h->all.bytes);
	add_n(o, "left_out_blocks", blocks);
	return o;
}

/* At most RSS_MOST of the samples, evenly. */
static json *resident_json(const struct html_report *r)
{
	const struct resident_parts_sample *s = r->resident->sample.item;
	const size_t n = r->resident->sample.count, step = n / RSS_MOST + 1;
	json *list = json_object_new_array(), *o;
	uint64_t self;
	size_t i;

	for (i = 0; i < n; i += step) {
		const struct tree_process *p = tree_find(&r->analysis->tree, s[i].process);

		self = p && p->self_bytes < s[i].other ? p->self_bytes : p ? s[i].other : 0;
		o = json_object_new_object();
		add_n(o, "process", s[i].process);
		add_i(o, "at_ns", walk_ns(&r->analysis->walk, s[i].ticks));
		add_n(o, "rss", s[i].rss);
		add_n(o, "live", s[i].live);
		add_n(o, "rounding", s[i].rounding);
		add_n(o, "gaps", s[i].gaps);
		add_n(o, "retained", s[i].retained);
		add_n(o, "mapped", s[i].mapped);
		add_n(o, "mprof", self);
		add_n(o, "other", s[i].other - self);
		add_n(o, "files", s[i].files);
		json_object_array_add(list, o);
	}
	return list;
}

/* The same value with "~" for home directories in every string. */
static json *hide_homes(json *o)
{
	json *to;
	char *hidden;
	size_t i;

	if (json_object_is_type(o, json_type_string)) {
		hidden = html_hide_home(json_object_get_string(o));
		to = json_object_new_string(hidden);
		free(hidden);
		return to;
	}
	if (json_object_is_type(o, json_type_array)) {
		to = json_object_new_array();
		for (i = 0; i < json_object_array_length(o); i++)
			json_object_array_add(to, hide_homes(json_object_array_get_idx(o, i)));
		return to;
	}
	if (!json_object_is_type(o, json_type_object))
		return json_object_get(o);
	to = json_object_new_object();
	json_object_object_foreach(o, name, value)
	    json_object_object_add(to, name, hide_homes(value));
	return to;
}

static json *suppressed_json(const struct suppressions *s)
{
	json *list = json_object_new_array(), *o;
	size_t i;

	for (i = 0; s && i < s->count; i++) {
		if (!s->item[i].calls)
			continue;
		o = json_object_new_object();
		add_s(o, "pattern", s->item[i].pattern ? s->item[i].pattern : "*");
		add_s(o, "why", s->item[i].why ? s->item[i].why : "");
		add_n(o, "blocks", s->item[i].calls);
		add_n(o, "bytes", s->item[i].bytes);
		json_object_array_add(list, o);
	}
	return list;
}

static json *head_json(const struct html_report *r)
{
	const struct analysis *a = r->analysis;
	json *o = json_object_new_object(), *report = report_json_object(a), *hidden;

	if (a->totals.thread.count > THREADS_MOST)
		json_object_object_del(report, "threads");
	add_n(o, "format", 1);
	add_s(o, "command", command_of(a).s);
	add_s(o, "trace", base_of(a->path));
	add_n(o, "nodes", r->data->nodes);
	add_n(o, "merged_nodes", r->data->merged_nodes);
	add_b(o, "coarse", r->cells->coarse);
	add_b(o, "served", r->served);
	add_b(o, "sources", r->sources);
	if (r->heap)
		add_n(o, "heap", r->heap_process);
	if (r->traces) {
		add(o, "traces", json_object_get(r->traces));
		add_n(o, "index", r->index);
	}
	add_n(o, "never_freed", CELL_NEVER_FREED);
	add_n(o, "taken_by_exec", CELL_EXEC);
	add(o, "values", values_json());
	add(o, "handovers", cross_free_json(r->cross_frees));
	add(o, "resident", resident_json(r));
	add(o, "suppressed", suppressed_json(r->profile->suppressions));
	add(o, "realloc", html_realloc_json(&a->growth, r->map));
	add(o, "stacks", html_stacks_json(r->stacks, r->profile));
	add(o, "variables", html_variables_json(r->variables, r->profile));
	add(o, "columns", json_object_get(r->data->column));
	add(o, "report", report);
	if (r->served)
		return o;
	hidden = hide_homes(o);
	json_object_put(o);
	return hidden;
}

/* In a script element, of any type, "<" could end it or begin a comment. */
static void put_json(json *o, FILE *out)
{
	const char *s = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);

	if (!s)
		memory_out();
	for (; *s; s++)
		if (*s == '<' || *s == '>' || *s == '&')
			fprintf(out, "\\u%04x", *s);
		else
			putc(*s, out);
	json_object_put(o);
}

/* ---- the page ---- */

/* The JSON of a movie has no "<" in it. */
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
	char *title = r->served ? NULL : html_hide_home(command_of(r->analysis).s);

	html_frame_begin(title ? title : command_of(r->analysis).s, r->served, out);
	free(title);
	put_header(r, out);
	fputs("<main id=\"plain\">\n<section id=\"findings\">\n", out);
	put_findings(r, out);
	put_glossary(out);
	fputs("</section>\n", out);
	put_curve(r->cells, out);
	fputs("<noscript><p>The other pages of this report need JavaScript. Everything they show, "
	      "<code>mprof report</code> shows as text.</p></noscript>\n</main>\n"
	      "<script type=\"application/json\" id=\"mprof-head\">",
	      out);
	put_json(head_json(r), out);
	fputs("</script>\n<script type=\"text/plain\" id=\"mprof-data\">", out);
	blob_base64(r->data->blob.data, r->data->blob.used, out);
	fputs("</script>\n", out);
	put_heap(r, out);
	html_frame_end(out);
}
