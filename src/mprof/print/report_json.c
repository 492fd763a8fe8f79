// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * report_json.c - the analysis as one JSON object: the fields are in json/report.def.
 *
 * A json-c call without memory returns NULL, which its other calls take for `null`; the check is
 * made once at the end, when text is made of it.
 */
#include "report.h"

#include "../pass/rss.h"
#include "../trace/functions.h"
#include "json_rows.h"
#include "print_findings.h"
#include "print_times.h"

static const char *const problem_kinds[HEAP_PROBLEM_KINDS] = {
	[HEAP_DOUBLE_ALLOCATION] = "double_allocation",
	[HEAP_UNMATCHED_FREE] = "unmatched_free",
	[HEAP_INVERSION] = "inversion",
};

static const char *const ends[] = {
	[TREE_UNKNOWN] = "unknown",
	[TREE_EXITED] = "exited",
	[TREE_KILLED] = "killed",
	[TREE_BECAME] = "became_unrecorded",
};

/* Adds a time; ticks 0 means unknown. */
static void add_ns(json *o, const char *name, const struct analysis *a, uint64_t ticks)
{
	add(o, name, ticks ? json_object_new_int64(walk_ns(&a->walk, ticks)) : NULL);
}

/* The sample of the machine with least available memory; there is one. */
static const struct mprof_system *least_available(const struct walk_input *in)
{
	size_t least = 0, i;

	for (i = 1; i < in->system_count; i++)
		if (in->system[i].available < in->system[least].available)
			least = i;
	return &in->system[least];
}

/* By function; NULL if unknown. */
static const double *times_of_thread(const struct analysis *a, const struct totals_thread *t)
{
	const struct alloc_times *x = a->findings ? &a->findings->times : NULL;

	for (size_t i = 0; x && i < x->threads; i++)
		if (x->thread[i].thread == t->number)
			return x->thread[i].ns;
	return NULL;
}

#include "../json/report.def"

json *report_json_object(const struct analysis *a)
{
	return JSON_NEW(run, a);
}

void report_json(const struct analysis *a, FILE *out)
{
	json_print(out, report_json_object(a));
}
