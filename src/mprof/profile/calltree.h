/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * calltree.h - stacks merged into a tree of functions, or of lines: from the
 * outermost caller inward, from the allocating function outward, or from one
 * function in both directions.
 *
 * Inclusive figures are for a node and everything below it; exclusive ones are for stacks that end
 * there.  A site counts once in each node on its path.  A function that calls itself directly is
 * one node, not a chain.  Start-up code before main or a thread's function is omitted in trees of
 * profiles.  The figures are those of figures.def; the sum of sites' own peaks ("local") is an
 * upper bound.
 *
 * Without memory the program ends (util/alloc.h).  Threads: one at a time.  Lines must outlive the
 * tree.
 */
#pragma once

#include "../pass/interner.h"
#include "profile.h"

struct calltree_options {
	enum line_same same;		       /* what is merged */
	enum profile_value value[VALUE_COUNT]; /* the values that are kept; the first one sorts */
	size_t values;			       /* 0: only its shape is wanted */
};

struct calltree_node {
	const struct sym_line *line;	 /* NULL for the root */
	uint32_t parent, child, sibling; /* 0 = none; siblings by falling inclusive value */
	uint32_t key;
	uint64_t sites; /* that pass through it */
};

struct calltree {
	struct calltree_options options;
	struct line_interner lines;
	struct calltree_node *node; /* [0] is the root */
	uint64_t *figure;	    /* of each node: inclusive[values], exclusive[values] */
	size_t nodes, room;
	uint32_t *slot; /* open addressing by parent and key: nodes, 0 = empty */
	size_t slots;	/* a power of two, or 0 */
	/* The path that was added last, from its first line, and the node of each. */
	const struct sym_line **latest;
	uint32_t *latest_node;
	size_t latest_lines, latest_room, latest_node_room;
};

/* The lines for a stack that was not recorded, and for outer frames that were not kept. */
extern const struct sym_line calltree_no_stack, calltree_cut;

void calltree_init(struct calltree *t, const struct calltree_options *o);
/*
 * Adds a path: its lines from the root inward, or, backward, from the last to the first. own: the
 * last line allocates, so its node gets the exclusive values.  Returns that node, otherwise the
 * last one; 0 without lines.
 */
uint32_t calltree_add(struct calltree *t, const struct sym_line *const *line, size_t n,
		      bool backward, bool own, const uint64_t *value);
/* Frees what finds nodes: no path follows. */
void calltree_full(struct calltree *t);
/* Sorts, and adds up inclusive figures and sites; call it once, after the last path. */
void calltree_finish(struct calltree *t);
void calltree_release(struct calltree *t);

/* Returns the i-th value of the options. */
static inline uint64_t calltree_inclusive(const struct calltree *t, uint32_t node, size_t i)
{
	return t->figure[(size_t)node * 2 * t->options.values + i];
}
static inline uint64_t calltree_exclusive(const struct calltree *t, uint32_t node, size_t i)
{
	return t->figure[((size_t)node * 2 + 1) * t->options.values + i];
}

/* ---- from a profile ---- */

enum calltree_direction {
	CALLTREE_TOP_DOWN,
	CALLTREE_BOTTOM_UP,
	CALLTREE_CALLERS, /* of the function: from its first call on a path outward */
	CALLTREE_CALLEES, /* of the function: from its first call on a path inward */
};

/* function: a glob, for the last two kinds, matched with or without parameters. 0, or -ENOMEM
 * with err filled; release in both cases. */
void calltree_make(struct calltree *t, struct profile *p, const struct calltree_options *o,
		   enum calltree_direction direction, const char *function);

/* The path of a stack, or of site i of p, with the lines above inserted.  The caller frees the
 * array. */
struct calltree_path {
	const struct sym_line **line;
	size_t count, asked, inner, all; /* as in struct profile_path */
	size_t room;
};
void calltree_path_of_stack(struct calltree_path *to, struct profile *p, uint32_t stack);
void calltree_path_of(struct calltree_path *to, struct profile *p, size_t i);
