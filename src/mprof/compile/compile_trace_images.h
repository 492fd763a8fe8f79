/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * compile_trace_images.h - which program a process runs at the moment.
 *
 * A process is one program after another: exec ends one, with its heap and its
 * threads, and begins the next.  An image is what lies between two execs,
 * numbered from 0 in its process.  Moments (pass/moments.h) say when.
 *
 * Numbers of processes come from the trace and are not believed: those beyond
 * HEAP_NUMBERS have image 0 for ever.  Threads: one at a time.
 */
#ifndef MPROF_COMPILE_COMPILE_TRACE_IMAGES_H
#define MPROF_COMPILE_COMPILE_TRACE_IMAGES_H

#include <stdint.h>

#include "../pass/moments.h"
#include "../trace/trace.h"

struct image_of {
	uint32_t image;
	uint32_t thread;	       /* that called last; 0: none did */
	uint32_t entry;		       /* of who counts: its entry + 1, 0 when a new image begins */
	const struct trace_fact *fact; /* of the image; NULL: not known */
};

struct images {
	struct moment *moment;
	size_t moments, next;
	struct image_of *of; /* by process number */
	size_t room;
};

/* 0 or -ENOMEM; released in both cases. */
int images_make(struct images *m, struct trace *t);
void images_release(struct images *m);
/* Never NULL, but valid only until the next call. */
struct image_of *images_of(struct images *m, uint32_t process);
/* The next moment before an event of this time, NULL: none; an exec has been noted already. */
const struct moment *images_step(struct images *m, uint64_t ticks);

static inline int images_due(const struct images *m, uint64_t ticks)
{
	return m->next < m->moments && m->moment[m->next].ticks < ticks;
}

#endif
