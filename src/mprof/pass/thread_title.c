// SPDX-License-Identifier: LGPL-3.0-or-later
/* thread_title.c - how an answer names a thread. */
#include "thread_title.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../util/alloc.h"

#define TITLES_MOST 65536u

/* A line feed or tab in a name would look like another row or cell; what prints text shows all
 * other bytes that are not. */
struct text thread_title(const char *name, uint32_t number)
{
	struct text title;
	int n = snprintf(title.s, sizeof(title.s), *name ? "%" PRIu32 " (" : "%" PRIu32, number);

	if (!*name)
		return title;
	for (; *name; name++)
		n += snprintf(title.s + n, sizeof(title.s) - (size_t)n,
			      *name == '\n'   ? "\\n"
			      : *name == '\t' ? "\\t"
					      : "%c",
			      *name);
	snprintf(title.s + n, sizeof(title.s) - (size_t)n, ")");
	return title;
}

struct thread_titles thread_titles_make(const struct trace *t, const uint32_t *number, size_t n)
{
	struct thread_titles titles = { must_calloc(n + 1, sizeof(*titles.of)), n };

	for (size_t i = 0; i < n; i++) {
		const uint32_t one = number ? number[i] : (uint32_t)i + 1;

		titles.of[i] = must_strdup(thread_title(t ? trace_thread_name(t, one) : "", one).s);
	}
	return titles;
}

struct thread_titles thread_titles_of(const struct trace *t)
{
	uint32_t n = trace_header(t)->threads;

	for (n = n < TITLES_MOST ? n : TITLES_MOST; n && !*trace_thread_name(t, n);)
		n--;
	return thread_titles_make(t, NULL, n);
}

void thread_titles_release(struct thread_titles *titles)
{
	for (size_t i = 0; i < titles->count; i++)
		free(titles->of[i]);
	free(titles->of);
	*titles = (struct thread_titles){ .count = 0 };
}
