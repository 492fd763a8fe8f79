/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * course.h - how the memory of a profiled process changed over time: steps of
 * equal length, the unfinished last one, and the time without calls after it.
 *
 * While the process runs, the last steps may have been written at different times.
 */
#pragma once

#include "../trace/trace.h"

struct course_step {
	int64_t from_ns, to_ns, at_ns; /* since the start of the run; at: most bytes were live */
	uint64_t live_bytes, live_calls;
	uint64_t resident, mapped; /* bytes at the end; 0 if unknown */
	uint64_t calls, bytes;	   /* allocated in it */
	uint32_t stack; /* node of trace_stacks(t) that allocated then; 0 if none or unknown */
};
struct course {
	uint32_t process;
	uint64_t live_bytes, live_calls; /* at its end */
	size_t count;
	struct course_step step[MPROF_STEPS + 2];
};

/* Reads the course of the program with the highest peak, in this process or (0) in any. */
void course_read(struct course *c, const struct trace *t, uint32_t process);
