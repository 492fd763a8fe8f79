/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * programs.h - the programs of a trace: a process runs one after another; exec ends a program with
 * its heap and threads and begins the next. An image is the part of a process between two execs,
 * numbered from 0.
 *
 * Calls are those of the malloc family, including failed ones. Ops are those that allocated or
 * freed a block of the program's own; a playback file has these.
 *
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../pass/walk.h"
#include "../trace/trace.h"
#include "../util/error.h"

#define PROGRAMS_ALL UINT32_MAX

struct trace_program {
	uint32_t number; /* of the process */
	uint32_t image;
	uint64_t calls;
	uint64_t ops, peak_bytes, peak_op;
	uint64_t first_ticks, last_ticks; /* of its events */
	uint64_t end_ticks;		  /* of the exec that ended it; UINT64_MAX: none */
	const char *exe;		  /* its base name; "": unknown */
	const struct trace_fact *fact;	  /* with its arguments; NULL: unknown */
};

/*
 * Those with calls, most calls first; the caller frees *out.  Walks the trace, which is
 * rewound before and after.  -EINVAL: no program.
 */
int programs_find(struct trace *t, struct trace_program **out, size_t *n, struct error *err);
/* False for a trace of one program, which need not be counted. */
bool programs_many(struct trace *t);
/*
 * The program for `process`: a number (the image with most calls), or 0 or PROGRAMS_ALL (the
 * first). -ESRCH: no program has this number.
 */
int programs_choose(const struct trace *t, const struct trace_program *list, size_t n,
		    uint32_t process, const struct trace_program **chosen, struct error *err);

/* Calls that a note stands for: a block that was still there makes a free of its own. */
static inline unsigned program_ops(const struct event *e, const struct note *n)
{
	unsigned dropped = (n->did & NOTE_DROPPED) != 0;

	if (e->kind == EVENT_REALLOC_END)
		return dropped + ((n->did & NOTE_BEGAN) ||
				  ((n->did & NOTE_ENDED) && !(n->did & NOTE_RESTORED)));
	return dropped + ((n->did & (NOTE_BEGAN | NOTE_ENDED)) != 0);
}
