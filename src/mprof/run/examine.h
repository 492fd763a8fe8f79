/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * examine.h - finds out which live blocks a process can still reach.
 *
 * Without memory it ends mprof, so it should run in a process of its own, or where that does no
 * harm.
 */
#pragma once

#include <sys/types.h>

#include "../trace/trace.h"
#include "../util/error.h"
#include "stopped.h"

struct examine {
	struct mprof_process_entry of; /* the process */
	uint64_t ticks;		       /* when it is examined */
	pid_t waiting;		       /* the thread that ends the process, and waits; 0: none */
	uint64_t exit_at;	       /* address of exit(), which it called; 0: it did not */
	uint64_t context_at;	       /* of the ucontext_t of a signal's handler; 0: of none */
	void (*alive)(void *context);  /* called now and then; may be NULL */
	/* Takes the payload of a REACH extent, which stays the caller's.  0 or -errno. */
	int (*found)(void *context, const struct examine *x, const void *payload, size_t bytes);
	/* Called when the waiting thread runs on and may end the process; may be NULL. */
	void (*examined)(void *context, const struct examine *x);
	void *context;
};

/*
 * Stops a process, reads the trace of that path, and examines the process.  Its other threads run
 * on when it has ended, or has not for a while: they should do no more than in a process that
 * nobody examines.  0, or -errno with one sentence in *err.
 */
int examine_process(const struct examine *x, const char *path, struct error *err);

/* The parts, for a process that runs on: stops it; then, with a trace that was opened meanwhile,
 * examines it.  stopped_end() follows. */
int examine_stop(const struct examine *x, struct stopped *s, struct error *err);
int examine_stopped(const struct examine *x, struct trace *t, const struct stopped *s,
		    struct error *err);
