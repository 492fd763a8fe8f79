/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* print_times.h - the time in the allocator, in words and as JSON. */
#pragma once

#include <stdio.h>

#include "../pass/alloc_times.h"
#include "../pass/analysis.h"
#include "json.h"

/* Is the estimate known, and worth a sentence: 50 ms and 1 % of the CPU time, or more, and
 * certainly not 0? */
bool times_are_told(const struct alloc_times *t);
void times_sentence(const struct alloc_times *t, FILE *out);
/* If t->high.  TIME_COMMAND: the command, without the file. */
void time_finding_sentence(const struct alloc_times *t, FILE *out);
#define TIME_COMMAND "mprof compare "

/* Add the fields of objects of src/mprof/json/times.def. */
void allocator_time_fields(json *to, const struct alloc_times *t);
void time_finding_fields(json *to, const struct analysis *a, const struct alloc_times *t);
