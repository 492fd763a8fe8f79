// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_failures.c - calls that returned NULL or an error, in words and as JSON. */
#include "print_findings.h"

#include <sys/mman.h>

#include "../trace/functions.h"
#include "figures.h"
#include "json_rows.h"

/* Returns the place in the program's source, or NULL. */
static const struct sym_line *place_of(const struct analysis *a, const struct totals_failure *x)
{
	/* Names do not change what they name. */
	if (!a->findings || !a->findings->named || !x->stack)
		return NULL;
	return profile_asked((struct profile *)&a->findings->names, x->stack).line;
}

/* Puts "3 calls of malloc failed", or of several functions "4 calls failed (3 of malloc, ...)". */
static void put_counts(const struct totals_sum *s, unsigned first, FILE *out)
{
	const bool same = s->fn[first].failed == s->failed;
	const char *before = " (";

	fprintf(out, "%s calls%s%s failed", format_count(s->failed).s, same ? " of " : "",
		same ? function_name(first) : "");
	for (unsigned fn = 0; !same && fn < MPROF_FN_MAX; fn++) {
		if (!s->fn[fn].failed)
			continue;
		fprintf(out, "%s%s of %s", before, format_count(s->fn[fn].failed).s,
			function_name(fn));
		before = ", ";
	}
	fputs(same ? "" : ")", out);
}

/* What the program asked for that a machine may lack, and then does without. */
static const char *special(const struct totals_failure *x)
{
	if (x->flags & MAP_HUGETLB)
		return " of huge pages (MAP_HUGETLB)";
	return (x->flags & MAP_TYPE) == MAP_SHARED_VALIDATE && x->flags & MAP_SYNC
		   ? " of persistent memory (MAP_SYNC)"
		   : "";
}

void failures_sentence(const struct analysis *a, FILE *out)
{
	const struct totals_sum *s = &a->totals.all;
	const struct totals_failure *x = &a->totals.first_failed;
	const struct sym_line *line = place_of(a, x);

	if (s->failed == 1) {
		fprintf(out, "1 call of %s for %s%s failed", function_name(x->fn),
			format_bytes(x->size).s, special(x));
	} else {
		put_counts(s, x->fn, out);
		fputs("; the first was", out);
		if (s->fn[x->fn].failed < s->failed)
			fprintf(out, " one of %s", function_name(x->fn));
		fprintf(out, " for %s%s", format_bytes(x->size).s, special(x));
	}
	fprintf(out, ", %s after the start", format_since(walk_ns(&a->walk, x->ticks)).s);
	if (line) {
		fputs(", in ", out);
		figures_line(out, line, true);
	}
	fputc('.', out);
}

/* Adds a time. */
static void add_ns(json *o, const char *name, const struct analysis *a, uint64_t ticks)
{
	add(o, name, json_object_new_int64(walk_ns(&a->walk, ticks)));
}

#include "../json/failures.def"
