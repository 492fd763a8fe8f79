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

#include "array.h"
#include "walk.h"
#include "../trace/trace.h"
#include "../util/error.h"

#define PROGRAMS_ALL UINT32_MAX

struct trace_program {
	uint32_t number; /* of the process */
	uint32_t image;
	uint64_t calls;
	uint64_t ops, peak_bytes, peak_op;
	uint64_t first_ticks, last_ticks; /* of its first and last event */
	uint64_t end_ticks;		  /* of the exec that ended it; UINT64_MAX if none did */
	const char *exe;		  /* its base name; "" if unknown */
	const struct trace_fact *fact;	  /* with its arguments; NULL if unknown */
};

/* The pass that finds them, for a walk that is made anyway. */
struct programs {
	struct walk *walk;
	struct array process;	    /* struct trace_program by index of the heap: the present one */
	struct array done;	    /* struct trace_program */
	struct trace_program *list; /* those that made calls, most calls first: of `done` */
	size_t count;
};
extern const struct pass_ops programs_pass;
/* For a loop that takes events as the pass does: the present program of a process (an index of the
 * heap), valid until the next call or batch. */
struct trace_program *programs_of(struct programs *f, uint32_t process);

/*
 * Finds the programs that made calls, most calls first; the caller frees *out.  Walks the trace,
 * which is rewound before and after.  -EINVAL if there is no program.
 */
int programs_find(struct trace *t, struct trace_program **out, size_t *n, struct error *err);
/* False if the trace has one program, whose calls need not be counted. */
bool programs_many(struct trace *t);
/*
 * Returns the program for `process`: a number (the image with most calls), or 0 or PROGRAMS_ALL
 * (the first).  -ESRCH if no program has this number.
 */
int programs_choose(const struct trace *t, const struct trace_program *list, size_t n,
		    uint32_t process, const struct trace_program **chosen, struct error *err);
/* Both at once. */
int programs_pick(struct trace *t, uint32_t process, struct trace_program *picked,
		  struct error *err);

/* Counts the calls of a note: if an unfreed block was at the address, its free counts as one
 * more. */
static inline unsigned program_ops(const struct event *e, const struct note *n)
{
	unsigned dropped = (n->did & NOTE_DROPPED) != 0;

	if (e->kind == EVENT_REALLOC_END)
		return dropped + ((n->did & NOTE_BEGAN) ||
				  ((n->did & NOTE_ENDED) && !(n->did & NOTE_RESTORED)));
	return dropped + ((n->did & (NOTE_BEGAN | NOTE_ENDED)) != 0);
}
