/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * tally.h - how many events a trace holds, by reading it once.
 */
#ifndef MPROF_CMD_TALLY_H
#define MPROF_CMD_TALLY_H

#include <limits.h>
#include <stdint.h>

#include "../trace/trace.h"

/* Images whose malloc was not the library's. */
struct tally_own {
	uint64_t count;
	char path[PATH_MAX]; /* of the first one */
};

struct tally {
	uint64_t calls[MPROF_FN_MAX];
	uint64_t all;	  /* calls; a realloc is one */
	uint64_t lost;	  /* calls that are known to be missing */
	uint64_t ended;	  /* processes in which recording ended early */
	uint64_t damaged; /* parts of the file that are missing or make no sense */
	uint64_t asked;	  /* bytes of all requests that were met, tally_asked */
	uint64_t processes, threads;
	uint64_t bytes; /* of the file */
	struct tally_own own;
};

/* The same of what was counted: by function, MPROF_FN_MAX of them. */
uint64_t tally_asked(const struct mprof_counts_fn *fn);
void tally_own(struct tally_own *own, const struct trace_fact *f);

/* For who reads the events anyway: each batch of them, with a tally that was zero at first. */
void tally_events(void *tally, const struct event *e, size_t n);
/* Then, once, with the trace but for the size of the file. */
void tally_finish(void *tally, const struct trace *t);
/* 0, or -errno and *err as trace_open. */
int tally_read(struct tally *tally, const char *path, struct error *err);
/* Only lost, ended and damaged, of a trace that has been read to its end. */
void tally_losses(struct tally *tally, const struct trace *t);

#endif
