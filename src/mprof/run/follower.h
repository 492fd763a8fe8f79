/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * follower.h - another mprof that compresses the trace of a run while the run goes on:
 * `mprof compress --follow`.
 *
 * It is a process of its own, so that it cannot harm the run: if it fails, the trace is compressed
 * at the end, and if we are killed, it goes on until the run has ended.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../trace/append.h"

/* Where it finds its orders, and puts its result, if this variable is set. */
#define FOLLOWER_VARIABLE "MPROF_FOLLOWED"
#define FOLLOWER_ORDERS	  3
#define FOLLOWER_RESULT	  4

/* One byte; the end of the pipe means that nobody orders any more. */
enum follower_order { FOLLOWER_FINISH = 'f', FOLLOWER_LEAVE = 'l' };

struct follower {
	uint64_t at;		/* bytes of the trace at which it starts; 0 = never */
	const char *const *how; /* further options for it, up to NULL */
	bool tried, knows_disk;
	int pid; /* 0 = it does not run */
	int orders, result;
};

/* Starts it if it is time.  Threads: one that starts it, before another one ends it. */
void follower_look(struct follower *f, const struct append *file, const char *path);
/* Has it finish the trace, and fills in its result.  False if it does not run, or died. */
bool follower_finish(struct follower *f, void *result, size_t bytes);
/* Has it leave the trace as it is. */
void follower_leave(struct follower *f);
