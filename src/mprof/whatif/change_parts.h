/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * change_parts.h - private to the files of whatif/.
 *
 * The compiler keeps a word of ours for each block (compile.h: tag): its treatment in the upper
 * four bits, its number below.
 */
#pragma once

#include "../util/hash.h"
#include "../pass/array.h"
#include "change.h"

enum change_fate {
	FATE_ITSELF, /* passed on unchanged; number of its birth */
	FATE_DROPPED,
	FATE_POOLED,  /* number of its chunk */
	FATE_CHAINED, /* number of its chain */
};

static inline uint64_t tag_of(enum change_fate fate, uint64_t number)
{
	return (uint64_t)fate << 60 | number;
}
static inline enum change_fate tag_fate(uint64_t tag)
{
	return (enum change_fate)(tag >> 60);
}
static inline uint64_t tag_number(uint64_t tag)
{
	return tag & (UINT64_MAX >> 4);
}

/* Makes `call` a free; makes it a malloc of `size` bytes. */
static inline struct compile_call free_call(const struct compile_call *call)
{
	return (struct compile_call){
		.ns = call->ns,
		.touched = call->touched,
		.thread = call->thread,
		.process = call->process,
		.fn = MPROF_FN_FREE,
		.has_touched = call->has_touched,
	};
}
static inline struct compile_call malloc_call(const struct compile_call *call, uint64_t size)
{
	return (struct compile_call){
		.ns = call->ns,
		.size = size,
		.thread = call->thread,
		.process = call->process,
		.site = call->site,
		.fn = MPROF_FN_MALLOC,
	};
}

/* ---- pools: change_pool.c ---- */

struct pool_chunk {
	uint32_t rule;
	uint32_t class; /* of a free list; 0 = bump */
	uint32_t live;
	uint32_t room;	       /* free list: blocks that fit; bump: bytes left */
	uint32_t next, before; /* numbers + 1 of chunks of the same class with space */
	uint32_t process;
	uint32_t block; /* the compiler's block */
};

struct pool {
	struct array open; /* uint32_t by class: first chunk with space + 1 */
};

struct pools {
	struct pool pool[CHANGE_RULES]; /* by rule */
	struct array chunk;		/* struct pool_chunk by number */
	struct array unused;		/* uint32_t: numbers */
	size_t unused_count;
};

/* Takes a block from the rule's pool; false if it is not changed.  Sets *tag, emits the calls
 * that this takes. */
bool pool_take(struct pools *p, struct change_rule *rule, uint32_t number,
	       const struct compile_call *call, uint64_t *tag, struct compile *to);
/* Frees a block of the chunk with this number. */
void pool_give(struct pools *p, const struct change_rule *rule, uint64_t chunk,
	       const struct compile_call *call, struct compile *to);
/* Would a block of this size have the same place in the same chunk? */
bool pool_fits(const struct pools *p, const struct change_rule *rule, uint32_t number,
	       uint64_t chunk, uint64_t size);
uint32_t pool_rule(const struct pools *p, uint64_t chunk);
void pools_release(struct pools *p);

/* ---- chains: change_chains.c ---- */

struct chain {
	uint64_t first, greatest; /* bytes */
	uint32_t reallocs, copies;
	uint32_t rule;
	uint32_t live;	/* the program's blocks that it is now */
	uint32_t block; /* the compiler's block */
};

/* The birth with this number is a chain's first block, or a copy. */
struct chain_link {
	uint64_t birth;
	uint32_t chain;
	bool root;
};

struct chains {
	struct array chain; /* struct chain */
	struct array link;  /* struct chain_link; in the order of births once collected */
	uint64_t births;    /* so far */
	/* Used while collecting: */
	int (*match)(void *context, uint32_t site); /* returns which RESERVE rule matches, or -1 */
	void *context;
	const struct stacks *stacks; /* of the sites, or NULL */
	struct array last;	     /* by thread: the last call */
	struct hash copied;	     /* birth of a block that was copied to -> its chain + 1 */
	/* Used while applying: */
	size_t next; /* index of a link */
};

void chains_collect(struct chains *c, const struct compile_call *call,
		    const struct compile_old *old, bool begins, uint64_t *tag);
/* Called between collecting and applying. */
void chains_sort(struct chains *c);
/* Applies the call; false if it does not belong to a chain. */
bool chains_apply(struct chains *c, struct change_rule *rule, const struct compile_call *call,
		  const struct compile_old *old, bool begins, uint64_t *tag, struct compile *to);
/* The program used this many bytes of a block with this tag, which it never freed. */
void chains_left(const struct chains *c, uint64_t tag, uint64_t bytes, struct compile *to);
void chains_release(struct chains *c);
