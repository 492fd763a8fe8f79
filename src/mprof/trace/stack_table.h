/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stack_table.h - the unique objects, frames and nodes of a run.
 *
 * Numbers are given in the order of first use, so a node's parent has a lower
 * one.  The tables from content to number are needed only while stacks are
 * read: stack_table_finish releases them.
 *
 * Threads: a struct stack_table belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stacks.h"

#define STACK_NONE UINT32_MAX /* no such number */

/* The outer end of a node's stack. */
enum stack_root { ROOT_WHOLE = 0, ROOT_TRUNCATED = 1, ROOT_LOST_WAY = 2 };

struct number_table {
	uint64_t *slot; /* hash << 32 | (number + 1); 0 if empty */
	size_t n, room; /* room: 0 or a power of two */
};

#define STACK_FAMILY   4u
#define STACK_CHILDREN 8u

struct stack_table {
	struct stack_object *object;
	size_t objects, objects_room;
	struct stack_frame *frame;
	size_t frames, frames_room;
	struct stack_node *node;
	size_t nodes, nodes_room; /* room: as many as families have, also of depths */
	uint32_t *depth;	  /* of each node: frames up to the root * 4 + enum stack_root */
	uint32_t marker[3];	  /* node by enum stack_root */
	size_t nodes_max;
	/*
	 * Children of each STACK_FAMILY nodes that follow each other: frame << 32 | number, in a
	 * cache line; by_node has further children.  New nodes of a stack have consecutive numbers,
	 * so most lookups hit a line that was just used.
	 */
	uint64_t (*children)[STACK_CHILDREN];
	size_t families;
	struct number_table by_object, by_frame, by_node;
};

/* nodes_max, at least the three roots, bounds the memory that a hostile file can request. */
void stack_table_start(struct stack_table *s, size_t nodes_max);
void stack_table_finish(struct stack_table *s);
void stack_table_free(struct stack_table *s);

/*
 * Returns the number of an object; a new one is copied with everything it points to. These
 * functions return STACK_NONE if no number is left.
 */
uint32_t stack_table_object(struct stack_table *s, const struct stack_object *o, size_t path_bytes);
uint32_t stack_table_frame(struct stack_table *s, uint32_t object, uint64_t address,
			   uint32_t flags);
uint32_t stack_table_node(struct stack_table *s, uint32_t parent, uint32_t frame);
/* Returns the node of n frames, the first one joined to the parent and each to the one before. */
uint32_t stack_table_path(struct stack_table *s, uint32_t parent, const uint32_t *frame,
			  uint32_t n);

static inline uint32_t stack_table_depth(const struct stack_table *s, uint32_t node)
{
	return s->depth[node] >> 2;
}
static inline enum stack_root stack_table_root(const struct stack_table *s, uint32_t node)
{
	return (enum stack_root)(s->depth[node] & 3);
}
/* Returns the node of the outermost `depth` frames of this one's stack; it has that many. */
uint32_t stack_table_outer(const struct stack_table *s, uint32_t node, uint32_t depth);
/* Returns a node with the same frames under another root; uses new numbers. */
uint32_t stack_table_reroot(struct stack_table *s, uint32_t node, enum stack_root root);
