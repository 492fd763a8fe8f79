/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * outside.h - memory of a process that was not allocated through malloc.
 *
 *   memory   private writable anonymous pages that were in memory when most of
 *            them were, among the moments at which pages were looked at, without
 *            mprof's own; when nobody looked, the greatest RSS of the process
 *   mapped   of these, what calls of mmap, mremap that were seen had mapped;
 *            when nobody looked, what was mapped at most (without mappings that
 *            allow no access)
 *   unseen   memory - mapped - all that malloc can have needed for the live
 *            blocks at their peak, with their rounding and headers.  Memory that
 *            was freed stays with the allocator, so only what is more than half
 *            of the memory counts: else unseen is 0.  Not known of forked
 *            processes, which have pages of their parent's blocks.
 *   outside  mapped + unseen
 *
 * Told is the process with most outside, if that is at least OUTSIDE_LEAST and
 * a quarter of its memory.
 */
#ifndef MPROF_PROFILE_OUTSIDE_H
#define MPROF_PROFILE_OUTSIDE_H

#include "../pass/analysis.h"
#include "../pass/stack_uses.h"
#include "profile.h"

#define OUTSIDE_LEAST  (1u << 20)
#define OUTSIDE_UNSEEN (8u << 20) /* the least unseen that counts */

/* A runtime that maps memory itself: a row of mappers.def. */
struct mapper {
	const char *module, *library, *variable, *value, *whose, *remedy;
};
/* By the name of a module, as lines have it; NULL. */
const struct mapper *mapper_of_module(const char *module);
/* The rows, NULL behind the last one. */
const struct mapper *mapper_next(const struct mapper *m);

struct outside {
	uint32_t process; /* number of the run; 0: nothing to tell */
	bool looked;	  /* at pages */
	uint64_t ticks;	  /* then */
	uint64_t memory, outside, mapped, unseen;
	uint64_t globals; /* of `unseen`: of variables without initial value; 0 not known */
	uint64_t stacks;  /* of `unseen`: of threads; 0 not known */
	/* Who mapped most of `mapped`, how much that was, and the stack with most of it. */
	uint64_t by_who;
	uint32_t stack;
	struct profile_asked who; /* who.line NULL: not known */
	const struct mapper *mapper;
};

/* names: NULL without call stacks. */
void outside_find(struct outside *o, const struct analysis *a, const struct trace *t,
		  const struct stack_uses *stacks, struct profile *names);

#endif
