/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * examine.h - finds out which live blocks a process can still reach, and writes that to the run's
 * file.
 */
#pragma once

#include <sys/types.h>

#include "../trace/append.h"
#include "../util/error.h"

struct examine {
	struct append *file;
	const char *path;	       /* of the file */
	struct mprof_process_entry of; /* the process */
	pid_t waiting;		       /* the thread that ends the process, and waits */
	uint64_t exit_at;	       /* address of exit(), which it called; 0: it did not */
	uint64_t context_at;	       /* of the ucontext_t of a signal's handler; 0: of none */
	void (*alive)(void *context);  /* called now and then; may be NULL */
	/* Called when the waiting thread runs on and may end the process; may be NULL. */
	void (*examined)(void *context, const struct examine *x);
	void *context;
};

/*
 * Stops the process meanwhile.  Its other threads run on when it has ended, or has not for a while:
 * they should do no more than in a process that nobody examines.  0, or -errno with one sentence in
 * *err.  Without memory it ends mprof, so it should run in a process of its own.
 */
int examine_process(const struct examine *x, struct error *err);
