// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * report_text.c - the report for people: the first screen, or everything: what
 * ran, what was lost, the findings in words, then the evidence in sections.
 */
#include "report.h"

#include <errno.h>

int report_sections(const struct report_section *s, const struct analysis *a, FILE *out)
{
	int ret = 0;

	for (; s->title && !ret; s++) {
		if (s->applies && !s->applies(a))
			continue;
		fputc('\n', out);
		report_title(s->title, out);
		ret = s->print(a, out);
	}
	return ret;
}

/* What mprof -t has always answered. */
static int print_ten_sizes(const struct analysis *a, FILE *out)
{
	return report_sizes(a, 10, out);
}

static bool has_blocks(const struct analysis *a)
{
	return a->sizes.total.count != 0;
}

static int print_first(const struct analysis *a, const struct report_options *o, FILE *out)
{
	static const struct report_section analyses[] = {
		{ "Size classes", has_blocks, print_ten_sizes },
		{ "Compactness", report_has_compactness, report_compactness },
		{ NULL, NULL, NULL },
	};
	int ret = report_screen(a, o, out);

	return ret || !o->analyses ? ret : report_sections(analyses, a, out);
}

static int print_all(const struct analysis *a, FILE *out)
{
	static const struct report_section findings[] = {
		{ "Findings", NULL, report_findings },
		{ NULL, NULL, NULL },
	};
	const struct report_section *const part[] = {
		report_run_sections,  findings, report_call_sections, report_block_sections,
		report_page_sections,
	};
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(part) / sizeof(part[0]) && !ret; i++)
		ret = report_sections(part[i], a, out);
	return ret;
}

int report_text(const struct analysis *a, const struct report_options *o, FILE *out,
		struct error *err)
{
	int ret = o->all ? print_all(a, out) : print_first(a, o, out);

	return ret ? fail(err, -ENOMEM, "no memory to print the report") : 0;
}
