/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * moment.h - the pages under the blocks that were live at one moment, added up as the blocks end.
 *
 * It is known only later which moment will matter: a peak moves with nearly every call of a growing
 * program.  So moments are numbered, and a new one invalidates the sums for the one before.  A
 * block that ends was live at the moment if it began no later; blocks that outlive the walk end
 * with it.
 *
 * Threads: one at a time.
 */
#pragma once

#include "../heap/heap.h"
#include "../util/hash.h"

struct moment {
	uint64_t ticks, event;		      /* its last event */
	const struct trace_residency *within; /* count only pages that were resident; may be NULL */
	uint64_t pages;			      /* under blocks that have ended */
	/* Pages that blocks cover only in part, and may share: */
	struct moment_region *region;
	size_t regions, room, last; /* last: the current region */
	struct hash places;	    /* of a process and 512 pages: index of region + 1 */
	uint32_t number;	    /* of moments so far */
};

/* Begins a moment that is later than any before. */
static inline void moment_begin(struct moment *m, uint64_t ticks, uint64_t event)
{
	m->ticks = ticks;
	m->event = event;
	m->pages = 0;
	m->number++;
}

void moment_add(struct moment *m, unsigned shift, uint32_t process, const struct block *b);

/* Adds an own block that ended, of the process with this index; pages have 2^shift bytes. */
static inline void moment_ended(struct moment *m, unsigned shift, uint32_t process,
				const struct block *b)
{
	if (m->number && block_began_by(b, m->ticks, m->event))
		moment_add(m, shift, process, b);
}

/* Adds all blocks of a process. */
void moment_gone(struct moment *m, const struct heap *h, uint32_t process);
