/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * event_count.h - the number of events in a trace, by reading it once.
 */
#pragma once

#include <limits.h>
#include <stdint.h>

#include "../trace/trace.h"

/* Images whose malloc was not the library's. */
struct event_count_own {
	uint64_t count;
	char path[PATH_MAX]; /* of the first one */
};

struct event_count {
	uint64_t calls[MPROF_FN_MAX];
	uint64_t all;	  /* calls; a realloc is one */
	uint64_t lost;	  /* calls that are known to be missing */
	uint64_t ended;	  /* processes in which recording ended early */
	uint64_t damaged; /* parts of the file that are missing or invalid */
	uint64_t asked;	  /* bytes of all requests that were met, event_count_asked */
	uint64_t processes, threads;
	uint64_t bytes; /* of the file */
	struct event_count_own own;
};

/* The same of what was counted: by function, MPROF_FN_MAX of them. */
uint64_t event_count_asked(const struct mprof_counts_fn *fn);
void event_count_own(struct event_count_own *own, const struct trace_fact *f);

/*
 * For callers that read the events anyway: each batch of them, with an event_count that was zeroed.
 */
void event_count_events(void *event_count, const struct event *e, size_t n);
/* Then, once, with the trace; all but the file size. */
void event_count_finish(void *event_count, const struct trace *t);
/* 0, or -errno and *err as trace_open. */
int event_count_read(struct event_count *event_count, const char *path, struct error *err);
/* Only lost, ended and damaged, for a trace that has been read to its end. */
void event_count_losses(struct event_count *event_count, const struct trace *t);
