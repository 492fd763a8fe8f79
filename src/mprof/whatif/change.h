/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * change.h - what if: changes to the calls of a program before they are
 * compiled for playback (compile.h), by the function that asks.
 *
 *   drop     its blocks were never asked for
 *   pool     its blocks come out of chunks that the program asks for; a chunk
 *            is given back when all its blocks are dead.  Bump: blocks one
 *            after the other, room is not used again while any block of the chunk
 *            lives.  Free list: chunks of blocks of one size class, whose room is.
 *            Blocks larger than a quarter of a chunk stay as they are
 *   reserve  a block that is grown has its greatest size from the beginning,
 *            and the calls that resized it are gone: a chain of reallocs, or of
 *            new block, copy and free, as growth.h has it
 *   resize   its blocks are of another size
 *
 * A rule is of all blocks whose stack has a line of a function that matches, as
 * --function of a report does; or of those that a line of it asked for itself; or
 * of one stack, a row of a report's view.  A realloc counts by its own stack.  reserve takes
 * chains by the stack of a step, and comes before the others; of these, the
 * first one that matches changes a block.
 *
 * A pool's own work is not played: it is some nanoseconds a block.
 *
 *	c = change_new(&plan);
 *	if (change_needs_collect(c))	-- chains must be known beforehand
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
#define CHANGE_CHUNK	  65536u     /* bytes, unless another size is asked for */
#define CHANGE_CHUNK_MOST (1u << 30) /* bytes */

struct change_rule {
	enum change_kind kind;
	char *site;	/* as it was written: F, F:LINE or stack:N; the rule's own */
	char *function; /* F, a glob; the rule's own; NULL for a stack */
	uint32_t line;	/* 0: the function and all that it calls */
	uint32_t stack; /* node; 0: a function */
	uint64_t chunk; /* POOL */
	bool free_list; /* POOL */
	uint64_t size;	/* RESIZE: of each block, if factor is 0 */
	double factor;	/* RESIZE: times what was asked for */
	/* What it did, once applied: */
	uint64_t blocks; /* births that it changed; RESERVE: chains */
	uint64_t bytes;	 /* asked for by these */
	uint64_t chunks; /* POOL: asked for */
	/* POOL: births that did not fit, bytes of all, and of the largest. */
	uint64_t refused, refused_bytes, refused_most;
	uint64_t steps;	 /* RESERVE: calls that made a block larger or smaller, now gone */
	uint64_t copied; /* RESERVE: bytes of blocks that these moved: not copied any more */
};

/*
 * SITE, for POOL "SITE[,chunk=64k][,free-list]", for RESIZE "SITE=N" or
 * "SITE=xFACTOR".  SITE is "F", "F:LINE" or "stack:N".
 * 0, or -EINVAL with what would be right in *err; release in any case.
 */
int change_parse(struct change_rule *rule, enum change_kind kind, const char *text,
		 struct error *err);
void change_rule_release(struct change_rule *rule);
/* "drop", ... */
const char *change_kind_name(enum change_kind kind);

struct change_plan {
	struct change_rule *rule; /* they are counted in */
	size_t rules;		  /* at most CHANGE_RULES */
	/* Is the site's stack one of the rule's? */
	bool (*matches)(void *context, const struct change_rule *rule, uint32_t site);
	void *context;
	const struct stacks *stacks; /* of the sites; NULL: copies are found by whole stacks */
};

struct change;

struct change *change_new(const struct change_plan *plan);
bool change_needs_collect(const struct change *c);
struct compile_change change_collect(struct change *c);
struct compile_change change_apply(struct change *c);
void change_free(struct change *c);
