/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * change.h - what if: changes to the calls of a program before they are compiled for playback
 * (compile.h), by call site.
 *
 *   drop     its blocks are not requested
 *   pool     its blocks come from chunks that the program requests; a chunk is freed when all its
 *            blocks are.  Bump: blocks follow each other, and space is not reused while a block of
 *            the chunk is live.  Free list: chunks of blocks of one size class, whose space is
 *            reused.  Blocks larger than a quarter of a chunk are not changed
 *   reserve  a block that grows has its final size from the beginning, without the calls that
 *            resized it: a chain of reallocs, or of new block, copy and free (growth.h)
 *   resize   its blocks have another size
 *
 * A rule applies to all blocks whose stack contains a matching function, as --function of a report;
 * or to those that one line of it requested directly; or to one stack, a row of a view. For a
 * realloc, its own stack counts. reserve selects chains by the stack of a step and is applied
 * first; of the others, the first that matches changes a block.
 *
 * The work of a pool itself, a few nanoseconds per block, is not played.
 *
 *	c = change_new(&plan);
 *	if (change_needs_collect(c))	-- chains must be known first
 *		compile with change_collect(c), throw the result away
 *	compile with change_apply(c)
 *	change_free(c);
 *
 * Both compilations must be of the same input with the same options.
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../trace/stacks.h"
#include "../util/error.h"
#include "../compile/compile.h"

enum change_kind { CHANGE_DROP, CHANGE_POOL, CHANGE_RESERVE, CHANGE_RESIZE, CHANGE_KINDS };

#define CHANGE_RULES	  64u
#define CHANGE_CHUNK	  65536u     /* bytes, by default */
#define CHANGE_CHUNK_MOST (1u << 30) /* bytes */

struct change_rule {
	enum change_kind kind;
	char *site;	/* as given: F, F:LINE or stack:N; owned by the rule */
	char *function; /* F, a glob; owned by the rule; NULL for a stack */
	uint32_t line;	/* 0 = the function and all its callees */
	uint32_t stack; /* a node; 0 = a function */
	uint64_t chunk; /* POOL */
	bool free_list; /* POOL */
	uint64_t size;	/* RESIZE: size of each block, if factor is 0 */
	double factor;	/* RESIZE: times the requested size */
	/* Counts its effect once it is applied: */
	uint64_t blocks; /* allocations that it changed; RESERVE: chains */
	uint64_t bytes;	 /* bytes that these requested */
	uint64_t chunks; /* POOL: chunks that were requested */
	/* POOL: allocations that did not fit: number, bytes, largest. */
	uint64_t refused, refused_bytes, refused_most;
	uint64_t steps;	 /* RESERVE: calls that resized a block and were dropped */
	uint64_t copied; /* RESERVE: bytes that these no longer copy */
};

/*
 * Parses SITE; for POOL "SITE[,chunk=64k][,free-list]", for RESIZE "SITE=N" or "SITE=xFACTOR".
 * SITE is "F", "F:LINE" or "stack:N". 0, or -EINVAL with what was expected in *err; release in any
 * case.
 */
int change_parse(struct change_rule *rule, enum change_kind kind, const char *text,
		 struct error *err);
void change_rule_release(struct change_rule *rule);
/* Returns "drop", ... */
const char *change_kind_name(enum change_kind kind);

struct change_plan {
	struct change_rule *rule; /* rules, in which effects are counted */
	size_t rules;		  /* at most CHANGE_RULES */
	/* Does the rule apply to this site? */
	bool (*matches)(void *context, const struct change_rule *rule, uint32_t site);
	void *context;
	const struct stacks *stacks; /* of the sites; NULL = copies are found by whole stacks */
};

struct change;

struct change *change_new(const struct change_plan *plan);
bool change_needs_collect(const struct change *c);
struct compile_change change_collect(struct change *c);
struct compile_change change_apply(struct change *c);
void change_free(struct change *c);
