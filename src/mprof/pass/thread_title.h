/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* thread_title.h - how an answer names a thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../trace/trace.h"
#include "../util/format.h"

/* Returns "3 (io-worker)", or "3" for a thread without a name, "". */
struct text thread_title(const char *name, uint32_t number);

/* The titles of threads that a film refers to by index.  A zeroed struct has none. */
struct thread_titles {
	char **of;
	size_t count;
};

/*
 * Makes the titles of n threads; number: by index, NULL = index + 1.  t: has their names, NULL:
 * they have none.  The caller releases them.
 */
struct thread_titles thread_titles_make(const struct trace *t, const uint32_t *number, size_t n);
/* The same for all threads of a trace, by number - 1, up to the last one with a name.  Few: a
 * damaged trace may claim any number of threads. */
struct thread_titles thread_titles_of(const struct trace *t);
void thread_titles_release(struct thread_titles *titles);
