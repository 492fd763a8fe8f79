// SPDX-License-Identifier: LGPL-3.0-or-later
/* thread_names.c - the names that a program gave its threads: FORMAT.md, STACK_USE. */
#include "reader.h"

#include <string.h>

#include "../util/hash.h"

void thread_names_find(struct trace *t)
{
	/* After an exec, the main thread has another record, whose name is newer. */
	for (size_t i = 0; i < t->uses; i++) {
		const char *name = t->use[i].u->name;

		if (*name && memchr(name, 0, MPROF_THREAD_NAME))
			*hash_at(&t->thread_name, trace_thread(t, t->use[i].thread)) =
			    (uintptr_t)name;
	}
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
