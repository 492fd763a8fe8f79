// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * report_text.c - the report for people: what ran, what was lost, the findings
 * in words, then the evidence in sections.
 */
#include "report.h"

#include <errno.h>

static int print_sections(const struct report_section *s, const struct analysis *a,
			  const struct report_options *o, FILE *out)
{
	int ret = 0;

	for (; s->title && !ret; s++) {
		if (s->applies && !s->applies(a))
			continue;
		fprintf(out, "\n%s\n", s->title);
		ret = s->print(a, o, out);
	}
	return ret;
}

int report_text(const struct analysis *a, const struct report_options *o, FILE *out,
		struct error *err)
{
	const struct report_section findings[] = {
		{ "Findings", NULL, report_findings },
		{ NULL, NULL, NULL },
	};
	const struct report_section *parts[] = {
		report_run_sections,
		report_call_sections,
		report_block_sections,
		report_page_sections,
	};
	size_t i;
	int ret;

	ret = print_sections(parts[0], a, o, out);
	if (!ret)
		ret = print_sections(findings, a, o, out);
	for (i = 1; i < sizeof(parts) / sizeof(parts[0]) && !ret; i++)
		ret = print_sections(parts[i], a, o, out);
	return ret ? fail(err, -ENOMEM, "no memory to print the report") : 0;
}
