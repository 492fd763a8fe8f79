/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * print_errors.h - heap errors that MODE=Guard found, as text: one entry for equal ones, with the
 * call stacks of the allocation, of the free, and of what found it.
 */
#pragma once

#include <stdio.h>

#include "../profile/profile.h"
#include "../trace/trace.h"

/* Errors of the same kind and stacks, on blocks of one size. */
struct error_group {
	const struct trace_misuse *u; /* the first one */
	size_t count;
};

struct errors {
	struct profile *p; /* names */
	struct error_group *group;
	size_t count;
	struct mprof_guarded sum;
	uint64_t unchecked; /* live when their process was killed, or now */
	bool guarded;	    /* the trace is one of MODE=Guard */
};

/* p: made, or profile_names(); must outlive e.  Never fails. */
void errors_find(struct errors *e, struct profile *p);
void errors_release(struct errors *e);
/* Returns "heap overrun: 3 bytes after the 24-byte block allocated by grow (mt.c:12)", which the
 * caller frees. */
char *errors_title(const struct errors *e, const struct trace_misuse *u);
/* Returns the word for JSON: "overrun". */
const char *errors_word(const struct mprof_misuse *m);
/* Returns the name for an enum mprof_fn: "malloc". */
const char *errors_function(unsigned fn);
/* most, depth: 0 = all. */
void errors_text(const struct errors *e, size_t most, unsigned depth, FILE *out);
/* Prints "Guard checked 1,234 blocks and found 2 errors.", and lines about those that were not
 * checked; before: the beginning of each line. */
void errors_summary(const struct errors *e, const char *before, FILE *out);
