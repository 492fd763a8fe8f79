// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_check.c - checks as text, one line each. */
#include "print_check.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "print_diff.h"
#include "figures.h"
#include "json_rows.h"

char *check_name(const struct check *k)
{
	const char *value = profile_value_name(k->value);

	switch (k->kind) {
	case CHECK_LIMIT:
		return k->function ? must_printf("max-%s %s", value, k->function)
				   : must_printf("max-%s", value);
	case CHECK_BASELINE:
		return must_printf("baseline %s", value);
	case CHECK_NEW_LEAKS:
		return must_strdup("no-new-leaks");
	default:
		return must_strdup("complete");
	}
}

/* Prints to the byte two figures that would look equal. */
static void put_figures(const struct check *k, FILE *out)
{
	struct text found = figures_text(k->value, k->found),
		    most = figures_text(k->value, k->most);
	const bool over = k->found > k->most;

	if (over && !strcmp(found.s, most.s))
		fprintf(out, "%s exceeds the %s", format_count(k->found).s,
			format_count(k->most).s);
	else
		fprintf(out, "%s %s the %s", found.s, over ? "exceeds" : "is within", most.s);
}

static void put_blame(const struct check *k, FILE *out)
{
	if (!k->failed || !k->blame)
		return;
	if (k->kind == CHECK_LIMIT)
		fprintf(out, "; %s of it by ", format_percent(k->blamed, k->found).s);
	else
		fprintf(out, "; largest increase, %s, by ", figures_text(k->value, k->blamed).s);
	figures_line(out, k->blame, k->kind == CHECK_NEW_LEAKS);
}

/* Says of which trace the bytes may have been in use. */
static void put_left_open(const struct check *k, const struct check_print *o, FILE *out)
{
	if (!k->left_open[DIFF_BEFORE] && !k->left_open[DIFF_AFTER])
		return;
	fputs("; ", out);
	if (!k->left_open[DIFF_AFTER])
		fprintf(out, "in %s, ", text_base(o->name[DIFF_BEFORE]));
	fputs("live when the program was killed, still ran, or went on in a fork", out);
}

static void put_lacks(const struct check *k, FILE *out)
{
	static const struct {
		unsigned lack;
		const char *words;
	} list[] = {
		{ LACKS_PARTS, "damaged parts of the trace" },
		{ LACKS_OBJECTS, "objects that bypass the library" },
		{ LACKS_PROGRAM, "a program that was not recorded" },
		{ LACKS_CALLS, "calls that were not kept" },
	};
	const char *before = "";

	if (k->found) {
		fprintf(out, "%s or end of recording",
			format_many(k->found, "lost call", "lost calls").s);
		before = ", ";
	}
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (k->lacks & list[i].lack) {
			fprintf(out, "%s%s", before, list[i].words);
			before = ", ";
		}
	fputs(": figures are too low; mprof report says what is missing", out);
}

static void put_sentence(const struct check *k, const struct check_print *o, FILE *out)
{
	switch (k->kind) {
	case CHECK_LIMIT:
		put_figures(k, out);
		fputs(" allowed", out);
		if (k->estimated)
			fprintf(out, "; the 95 %% range is %s",
				figures_between(k->value, &k->range).s);
		break;
	case CHECK_BASELINE:
		put_figures(k, out);
		fprintf(out, " allowed (%s in %s)", figures_text(k->value, k->before).s,
			text_base(o->name[DIFF_BEFORE]));
		if (k->peaks_differ)
			fputs(", but they cannot be compared: the peak of a trace is of all "
			      "processes together, that of a profile of one process",
			      out);
		if (k->unclear)
			fputs(", but may be equal, within the error of samples", out);
		break;
	case CHECK_NEW_LEAKS:
		if (k->failed)
			fprintf(out, "%s more than in %s",
				format_many(k->found, "call stack leaks", "call stacks leak").s,
				text_base(o->name[DIFF_BEFORE]));
		else
			fputs("no call stack leaks more", out);
		break;
	case CHECK_COMPLETE:
		if (k->failed)
			put_lacks(k, out);
		else
			fputs("no call was lost", out);
		break;
	}
	put_blame(k, out);
	put_left_open(k, o, out);
}

char *check_sentence(const struct check *k, const struct check_print *o)
{
	return WRITTEN(out, put_sentence(k, o, out));
}

char *check_leak(const struct checks *c, size_t i)
{
	const struct diff_group *g = &c->leaks.group[i];

	return WRITTEN(
	    out, fprintf(out, "%s  ", figures_signed(VALUE_LEAKED, diff_delta(g, VALUE_LEAKED)).s);
	    diff_put_group(out, &c->leaks, g));
}

/* ---- text ---- */

static void put_leaks(const struct checks *c, const struct check *k, FILE *out)
{
	size_t i;
	char *leak;

	for (i = 0; i < k->found && i < CHECK_LEAKS; i++) {
		leak = check_leak(c, i);
		fprintf(out, "  %s\n", leak);
		free(leak);
	}
	if (i < k->found)
		fprintf(out, "  and %s more\n", format_count(k->found - i).s);
}

void check_text(const struct checks *c, const struct check_print *o, FILE *out)
{
	const struct check *k;
	char *name, *sentence;

	for (k = c->check; k < c->check + c->count; k++) {
		if (!k->failed && !o->all)
			continue;
		name = check_name(k);
		sentence = check_sentence(k, o);
		fprintf(out, "%s %s: %s\n", k->failed ? "failed" : "passed", name, sentence);
		free(name);
		free(sentence);
		if (o->all && k->failed && k->kind == CHECK_NEW_LEAKS)
			put_leaks(c, k, out);
	}
}

/* ---- JSON ---- */

#include "../json/check.def"

json *check_json(const struct checks *c, const struct check_print *o)
{
	return JSON_NEW(checks, c, o);
}
