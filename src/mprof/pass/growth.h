/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * growth.h - the pass that finds blocks grown step by step, where that happens,
 * and what reserving enough at once would save.
 *
 * A chain is one block for its owner: from the first call that made it
 * larger until it is freed or its process ends.  A step is
 *  - a realloc that made the block larger, or
 *  - a copy, as std::vector and string do it: a call from the same place
 *    returns a larger block (at most 4 times as large, plus 64 bytes), and the
 *    next event of this thread frees the smaller one. The same place: the
 *    innermost frame and its caller are the same.  Copies alone are a chain from
 *    GROWTH_COPIES steps on that at least doubled it; fewer may be chance.  And
 *    a place that replaces blocks by others of any size, as a cache does, makes
 *    such chains by chance: there, the last block of a chain, too, is freed
 *    directly after its replacement was allocated, which is not larger.  A site
 *    that only copies, and half of whose chains end so, does not count.
 * A chain belongs to the stack of its first step, with all its steps.  Short chains with
 * realloc that follow each other there, each begun after the one before had ended and larger than
 * that, are one block to the program, which replaces it at each step, as Fortran's a = [a, x]
 * does.  They count as one chain from GROWTH_RUN of them on; fewer may be chance.
 *
 * Copied: the old size at every step that moved the block, unless realloc is
 * known to have moved pages (heap_moved_pages): an upper bound.
 *
 * Advice.  Chains of a site are put into classes by powers of two of their
 * greatest size.  reserve is the greatest size in the smallest class for which
 * nine tenths of the site's steps belong to chains of it or smaller ones; saved
 * are the steps and copies of those chains.  Steps of larger chains are not counted as
 * saved, so that the figures are lower bounds.  spare is the mean number of
 * bytes that those chains would leave unused.
 */
#pragma once

#include "../util/hash.h"
#include "array.h"
#include "walk.h"

#define GROWTH_COPIES 4u
#define GROWTH_RUN    8u
#define GROWTH_TIMES  4u
#define GROWTH_MORE   64u

struct growth_class {
	uint64_t chains, steps, copied;
	uint64_t greatest, sum; /* of the chains' greatest sizes */
	unsigned bits;		/* their logarithm */
};

struct growth_site {
	uint32_t stack; /* node of stacks.h, 0 if unknown */
	uint64_t chains, steps, moved, copied;
	uint64_t copies;   /* how many of the steps were copies */
	uint64_t replaced; /* chains whose last block was replaced, by one that was not larger */
	uint64_t longest;  /* most steps of one chain */
	uint64_t first;	   /* least size with which a chain began */
	uint64_t greatest;
	uint64_t reserve, saved_steps, saved_copied, spare;
	uint32_t merged; /* sites that growth_merged() joined to it */
	/* Chains that follow each other: how many, when the last one ended, sizes of the last
	 * ones. */
	uint64_t run, run_ended, run_size[GROWTH_RUN];
	struct growth_class *class; /* those with chains, the smallest first; few have many */
	size_t classes, class_room;
};

struct growth_chain {
	uint64_t copied, first, greatest;
	uint32_t began; /* turns at that time; of an unused one, see below */
	uint32_t steps, moved, copies, stack;
};

/*
 * A chain of fewer than GROWTH_COPIES copies.  Most arise by chance, when a program frees one block
 * after it allocated another.  They are as random as block sizes, so they are counted without a
 * branch.
 */
struct growth_few {
	uint64_t sum;	/* bytes copied | stack << 32 */
	uint64_t start; /* copies | first size << 4 | turns << 32; 0 = no chain */
};
#define GROWTH_FEW	16384u	   /* most numbers */
#define GROWTH_FEW_SIZE (1u << 28) /* larger blocks have a struct growth_chain at once */

/* Open chains of a process, by number of the block. */
struct growth_open {
	struct large chain; /* uint32_t: chain + 1; 0 = none */
	/* By number + 1, for numbers from 1 to few_most; [0] stays zero, [1] is not read.  Only
	 * as many as a cache holds: a greater number has a struct growth_chain at once. */
	struct growth_few *few;
	uint32_t few_most;
};

/* Are two stacks the same place?  As asked last. */
struct growth_pair {
	uint64_t stacks, same;
};
#define GROWTH_PAIR_BITS 8u

struct growth {
	struct walk *walk;	  /* if its input has no stacks, whole stacks are compared */
	struct growth_site *site; /* after finish: most saved_copied first, then saved_steps */
	size_t sites;
	uint64_t chains, steps, copies, copied; /* sums of all sites */
	/* ---- the pass's own ---- */
	size_t site_room;
	struct hash index;  /* by stack: site + 1 */
	struct array open;  /* struct growth_open by process */
	struct large chain; /* struct growth_chain */
	struct array last;  /* by thread: its latest event, if it allocated a block */
	struct growth_pair *pair;
	uint32_t turns;	 /* short chains with realloc that ended */
	uint32_t unused; /* the chain that ended last + 1; `began` leads to the one before it */
	uint32_t chains_made;
};

extern const struct pass_ops growth_pass;

/* ---- for the loops of growth.c and analysis.c ---- */

/* The last event of a thread, if it allocated. */
struct growth_handed {
	uint64_t size;
	uint32_t stack, process, number;
	bool valid;
};

struct growth_handed *growth_last(struct growth *g, uint32_t thread);
/* Returns the chains of a process.  Valid until the next call. */
struct growth_open *growth_open(struct growth *g, uint32_t process);

static inline bool growth_has_chain(const struct growth_open *p, uint32_t number)
{
	const uint32_t *at = large_known(&p->chain, number, sizeof(*at));

	return at && *at;
}

/* Prefetches what growth_has_chain() asks for, and once that is in the cache, the chain.  Both take
 * any number: nothing reads at an address outside of the arrays. */
PREFETCHES growth_prefetch(const struct growth_open *p, uint32_t number)
{
	__builtin_prefetch((const void *)((uintptr_t)p->chain.item + number * sizeof(uint32_t)), 1);
}

PREFETCHES growth_prefetch_chain(const struct growth *g, const struct growth_open *p,
				 uint32_t number)
{
	const uint32_t *at = large_known(&p->chain, number, sizeof(*at));

	if (at)
		__builtin_prefetch((const void *)((uintptr_t)g->chain.item +
						  (*at - 1ul) * sizeof(struct growth_chain)),
				   1);
}

/* Judging by sizes alone, may the block have been copied to one allocated just before its end?
 * Without a branch. */
static inline bool growth_may_copy(uint64_t old_size, uint64_t new_size)
{
	return (new_size > old_size) & (new_size <= GROWTH_TIMES * old_size + GROWTH_MORE) &
	       (old_size != 0);
}

/* What growth asks about a block; passed by value, in registers. */
struct growth_block {
	uint64_t size;
	uint32_t stack, number;
};

/* Call this at the end of a realloc of `old`. */
void growth_resized(struct growth *g, struct growth_open *p, const struct event *e,
		    const struct block *old, uint32_t number);
/* `old` was freed: the general case, and that of a block whose size allows that it was copied to
 * `last`. */
void growth_freed_any(struct growth *g, struct growth_open *p, struct growth_block last,
		      struct growth_block old);
void growth_freed_near(struct growth *g, struct growth_open *p, struct growth_block last,
		       struct growth_block old);

/* Ends a chain of few copies if there is one, without a branch. */
ALWAYS_INLINE void growth_drop_few(struct growth_open *p, uint32_t number)
{
	bool has;

	if (number - 1 >= p->few_most)
		return;
	has = p->few[number + 1].start != 0;
	p->few[1 + (number & -(uint32_t)has)] = (struct growth_few){ .start = 0 };
}

/* Call this when `old` was freed.  last: the block that its thread's event just before returned;
 * without size if it returned none. */
ALWAYS_INLINE void growth_freed(struct growth *g, struct growth_open *p, struct growth_block last,
				struct growth_block old)
{
	if (growth_has_chain(p, old.number))
		growth_freed_any(g, p, last, old);
	else if (growth_may_copy(old.size, last.size))
		growth_freed_near(g, p, last, old);
	else
		growth_drop_few(p, old.number);
}

static inline struct growth_handed growth_handed(const struct event *e, uint32_t process,
						 unsigned did)
{
	return (struct growth_handed){
		.valid = did & NOTE_BEGAN && e->kind == EVENT_CALL,
		.size = e->size,
		.stack = e->stack,
		.number = e->block,
		.process = process,
	};
}

/* Returns sites whose stacks have the same key as one, with sums and advice, in the order of
 * growth.site, without classes; omits those with key 0.  An array of *n, which the caller frees. */
struct growth_site *growth_merged(const struct growth *g,
				  uint32_t (*key)(void *context, uint32_t stack), void *context,
				  size_t *n);

/* Was the block that is now freed, with old_size bytes from old_site, copied to the one just
 * allocated, as in the second kind of step above?  If s is NULL, compares whole stacks. */
bool growth_is_copy(const struct stacks *s, uint64_t old_size, uint32_t old_site, uint64_t new_size,
		    uint32_t new_site);
