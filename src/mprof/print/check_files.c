// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * check_files.c - checks as JUnit's XML and as a table in Markdown.
 *
 * XML 1.0 has no way to write most control characters: they become U+FFFD, as do bytes that are not
 * valid UTF-8.
 */
#include "print_check.h"

#include <stdlib.h>

#include "../util/markup.h"
#include "quote.h"
#include "text.h"

static void put_case(const struct checks *c, const struct check *k, const struct check_print *o,
		     FILE *out)
{
	char *name = check_name(k), *sentence = check_sentence(k, o), *leak;
	size_t i;

	fputs("    <testcase classname=\"mprof.check\" name=\"", out);
	markup_text(name, out);
	fputs("\" time=\"0\"", out);
	if (k->failed) {
		fputs(">\n      <failure type=\"limit\" message=\"", out);
		markup_text(sentence, out);
		fputs("\">", out);
		markup_text(sentence, out);
		for (i = 0; k->kind == CHECK_NEW_LEAKS && i < k->found && i < CHECK_LEAKS; i++) {
			leak = check_leak(c, i);
			fputs("\n", out);
			markup_text(leak, out);
			free(leak);
		}
		fputs("</failure>\n    </testcase>\n", out);
	} else {
		fputs("/>\n", out);
	}
	free(name);
	free(sentence);
}

void check_junit(const struct checks *c, const struct check_print *o, FILE *out)
{
	size_t i;

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
	fprintf(out, "<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"0\" time=\"0\">\n",
		c->count, c->failed);
	fprintf(
	    out,
	    "  <testsuite name=\"mprof check\" tests=\"%zu\" failures=\"%zu\" errors=\"0\""
	    " skipped=\"0\" time=\"0\">\n    <properties>\n      <property name=\"trace\" value=\"",
	    c->count, c->failed);
	markup_text(o->name[DIFF_AFTER], out);
	fputs("\"/>\n", out);
	if (o->name[DIFF_BEFORE]) {
		fputs("      <property name=\"baseline\" value=\"", out);
		markup_text(o->name[DIFF_BEFORE], out);
		fputs("\"/>\n", out);
	}
	fputs("    </properties>\n", out);
	for (i = 0; i < c->count; i++)
		put_case(c, &c->check[i], o, out);
	fputs("  </testsuite>\n</testsuites>\n", out);
}

/* ---- Markdown ---- */

static void put_row(const struct check *k, const struct check_print *o, FILE *out)
{
	char *name = check_name(k), *sentence = check_sentence(k, o);

	fprintf(out, "| %s | ", k->failed ? ":x:" : ":white_check_mark:");
	markdown_code(out, name);
	fputs(" | ", out);
	markdown_text(out, sentence);
	fputs(" |\n", out);
	free(name);
	free(sentence);
}

static void put_leaks(const struct checks *c, const struct check *k, FILE *out)
{
	size_t i;
	char *leak;

	fputs("\nNew leaks:\n\n", out);
	for (i = 0; i < k->found && i < CHECK_LEAKS; i++) {
		leak = check_leak(c, i);
		fputs("* ", out);
		markdown_code(out, leak);
		fputc('\n', out);
		free(leak);
	}
	if (i < k->found)
		fprintf(out, "* and %s more\n", format_count(k->found - i).s);
}

void check_markdown(const struct checks *c, const struct check_print *o, FILE *out)
{
	size_t i;

	fputs("### Memory of ", out);
	markdown_code(out, text_base(o->name[DIFF_AFTER]));
	if (c->failed)
		fprintf(out, ": %s of %s failed", format_count(c->failed).s,
			format_many(c->count, "check", "checks").s);
	else
		fprintf(out, ": %s", c->count == 1 ? "the check passed" : "all checks passed");
	fputs("\n\n| | check | |\n|---|---|---|\n", out);
	for (i = 0; i < c->count; i++)
		put_row(&c->check[i], o, out);
	for (i = 0; i < c->count; i++)
		if (c->check[i].kind == CHECK_NEW_LEAKS && c->check[i].failed)
			put_leaks(c, &c->check[i], out);
}
