// SPDX-License-Identifier: LGPL-3.0-or-later
/* diff_markdown.c - a comparison of two traces as tables for a comment. */
#include "print_diff.h"

#include <stdlib.h>

#include "../util/alloc.h"
#include "figures.h"
#include "quote.h"

static void put_totals(const struct diff *d, FILE *out)
{
	enum profile_value v;

	fputs("| | before | after | change | |\n|---|---:|---:|---:|---:|\n", out);
	for (v = 0; v < VALUE_COUNT; v++) {
		uint64_t a = d->total[DIFF_BEFORE][v], b = d->total[DIFF_AFTER][v];

		if (!diff_totals(d, v))
			continue;
		fprintf(out, "| %s | %s | %s | %s | %s |\n", profile_value_name(v),
			figures_text(v, a).s, figures_text(v, b).s,
			figures_signed(v, (int64_t)(b - a)).s, diff_move(d, v).s);
	}
}

static void put_group(const struct diff *d, const struct diff_group *g, FILE *out)
{
	char *text = WRITTEN(to, diff_put_group(to, d, g));

	markdown_code(out, text);
	free(text);
}

static void put_figure(const struct diff *d, const struct diff_group *g, enum diff_side side,
		       FILE *out)
{
	const enum profile_value v = d->options.value;

	fprintf(out, " %s", figures_text(v, g->v[side][v]).s);
	if (d->sampled[side])
		fprintf(out, " (%s)", diff_range_text(d, g, side).s);
	fputs(" |", out);
}

static void put_rows(const struct diff *d, size_t rows, FILE *out)
{
	const enum profile_value v = d->options.value;
	const struct diff_group *g;

	fprintf(out, "\n| change | before | after | | %s |\n|---:|---:|---:|---|---|\n",
		diff_by_name(d->options.by));
	for (g = d->group; g < d->group + rows; g++) {
		fprintf(out, "| %s |", figures_signed(v, diff_delta(g, v)).s);
		put_figure(d, g, DIFF_BEFORE, out);
		put_figure(d, g, DIFF_AFTER, out);
		fprintf(out, " %s | ", diff_change_name(g->change));
		put_group(d, g, out);
		fputs(" |\n", out);
	}
}

static void put_remarks(const struct diff *d, const struct diff_print *o, FILE *out)
{
	char *sentence;

	for (unsigned k = 0; k < DIFF_REMARKS; k++) {
		sentence = diff_remark(d, o, k);
		if (!sentence)
			continue;
		fputc('\n', out);
		markdown_text(out, sentence);
		fputc('\n', out);
		free(sentence);
	}
}

void diff_markdown(const struct diff *d, const struct diff_print *o, FILE *out)
{
	size_t rows = diff_rows(d, o), i;

	fputs("### Memory: ", out);
	markdown_code(out, text_base(o->name[DIFF_BEFORE]));
	fputs(" to ", out);
	markdown_code(out, text_base(o->name[DIFF_AFTER]));
	fputs("\n\n", out);
	put_totals(d, out);
	put_remarks(d, o, out);
	fprintf(out, "\n**%s by %s**: ", profile_value_name(d->options.value),
		diff_by_name(d->options.by));
	diff_put_counts(out, d);
	fputs(".\n", out);
	for (i = 0; i < d->renames; i++) {
		fputs("Treated as renamed: ", out);
		markdown_code(out, d->rename[i].line[DIFF_BEFORE]->function);
		fputs(" is now ", out);
		markdown_code(out, d->rename[i].line[DIFF_AFTER]->function);
		fputs(".\n", out);
	}
	if (rows)
		put_rows(d, rows, out);
	if (rows < diff_changed(d))
		fprintf(out, "\n%s more changed.\n", format_count(diff_changed(d) - rows).s);
}
