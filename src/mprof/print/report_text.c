// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * report_text.c - the report for people: the first screen, or everything: the processes, losses,
 * the findings in words, then the evidence in sections.
 */
#include "report.h"

void report_sections(const struct report_section *s, const struct analysis *a, FILE *out)
{
	for (; s->title; s++) {
		if (s->applies && !s->applies(a))
			continue;
		fputc('\n', out);
		report_title(s->title, out);
		s->print(a, out);
	}
}

/* Prints the ten largest sizes, the classic answer of mprof -t. */
static void print_ten_sizes(const struct analysis *a, FILE *out)
{
	report_sizes(a, 10, out);
}

static void print_first(const struct analysis *a, const struct report_options *o, FILE *out)
{
	static const struct report_section analyses[] = {
		{ "Size classes", report_has_blocks, print_ten_sizes },
		{ "Compactness", report_has_compactness, report_compactness },
		{ NULL, NULL, NULL },
	};

	report_screen(a, o, out);
	if (o->analyses)
		report_sections(analyses, a, out);
}

static void print_all(const struct analysis *a, FILE *out)
{
	static const struct report_section findings[] = {
		{ "Findings", NULL, report_findings },
		{ NULL, NULL, NULL },
	};
	const struct report_section *const part[] = {
		report_run_sections,  report_kept_sections,  findings,
		report_call_sections, report_block_sections, report_page_sections,
	};
	size_t i;

	for (i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		report_sections(part[i], a, out);
}

void report_text(const struct analysis *a, const struct report_options *o, FILE *out)
{
	if (o->all)
		print_all(a, out);
	else
		print_first(a, o, out);
}
