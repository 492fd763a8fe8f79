// SPDX-License-Identifier: LGPL-3.0-or-later
/* figures.c - values of profiles and lines of stacks. */
#include "figures.h"

#include <string.h>

#include "../util/alloc.h"
#include "../util/utf8.h"
#include "json_rows.h"

struct text figures_text(enum profile_value value, uint64_t n)
{
	switch (*profile_value_unit(value)) {
	case 'b':
		return format_bytes(n);
	case 'n':
		return format_ns(n);
	default:
		return format_count(n);
	}
}

struct text figures_range(const struct site_values *v, enum profile_value value, uint64_t n)
{
	struct estimate_range range = { 0, UINT64_MAX };

	estimate_range(v, value, n, &range);
	return figures_between(value, &range);
}

struct text figures_between(enum profile_value value, const struct estimate_range *range)
{
	struct text t = { "range not known" };
	const struct text low = figures_text(value, range->low);
	const struct text high = figures_text(value, range->high);

	if (range->high != UINT64_MAX && !strcmp(low.s, high.s))
		return low;
	if (range->high != UINT64_MAX)
		snprintf(t.s, sizeof(t.s), "%.28s to %.28s", low.s, high.s);
	return t;
}

struct text figures_signed(enum profile_value value, int64_t n)
{
	struct text plain = figures_text(value, n < 0 ? 0 - (uint64_t)n : (uint64_t)n), t;

	snprintf(t.s, sizeof(t.s), "%c%.60s", n < 0 ? '-' : '+', plain.s);
	return n ? t : plain;
}

/* Prints whole characters of UTF-8. */
void figures_name(FILE *out, const char *s)
{
	size_t n = strlen(s), i;

	if (n > FIGURES_NAME) {
		n = FIGURES_NAME - 3;
		while (n && utf8_continues(s[n]))
			n--;
	}
	for (i = 0; i < n; i++)
		fputc((unsigned char)s[i] < ' ' || s[i] == 0x7f ? '?' : s[i], out);
	if (s[n])
		fputs("...", out);
}

void figures_line(FILE *out, const struct sym_line *line, bool with_line)
{
	figures_name(out, line->function);
	if (*line->file) {
		fputs(" (", out);
		figures_name(out, sym_file(line));
		if (with_line && line->line)
			fprintf(out, ":%" PRIu32, line->line);
		fputc(')', out);
	} else if (line->known) {
		fputs(" [", out);
		figures_name(out, line->module);
		fputc(']', out);
	}
}

void figures_most_at(FILE *out, uint32_t line, bool mostly, const char *part, const char *whole)
{
	if (!strcmp(part, whole))
		fprintf(out, ", nearly all at line %" PRIu32, line);
	else
		fprintf(out, ", %s at line %" PRIu32 " (%s of %s)", mostly ? "mostly" : "most",
			line, part, whole);
}

bool figures_same_place(const struct sym_line *a, const struct sym_line *b)
{
	return a == b || (a->line == b->line && !strcmp(a->function, b->function) &&
			  !strcmp(a->file, b->file) && !strcmp(a->module, b->module));
}

char *figures_line_text(const struct sym_line *line, bool with_line)
{
	return WRITTEN(out, figures_line(out, line, with_line));
}

#include "../json/lines.def"

struct text figures_period(const struct sites *s)
{
	const uint64_t least = s->totals.period, most = s->totals.period_most;
	const bool calls = s->totals.unit == MPROF_SAMPLE_CALLS;
	struct text t = calls ? format_many(least, "call", "calls") : format_bytes(least);
	const size_t n = strlen(t.s);

	if (most > least)
		snprintf(t.s + n, sizeof(t.s) - n, " to %.24s",
			 calls ? format_many(most, "call", "calls").s : format_bytes(most).s);
	return t;
}

void figures_estimate(const struct profile *p, FILE *out)
{
	const struct sites *s = &p->sites;

	if (!s->totals.estimated)
		return;
	if (p->header->sampled_from)
		fprintf(out, "Exact up to %s after the start; from then on estimated",
			format_ns((uint64_t)walk_ns(s->walk, p->header->sampled_from)).s);
	else
		fputs("Estimated", out);
	fprintf(out, " from %s, one every %s on average. ",
		format_many(p->total.error.samples, "sample", "samples").s, figures_period(s).s);
	fputs("Ranges are 95 % confidence intervals.\n", out);
}

void figures_nothing(const struct profile *p, FILE *out)
{
	const struct walk_until *until = &p->sites.options.until;

	if (p->hide_zero_live)
		fputs("No block was live at the end (--hide-zero-live).", out);
	else if (p->sites.totals.period)
		fprintf(out,
			"No sample was taken: there is one every %s on average. Use mprof profile "
			"without --sample, or with a smaller one.",
			figures_period(&p->sites).s);
	else if (until->set && until->ticks < walk_run_end_ticks(&p->sites.walk->input))
		fprintf(out, "No allocation was recorded until %s after the start.",
			format_since(walk_ns(p->sites.walk, until->ticks)).s);
	else
		fputs("No allocation was recorded.", out);
}
