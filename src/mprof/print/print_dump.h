/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * print_dump.h - the printer of single events: one line for each call, as text in
 * the order of LogFD's fields or as one JSON object.
 *
 *   text  TIME \t PROCESS/PID \t THREAD \t function \t arguments... \t result [\t ERRNO]
 *
 * TIME is in seconds since the run's start, to the nanosecond; addresses are
 * lower-case hexadecimal without 0x, sizes decimal.  The arguments are the
 * call's own in the order of its prototype, calloc's number of elements
 * first; new and delete show the alignment last, when they were given one.  A
 * realloc is printed when it returned.  With `marks`, further lines report threads, forks, execs
 * and losses.  With `numbers`, a line begins with the event's number, as reports name events: a
 * realloc has two, of which the second is shown, and events without a line are counted too.
 *
 * With `stacks`, a call's line ends with its stack's node, and lines before it define its new
 * nodes; with `files`, the loaded files come first (dump_stacks.h).
 *
 * Lines are formatted by our own code into a buffer: a trace has millions, and printf would be ten
 * times slower than reading them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../trace/trace.h"

struct dump_filter {
	uint32_t process; /* number; 0 = all */
	struct thread_choice thread;
	int32_t pid;		/* 0 = all */
	uint32_t functions;	/* one bit for each enum mprof_fn; 0 = all */
	int64_t from_ns, to_ns; /* since the run's start; `to` is excluded */
	bool marks;
	bool numbers;
	bool stacks; /* @NODE after each call, and definitions of nodes: dump_stacks.h */
	bool files;  /* print the loaded files first */
};

/*
 * Writes all events that pass the filter to out.  Stops early, without an error, when out fails:
 * the caller's last flush says so. 0; 1 with err if no call passed; -EINVAL if the trace does not
 * have the process or thread; -ENOMEM.
 */
int dump_print(struct trace *t, const struct dump_filter *filter, bool json, FILE *out,
	       struct error *err);
