// SPDX-License-Identifier: LGPL-3.0-or-later
/* thread_names.c - the names that a program gave its threads: FORMAT.md, STACK_USE and
 * COUNTS. */
#include "reader.h"

#include <fnmatch.h>
#include <string.h>

#include "../util/hash.h"

static void take_name(struct trace *t, uint32_t thread, const char name[MPROF_THREAD_NAME])
{
	if (*name && memchr(name, 0, MPROF_THREAD_NAME))
		*hash_at(&t->thread_name, trace_thread(t, thread)) = (uintptr_t)name;
}

void thread_names_find(struct trace *t)
{
	/* After an exec, the main thread has another record, whose name is newer. */
	for (size_t i = 0; i < t->uses; i++)
		take_name(t, t->use[i].thread, t->use[i].u->name);
	for (size_t i = 0; i < t->counts_n; i++)
		take_name(t, t->counts[i].thread, t->counts[i].counts->name);
}

const char *trace_thread_name(const struct trace *t, uint32_t number)
{
	const char *name = (const char *)(uintptr_t)hash_get(&t->thread_name, number);

	return name ? name : "";
}

bool trace_has_thread_names(const struct trace *t)
{
	return t->thread_name.used > 0;
}

uint64_t trace_unnamed_threads(const struct trace *t)
{
	uint64_t others = 0;

	for (size_t i = 0; i < t->uses; i++)
		others += t->use[i].u->others;
	return others;
}

void trace_choose_threads(struct trace *t, const struct thread_choice *choice)
{
	hash_release(&t->thread_chosen);
	for (size_t i = 0; choice->pattern && i < t->uses; i++) {
		const uint32_t number = trace_thread(t, t->use[i].thread);
		const char *name = trace_thread_name(t, number);

		if (*name && !fnmatch(choice->pattern, name, 0))
			*hash_at(&t->thread_chosen, number) = 1;
	}
}

bool trace_has_chosen(const struct trace *t)
{
	return t->thread_chosen.used > 0;
}

bool trace_chooses(const struct trace *t, const struct thread_choice *choice, uint32_t number)
{
	if (choice->pattern)
		return hash_get(&t->thread_chosen, number) != 0;
	return !choice->number || choice->number == number;
}
