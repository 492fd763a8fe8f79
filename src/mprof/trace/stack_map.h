/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stack_map.h - from a process's numbers of stacks to nodes of the run's tree.
 *
 * One map for each image of a process.  Numbers that a forked child inherited
 * from its parent (up to `base`) are looked up there.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define STACK_UNDEFINED UINT32_MAX

struct trace;

struct stack_map {
	uint32_t process, image;
	uint32_t base;
	const struct stack_map *parent; /* of an earlier process, or NULL */
	uint32_t *node;			/* for numbers from base + 1 on; may be STACK_UNDEFINED */
	uint32_t nodes;
	uint64_t before; /* numbers of all maps before this one, once all are read */
};

/* Returns all maps, and how many there are. */
size_t stacks_maps(const struct trace *t, const struct stack_map **maps);
/* Returns the map of a process's image, or NULL. */
const struct stack_map *stack_map_find(const struct trace *t, uint32_t process, uint32_t image);

/* Returns the node of a stack; STACK_UNDEFINED if there is none.  m may be NULL. */
static inline uint32_t stack_map_node(const struct stack_map *m, uint32_t id)
{
	if (!id)
		return 0;
	while (m && id <= m->base)
		m = m->parent;
	return m && id - m->base - 1 < m->nodes ? m->node[id - m->base - 1] : STACK_UNDEFINED;
}
