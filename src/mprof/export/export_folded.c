// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * export_folded.c - folded stacks: one line for each distinct stack: the names, outermost first,
 * separated by semicolons; a blank; the value.
 *
 * Values are integers: flamegraph.pl and speedscope skip a line whose number has
 * an exponent, and so would lose the largest stacks.
 */
#include <inttypes.h>

#include "../profile/merged.h"
#include "exports.h"
#include "export_bucket.h"

static void put_row(const struct merged *m, const struct merged_row *row, uint64_t value, FILE *out)
{
	size_t n = merged_depth(m, row), i;

	for (i = 0; i < n; i++) {
		if (i)
			fputc(';', out);
		export_name(out, merged_line(m, row, i)->function, ";", ':');
	}
	fprintf(out, " %" PRIu64 "\n", value);
}

int export_folded(struct export *x, struct error *err)
{
	const struct merged_row *row;
	struct merged m;

	merged_make(&m, x->profile);
	export_bucket_add(x, &m);
	for (row = m.row; row < m.row + m.count; row++)
		if (row->v[x->value])
			put_row(&m, row, row->v[x->value], x->out);
	merged_release(&m);
	return 0;
}
