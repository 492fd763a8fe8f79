/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * sampler.h - samples the memory of the processes of a run from outside.
 *
 * A thread of mprof waits for the run's file to appear.  During the run it reads from /proc the
 * memory use of every RUNNING process of the file's table, and now and then which of its pages are
 * resident.  None of this runs in the program.  The thread uses less than about 3 % of one CPU; of
 * several processes, 5 %.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../trace/append.h"
#include "../util/error.h"

struct sampler;
struct follower;

enum sampler_what {
	SAMPLER_KILLS,	/* only whether the kernel kills for lack of memory */
	SAMPLER_SHARES, /* for profiles: and the most in huge pages, and of all processes */
	SAMPLER_ALL,	/* for traces: and memory use over time, and pages */
};

/*
 * Starts the thread, which also opens the file, so that it can be restored if it is deleted.
 * Copies path and run_id.  reach: it examines the memory of each process that ends.  follower: it
 * starts this one in time; may be NULL.
 */
int sampler_start(struct sampler **out, const char *path, const uint8_t run_id[16],
		  enum sampler_what what, bool reach, struct follower *follower, struct error *err);

/*
 * Ends the thread and writes its buffered samples.  The caller gets the open file (fd -1 if none
 * appeared); frees s.
 */
void sampler_stop(struct sampler *s, struct append *file);
