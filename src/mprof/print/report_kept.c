// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * report_kept.c - a run that did not keep every event (--last, --budget): which events were kept,
 * and the totals of the whole run.
 */
#include <inttypes.h>

#include "figures.h"
#include "report.h"
#include "shell.h"

static struct text span(const struct analysis *a, uint64_t from, uint64_t to)
{
	return format_ns(walk_duration_ns(&a->walk, to > from ? to - from : 0));
}

static bool is_recent(const struct analysis *a)
{
	return a->walk.input.header->dropped_ticks;
}

bool report_is_partial(const struct analysis *a)
{
	return is_recent(a) || a->walk.input.log_end;
}

bool report_ends_early(const struct analysis *a)
{
	return a->walk.input.log_end;
}

struct long_text report_span(const struct analysis *a)
{
	const uint64_t last = a->walk.input.log_end ? a->walk.input.log_end : a->tree.end_ticks;
	struct long_text t = { "The whole run" };

	if (is_recent(a))
		snprintf(t.s, sizeof(t.s), "The last %s%s",
			 span(a, a->walk.input.header->dropped_ticks, last).s,
			 report_ends_early(a) ? " before that" : "");
	else if (report_ends_early(a))
		snprintf(t.s, sizeof(t.s), "The first %s", span(a, a->tree.start_ticks, last).s);
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

struct long_text report_partial(const struct analysis *a)
{
	const struct mprof_file_header *h = a->walk.input.header;
	const uint64_t last = report_ends_early(a) ? a->walk.input.log_end : a->tree.end_ticks;
	size_t n = 0;
	struct long_text t = { "" };

	if (report_ends_early(a))
		n = (size_t)snprintf(t.s, sizeof(t.s),
				     "Every call is recorded up to %s after the start, when %s; "
				     "later calls are only "
				     "part of the totals.",
				     span(a, a->tree.start_ticks, last).s, end_why(h).s);
	if (h->sampled_from && n < sizeof(t.s))
		n +=
		    (size_t)snprintf(t.s + n, sizeof(t.s) - n,
				     " From %s on, the totals are estimates from samples, for they "
				     "took too much time, too.",
				     sampled_from(a).s);
	if (is_recent(a) && n < sizeof(t.s))
		snprintf(t.s + n, sizeof(t.s) - n,
			 "%sThese are the last %s (--last): %s of earlier calls were dropped, and "
			 "blocks allocated before that are not counted.",
			 n ? " " : "", span(a, h->dropped_ticks, last).s,
			 format_bytes(h->dropped_bytes).s);
	return t;
}

bool report_has_whole(const struct analysis *a)
{
	return report_is_partial(a) && a->whole.totals.read;
}

void report_whole(const struct analysis *a, FILE *out)
{
	const struct sites *s = &a->whole;
	const struct site_values *v = &s->total;

	fprintf(out, "Peak%s: %s in %s, %s after the start",
		s->totals.process ? " of the largest process" : "", format_bytes(s->peak.bytes).s,
		format_many(s->peak.calls, "block", "blocks").s,
		span(a, a->tree.start_ticks, s->peak.ticks).s);
	if (s->totals.estimated && s->peak.ticks >= a->walk.input.header->sampled_from)
		fprintf(out, ", an estimate (%s) and too high on average",
			figures_range(v, VALUE_PEAK, s->peak.bytes).s);
	else if (s->totals.bound)
		fprintf(out, ", accurate to %s because there were several threads",
			format_bytes(s->totals.bound).s);
	fprintf(out, ". Allocated in total: %s in %s. Never freed: %s in %s.",
		format_bytes(v->bytes).s, format_many(v->calls, "block", "blocks").s,
		format_bytes(v->live_bytes).s, format_many(v->live_calls, "block", "blocks").s);
	if (s->totals.estimated)
		fprintf(
		    out,
		    " These totals are exact up to %s; from then on they are estimated from %s. "
		    "95 %% confidence intervals: allocated %s, never freed %s.",
		    sampled_from(a).s, format_many(v->error.samples, "sample", "samples").s,
		    figures_range(v, VALUE_TOTAL, v->bytes).s,
		    figures_range(v, VALUE_LIVE, v->live_bytes).s);
	else
		fprintf(out, " These totals are exact%s.",
			s->totals.bound ? ", except for the peak" : "");
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
