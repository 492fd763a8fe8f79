/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * resident_parts.h - the pass that finds the composition of the resident memory
 * of a process at the times when its pages were sampled, and whose blocks are on it.
 *
 * Each resident private page belongs to one part, by the first that applies:
 *
 *   a live block has a byte on it      live, rounding, gaps: its requested bytes; what the
 *                                      allocator added to them (at most the rest of the
 *                                      pages); and the remainder of the pages
 *   the program mapped it directly     mapped
 *   it is in 2 MiB (aligned) in which  retained: the allocator keeps it without a block
 *   a block has begun, or of a larger
 *   block that ended
 *   none of these                      other: stacks, variables, mprof's own memory
 *
 * `files` is the remainder of the resident size: code, files, shared memory.
 * The kernel's counters lag by some pages, so a small value may read 0.  The
 * parts add up to the resident size, or to the private pages if these are more.
 *
 * Gaps are not only what was freed: `aligned` says how much of them the alignment of live blocks
 * can have left, and `ended` is the most that was ever freed.
 *
 * A sample costs time for each live block.  Unless `every` is set, parts and shares are therefore
 * found only where freed memory may be at least RESIDENT_FREED and half of the private pages, and
 * shares only where more of it was resident than in all earlier samples of the process.  In the
 * sample of each process with most private pages, only what is in memory of large live blocks
 * counts for this choice.  The second pass finds no shares, and the parts of this one sample.
 *
 * All figures are bytes. Blocks and pages inherited by fork count as other.
 */
#pragma once

#include "../heap/heap.h"
#include "../util/hash.h"
#include "resident_shares.h"

#define RESIDENT_FREED (8u << 20)

struct tree_process;

struct resident_parts_sample {
	uint32_t process; /* number in the run */
	bool found;	  /* otherwise all figures but rss are 0 */
	uint64_t ticks;
	uint64_t rss;
	uint64_t live, rounding, gaps, mapped, retained, other, files;
	uint64_t
	    ended; /* of blocks that ended until then, with the allocator's additions; at most */
	uint64_t aligned_blocks; /* live ones from posix_memalign and similar functions */
	uint64_t aligned; /* the sum of their alignments, as their addresses show, up to a page */
	uint64_t aligned_most; /* the same, up to 2 MiB */
};

#define RESIDENT_AREA_SHIFT 21u	  /* 2 MiB */
#define RESIDENT_PAGE	    4096u /* divides every page size */
#define RESIDENT_HEADER	    16u	  /* the most bytes that an allocator keeps beside a block */

/* Where blocks of a process are or were, without those that were mappings of their own. */
#define RESIDENT_AREAS_RECENT 64u
struct resident_areas {
	struct hash area;			/* 2 MiB in which blocks began, by number: 1 */
	uint64_t recent[RESIDENT_AREAS_RECENT]; /* by the low bits of the key: key + 1 */
	struct map_set large;			/* blocks of more than 2 MiB that ended */
	uint64_t ended;				/* as in the samples */
	bool c_library;				/* as below */
	uint64_t freed; /* the most that resident_freed() returned for a sample */
};

struct resident_parts {
	struct walk *walk;
	bool every;	     /* set before the walk: find the parts of every sample */
	bool largest;	     /* set by the second pass */
	struct array sample; /* struct resident_parts_sample, in the order of time */
	struct resident_shares shares;
	/* ---- the pass's own ---- */
	bool used;	      /* there are samples whose parts may be found */
	bool c_library;	      /* its allocator serves every program */
	struct array process; /* struct resident_areas by process */
	struct hash most;     /* by number of a process: 1 + the index of its largest sample */
};

extern const struct pass_ops resident_parts_pass, resident_largest_pass;

/* Returns the part of `other` that is mprof's, at most.  p: the process of the sample, or NULL. */
uint64_t resident_own(const struct resident_parts_sample *s, const struct tree_process *p);

/* Returns the freed bytes of a sample. */
static inline uint64_t resident_freed(const struct resident_parts_sample *s)
{
	return s->gaps + s->retained;
}

/* Was most of the heap freed? */
static inline bool resident_is_freed(const struct resident_parts_sample *s)
{
	const uint64_t freed = resident_freed(s);

	return freed >= RESIDENT_FREED && freed >= s->live + s->rounding && freed >= s->rss / 4;
}

/* ---- for loops that pass no notes ---- */

/* Returns NULL if no event of the walk counts.  Valid until the next process begins. */
static inline struct resident_areas *resident_areas_of(struct resident_parts *all, uint32_t process)
{
	struct resident_areas *a = NULL;

	if (all->used) {
		a = array_at(&all->process, process, sizeof(*a));
		a->c_library = all->c_library;
	}
	return a;
}

/* The same of a block that is not where others began lately, or ends elsewhere. */
void resident_began_apart(struct resident_areas *a, const struct event *e);
void resident_ended_large(struct resident_areas *a, const struct block *old);

/*
 * A block began.  For a huge block that is mostly not in memory, its ends suffice.  A mapping of
 * its own leaves nothing behind, and the program may map something else there.
 */
ALWAYS_INLINE void resident_began(struct resident_areas *a, const struct event *e)
{
	const uint64_t first = e->addr >> RESIDENT_AREA_SHIFT;
	const uint64_t last = (e->addr + e->size - (e->size != 0)) >> RESIDENT_AREA_SHIFT;

	if (__builtin_expect(last != first || a->recent[first % RESIDENT_AREAS_RECENT] != first + 1,
			     0))
		resident_began_apart(a, e);
}

ALWAYS_INLINE void resident_ended(struct resident_areas *a, const struct block *old)
{
	const uint64_t usable = old->size + old->slack;

	a->ended += usable + RESIDENT_HEADER;
	/* In a smaller block, each byte is in the area of an end. */
	if (__builtin_expect(usable > 1u << RESIDENT_AREA_SHIFT, 0))
		resident_ended_large(a, BLOCK_APART(old));
}
