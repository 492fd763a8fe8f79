// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_times.c - the time in the allocator, in words and as JSON. */
#include "print_times.h"

#include <stdlib.h>

#include "../trace/functions.h"
#include "../util/format.h"
#include "../util/order.h"
#include "figures.h"
#include "json_rows.h"
#include "quote.h"

#define FUNCTIONS_TOLD 4u

static uint64_t whole(double ns)
{
	return ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

static double least(const struct alloc_times *t)
{
	return t->ns > t->error_ns ? t->ns - t->error_ns : 0;
}

static uint64_t most(const struct alloc_times *t)
{
	const uint64_t ns = whole(t->ns + t->error_ns);

	return ns < t->cpu_ns ? ns : t->cpu_ns;
}

bool times_are_told(const struct alloc_times *t)
{
	return t->cpu_ns && t->ns >= ALLOC_TIMES_TOLD_NS && t->ns >= (double)t->cpu_ns / 100 &&
	       least(t) > 0;
}

struct told {
	unsigned fn;
	double ns;
};

ORDER(by_time, struct told, FALLING(ns) ?: RISING(fn))

/* "malloc 47.1 ns a call, free 19.0 ns": those that take most. */
static void put_functions(const struct alloc_times *t, FILE *out)
{
	struct told told[MPROF_FN_MAX];
	size_t n = 0, i;

	for (unsigned fn = 0; fn < MPROF_FN_MAX; fn++)
		if (t->fn[fn].calls && t->fn[fn].ns >= t->ns / 50)
			told[n++] = (struct told){ fn, t->fn[fn].ns };
	SORT(told, n, by_time);
	for (i = 0; i < n && i < FUNCTIONS_TOLD; i++)
		fprintf(out, "%s %s %s%s", i ? "," : "", function_name(told[i].fn),
			format_ns(whole(t->fn[told[i].fn].ns / (double)t->fn[told[i].fn].calls)).s,
			i ? "" : " a call");
}

static const char *until(const struct alloc_times *t)
{
	/* A process that was killed tells no more than that. */
	return t->interrupted ? " until the last calls" : "";
}

void times_sentence(const struct alloc_times *t, FILE *out)
{
	fprintf(out,
		"The allocator took about %s (%s to %s), %s of the CPU time with recording (%s%s):",
		format_ns(whole(t->ns)).s, format_ns(whole(least(t))).s, format_ns(most(t)).s,
		format_percent(whole(t->ns), t->cpu_ns).s, format_ns(t->cpu_ns).s, until(t));
	put_functions(t, out);
	fputs(t->of_objects ? "; with --python, Python calls it for each object." : ".", out);
}

void time_finding_sentence(const struct alloc_times *t, FILE *out)
{
	/* Few long calls, such as those that map memory, make it uncertain. */
	if (t->error_ns > t->ns / 5)
		fprintf(out, "%.0f to %s", 100 * least(t) / (double)t->cpu_ns,
			format_percent(most(t), t->cpu_ns).s);
	else
		fprintf(out, "About %s", format_percent(whole(t->ns), t->cpu_ns).s);
	fprintf(out,
		" of the CPU time%s was spent in the allocator, about %s. Pools and "
		"reserved capacity save calls; another allocator may be faster.",
		until(t), format_ns(whole(t->ns)).s);
}

#include "../json/times.def"
