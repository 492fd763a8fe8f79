// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * report_kept.c - a run that did not keep every event (--last, --budget): which events were kept,
 * and the totals of the whole run.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../profile/findings.h"
#include "../util/alloc.h"
#include "figures.h"
#include "report.h"
#include "quote.h"

static struct text span(const struct analysis *a, uint64_t from, uint64_t to)
{
	return format_ns(walk_duration_ns(&a->walk, to > from ? to - from : 0));
}

bool report_is_recent(const struct analysis *a)
{
	return a->walk.input.header->dropped_ticks;
}

bool report_is_partial(const struct analysis *a)
{
	return report_is_recent(a) || a->walk.input.log_end || report_is_reduced(a);
}

bool report_is_reduced(const struct analysis *a)
{
	return a->walk.input.reduced_count;
}

bool report_ends_early(const struct analysis *a)
{
	return a->walk.input.log_end;
}

struct long_text report_span(const struct analysis *a)
{
	const uint64_t last = a->walk.input.log_end ? a->walk.input.log_end : a->tree.end_ticks;
	struct long_text t = { "The whole run" };
	const bool reduced = report_is_reduced(a);

	if (report_is_recent(a))
		snprintf(t.s, sizeof(t.s), "The last %s%s",
			 span(a, a->walk.input.header->dropped_ticks, last).s,
			 report_ends_early(a) ? " before that" : "");
	else if (report_ends_early(a))
		snprintf(t.s, sizeof(t.s), "The first %s%s", span(a, a->tree.start_ticks, last).s,
			 reduced ? ", as recorded" : "");
	else if (reduced)
		snprintf(t.s, sizeof(t.s), "The recorded calls");
	return t;
}

/* Returns why no more calls were recorded from then on. */
static struct long_text end_why(const struct mprof_file_header *h)
{
	struct long_text t;

	if (h->log_end_why == MPROF_LOG_END_OVERHEAD)
		snprintf(t.s, sizeof(t.s),
			 "recording took more than %" PRIu32
			 " %% of the program's own CPU time (--overhead)",
			 h->overhead);
	else
		snprintf(t.s, sizeof(t.s), "the trace neared its budget of %s (--budget)",
			 format_bytes(h->budget).s);
	return t;
}

/* Returns "1.2 s after the start", from when on totals are estimates. */
static struct long_text sampled_from(const struct analysis *a)
{
	struct long_text t;

	snprintf(t.s, sizeof(t.s), "%s after the start",
		 span(a, a->tree.start_ticks, a->walk.input.header->sampled_from).s);
	return t;
}

uint64_t report_reduced_from(const struct analysis *a)
{
	const struct walk_input *in = &a->walk.input;
	uint64_t from = 0;

	for (size_t i = 0; i < in->reduced_count; i++)
		if (!from || in->reduced[i].ticks < from)
			from = in->reduced[i].ticks;
	return from;
}

/* The calls that are recorded, if not all are. */
static void put_recorded(const struct analysis *a, FILE *out)
{
	const struct mprof_file_header *h = a->walk.input.header;
	const uint64_t end = a->walk.input.log_end;

	if (report_is_reduced(a))
		fprintf(
		    out,
		    "Every call is recorded up to %s after the start; from then on, calls of %s "
		    "are counted only in the totals (%s%s%s). All other calls are recorded",
		    span(a, a->tree.start_ticks, report_reduced_from(a)).s,
		    format_many(a->walk.input.reduced_count, "busy call stack", "busy call stacks")
			.s,
		    h->budget ? "--budget" : "", h->budget && h->overhead ? " and " : "",
		    h->overhead ? "--overhead" : "");
	else if (end)
		fputs("Every call is recorded", out);
	if (end)
		fprintf(out,
			" up to %s after the start, when %s; later calls are counted only in the "
			"totals",
			span(a, a->tree.start_ticks, end).s, end_why(h).s);
	if (end || report_is_reduced(a))
		fputs(". ", out);
}

static void put_partial(const struct analysis *a, FILE *out)
{
	const struct mprof_file_header *h = a->walk.input.header;
	const uint64_t last = report_ends_early(a) ? a->walk.input.log_end : a->tree.end_ticks;

	put_recorded(a, out);
	if (h->sampled_from)
		fprintf(
		    out,
		    "From %s on, the totals are estimates from samples, because exact totals took "
		    "too much time as well. ",
		    sampled_from(a).s);
	if (report_is_recent(a))
		fprintf(out,
			"These are the last %s (--last): %s of earlier calls were dropped, and "
			"blocks allocated before that are not counted. ",
			span(a, h->dropped_ticks, last).s, format_bytes(h->dropped_bytes).s);
}

struct long_text report_partial(const struct analysis *a)
{
	char *words = WRITTEN(out, put_partial(a, out));
	struct long_text t;
	size_t n = strlen(words);

	snprintf(t.s, sizeof(t.s), "%.*s", (int)(n ? n - 1 : 0), words);
	free(words);
	return t;
}

bool report_has_whole(const struct analysis *a)
{
	return report_is_partial(a) && a->whole.totals.read;
}

/* Names functions whose calls are not all recorded. */
static void put_reduced(const struct analysis *a, FILE *out)
{
	const struct findings *f = a->findings;

	if (!report_is_reduced(a) || !f || !f->reduced_count)
		return;
	fputs(" Only the totals have all calls of ", out);
	for (size_t i = 0; i < f->reduced_count; i++) {
		fputs(!i ? "" : i + 1 < f->reduced_count || f->reduced_more ? ", " : " and ", out);
		figures_line(out, f->reduced[i], false);
	}
	fputs(f->reduced_more ? " and others." : ".", out);
}

void report_whole(const struct analysis *a, FILE *out)
{
	const struct sites *s = &a->whole;
	const struct site_values *v = &s->total;
	const bool left = tree_interrupted(&a->tree); /* as for a profile */
	const struct kept *k = a->findings ? &a->findings->kept : NULL;

	fprintf(out, "Peak%s: %s in %s, %s after the start",
		s->totals.process ? " of the largest process" : "", format_bytes(s->peak.bytes).s,
		format_many(s->peak.calls, "block", "blocks").s,
		span(a, a->tree.start_ticks, s->peak.ticks).s);
	if (s->totals.estimated && s->peak.ticks >= a->walk.input.header->sampled_from)
		fprintf(out, ", an estimate (%s) and too high on average",
			figures_range(v, VALUE_PEAK, s->peak.bytes).s);
	else if (s->totals.bound)
		fprintf(out, ", accurate to %s because the process had several threads",
			format_bytes(s->totals.bound).s);
	fprintf(out, ". Allocated in total: %s in %s. %s: %s in %s", format_bytes(v->bytes).s,
		format_many(v->calls, "block", "blocks").s,
		left ? "Live at the end" : "Never freed", format_bytes(v->live_bytes).s,
		format_many(v->live_calls, "block", "blocks").s);
	if (report_is_reduced(a) && k && k->all.live_blocks && k->all.live_bytes <= v->live_bytes)
		fprintf(out, ", of which %s keep %s%s", kept_by(k), kept_least(k),
			format_bytes(k->all.live_bytes).s);
	putc('.', out);
	if (s->totals.estimated)
		fprintf(
		    out,
		    " These totals are exact up to %s; from then on they are estimated from %s. "
		    "95 %% confidence intervals: allocated %s, %s %s.",
		    sampled_from(a).s, format_many(v->error.samples, "sample", "samples").s,
		    figures_range(v, VALUE_TOTAL, v->bytes).s,
		    left ? "live at the end" : "never freed",
		    figures_range(v, VALUE_LIVE, v->live_bytes).s);
	else
		fprintf(out, " These totals are exact%s.",
			s->totals.bound ? ", except for the peak" : "");
	put_reduced(a, out);
}

void report_whole_command(const struct analysis *a, FILE *out)
{
	fputs("mprof report --totals ", out);
	shell_path(a->path, out);
}

static void print_whole(const struct analysis *a, FILE *out)
{
	fputs("  ", out);
	report_whole(a, out);
	fputs("\n    ", out);
	report_whole_command(a, out);
	putc('\n', out);
}

const struct report_section report_kept_sections[] = {
	{ "The whole run", report_has_whole, print_whole },
	{ NULL, NULL, NULL },
};
