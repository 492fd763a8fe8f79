/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * event_count.h - the number of events in a trace, by reading it once.
 */
#pragma once

#include <limits.h>
#include <stdint.h>

#include "../trace/trace.h"

/* Images and objects that use another malloc than the library's. */
struct event_count_own {
	uint64_t count;
	char path[PATH_MAX];   /* of the first one */
	char object[PATH_MAX]; /* the first object that was loaded past the library, or "" */
	bool objects;	       /* another one was, too */
	bool denied;	       /* programs ran as a user who may not open the run's file */
	/* Other programs that are not in the trace, and of the first one: its path, "" if unknown,
	 * whether its environment did not preload the library, and whether that or the run's file
	 * was out of its reach. */
	uint64_t missing;
	bool environment, apart;
	uint32_t how; /* enum mprof_exec_how, or 0 */
	char missing_path[PATH_MAX];
	char remark[512]; /* the first one that a process wrote, or "" */
};

struct event_count {
	uint64_t all;	  /* calls; a realloc is one */
	uint64_t lost;	  /* calls that are known to be missing */
	uint64_t ended;	  /* processes in which recording ended early */
	uint64_t damaged; /* parts of the file that are missing or invalid */
	uint64_t asked;	  /* bytes of all successful requests, event_count_asked() */
	uint64_t processes, threads;
	bool dropped;	/* earlier calls were dropped (--last) */
	uint64_t bytes; /* size of the file */
	struct event_count_own own;
};

/* The same sum for counts by function, MPROF_FN_MAX of them. */
uint64_t event_count_asked(const struct mprof_counts_fn *fn);
/* From the facts of a trace; own was zeroed. */
void event_count_own(struct event_count_own *own, const struct trace *t);

/*
 * For callers that read the events anyway: call it for each batch, with an event_count that was
 * zeroed.
 */
void event_count_events(void *event_count, const struct event *e, size_t n);
/* Call it once afterwards, with the trace; fills all but the file size. */
void event_count_finish(void *event_count, const struct trace *t);
/* Returns 0, or -errno with *err as trace_open does. */
int event_count_read(struct event_count *event_count, const char *path, struct error *err);
/* Fills only lost, ended and damaged, for a trace that has been read to its end. */
void event_count_losses(struct event_count *event_count, const struct trace *t);
