/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * outside.h - memory of a process that was not allocated through malloc.
 *
 *   memory   the largest number of private writable anonymous pages in memory at
 *            any time at which pages were read, without mprof's own; if they were
 *            never read, or as in a run of some milliseconds only while there were
 *            few, the greatest RSS of the process without files, and at least
 *            without the size of all objects, of which pages may be resident
 *   mapped   of these, memory mapped by recorded calls of mmap and mremap, unless an
 *            allocator that serves malloc made them; without such a reading, what was
 *            mapped (without mappings that allow no access), at most the memory
 *            without the blocks at their peak
 *   unseen   memory - mapped - the most that malloc can have needed for the live
 *            blocks at their peak, with rounding and headers.  If the parts of that
 *            memory were found (resident_parts.h), it is `other`.  Freed memory stays
 *            with the allocator, so unseen counts only if it is more than half of
 *            the memory, otherwise it is 0.  Unknown for forked processes, which
 *            have pages of their parent's blocks, and if earlier calls were
 *            dropped (--last).
 *   moved    the part of `unseen` by which recorded calls of brk and sbrk moved the break,
 *            if no allocator made them
 *   outside  mapped + unseen
 *
 * The process with most outside is reported, if that is at least OUTSIDE_LEAST
 * and a quarter of its memory, also of what blocks had in memory at their peak, at most the
 * greatest RSS.
 */
#pragma once

#include "../pass/analysis.h"
#include "../pass/stack_uses.h"
#include "profile.h"

#define OUTSIDE_LEAST  (1u << 20)
#define OUTSIDE_UNSEEN (8u << 20) /* the least unseen that counts */

/* A runtime that maps memory itself; a row of mappers.def. */
struct mapper {
	const char *module, *library, *variable, *value, *whose, *remedy;
};
/* Finds a mapper by the name of a module, as in lines; NULL if there is none. */
const struct mapper *mapper_of_module(const char *module);
/* Returns the runtime that mapped most, and at least as much as given; NULL if there is none. */
const struct mapper *mapper_of_sites(const struct sites *all, struct profile *names,
				     uint64_t least);
/* Returns the rows one by one, NULL after the last one. */
const struct mapper *mapper_next(const struct mapper *m);

/* A function of the program. */
struct outside_place {
	struct profile_asked asked; /* asked.line: with most of the bytes; NULL if unknown */
	bool many_lines;	    /* other lines of the function have some, too */
	bool mostly_line;	    /* the line has more than half */
	uint64_t bytes, line_bytes; /* of the function and of the line; the line's 0 if unknown */
};

struct outside {
	uint32_t process; /* number in the run; 0 without a finding */
	bool looked;	  /* pages were read */
	uint64_t ticks;	  /* the time of the look */
	uint64_t memory, outside, mapped, unseen, moved;
	bool at_least;		    /* `unseen` may be clearly more */
	uint64_t globals;	    /* part of `unseen` in variables; 0 if unknown */
	uint64_t stacks;	    /* part of `unseen` in stacks of threads; 0 if unknown */
	uint64_t by_who;	    /* the part of `mapped` that `mapper`, or else `who` mapped */
	struct outside_place who;   /* mapped most of it */
	struct outside_place mover; /* the same of most of `moved` */
	const struct mapper *mapper;
};

/* Finds the function that mapped more than half of what a single process had mapped of files and
 * shared memory, if they can explain what was resident of these; else asked.line is NULL. */
void outside_find_files(struct outside_place *place, const struct analysis *a,
			struct profile *names);
/* names: NULL without call stacks. */
void outside_find(struct outside *o, const struct analysis *a, const struct trace *t,
		  const struct stack_uses *stacks, struct profile *names);
