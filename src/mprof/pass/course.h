/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * course.h - how the memory of a profiled process changed over time: steps of equal length,
 * and the one that was not over.
 *
 * While the process runs, the last steps may be of different moments.
 */
#ifndef MPROF_PASS_COURSE_H
#define MPROF_PASS_COURSE_H

#include "../trace/trace.h"

struct course_step {
	int64_t from_ns, to_ns, at_ns; /* since the start of the run; at: most lived */
	uint64_t live_bytes, live_calls;
	uint64_t resident, mapped; /* bytes at the end; 0: unknown */
	uint64_t calls, bytes;	   /* allocated in it */
	uint32_t stack; /* node of trace_stacks(t) that allocated then; 0: none or unknown */
};
struct course {
	uint32_t process;
	size_t count;
	struct course_step step[MPROF_STEPS + 1];
};

/* Of the program with the highest peak, of this process or (0) of any. */
void course_read(struct course *c, const struct trace *t, uint32_t process);

#endif
