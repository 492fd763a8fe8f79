/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * lineage.h - where in the file the stacks are that this process may refer to: its own, and those
 * of the processes that it was forked from.
 *
 * A summary reads only these parts, as the file of a server with thousands of processes is large.
 * All is in memory that a forked child inherits.  At exec it is lost, as the stacks are.
 */
#pragma once

#include <mprof/format.h>
#include <stdint.h>

#define MP_ANCESTORS 63u /* at most this many nested forks that defined stacks */
#define MP_PARTS     512u

/* A forked child may refer to the stacks of an image of its parent up to number `most`. */
struct mp_ancestor {
	uint32_t process, image, most;
};

/* A part of the file with stack records. */
struct mp_part {
	uint64_t offset, seq;
	uint32_t bytes, process;
	uint16_t image;
};

struct mp_lineage {
	uint32_t ancestors, parts; /* parts is above MP_PARTS if there were too many */
	struct mp_ancestor ancestor[MP_ANCESTORS]; /* the parent last */
	struct mp_part part[MP_PARTS];
};

const struct mp_lineage *mp_lineage(void);
/* Called in a forked child; process 0: the parent is unknown, and nothing is inherited. */
void mp_lineage_forked(struct mp_ancestor parent);
/* Called with stream_lock held, or while the process has one thread. */
void mp_lineage_part(const struct mprof_extent *x);
