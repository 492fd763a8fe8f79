/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * sorts.h - properties that many events of a packed trace share: function, sizes, argument and
 * stack of an allocating call.
 *
 * Sorts are numbered from 1 over the whole file, and so are the stacks that occur in it.  They are
 * defined in separate extents (FORMAT.md 8.4), each before the first group that refers to it; a
 * reader reads all of them first.
 *
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../util/large.h"
#include "bytes.h"
#include "functions.h"
#include "trace.h"

#define SORTS_MAX	  (1u << 28)
#define SORTS_PILES_EXACT 1088u /* piles of usable sizes below 8704; larger ones share 1024 */

struct stack_map;

/* Does an event of this kind and function allocate a block, if its address is not 0? */
static inline bool sorts_is_birth(unsigned kind, unsigned fn)
{
	unsigned class = fn < MPROF_FN_MAX ? function_class[fn] : 0;

	return (class == MPROF_CLASS_ALLOC && kind == EVENT_CALL) ||
	       (class == MPROF_CLASS_REALLOC && kind == EVENT_REALLOC_END);
}

/* Does it free one, or begin to reallocate it? */
static inline bool sorts_is_end(unsigned kind, unsigned fn)
{
	return kind == EVENT_REALLOC_BEGIN ||
	       (kind == EVENT_CALL && fn < MPROF_FN_MAX && function_class[fn] == MPROF_CLASS_FREE);
}

/* Columns of definitions. */
enum sorts_column {
	SORTS_FN,
	SORTS_WHAT,    /* event_kind | factors << 4 */
	SORTS_STACK,   /* varint, zigzag: difference to the sort before */
	SORTS_SIZE,    /* varint */
	SORTS_SLACK,   /* varint, zigzag: usable - size */
	SORTS_ARG,     /* varint */
	SORTS_ERROR,   /* varint */
	SORTS_PROCESS, /* process of a stack; varint, zigzag: difference to the stack before */
	SORTS_IMAGE,   /* varint */
	SORTS_ID,      /* varint, zigzag: difference to the stack before */
	SORTS_COLUMNS,
};

struct sort {
	uint32_t size, slack, arg; /* slack: SORT_LARGE, or usable - size; see sort_sizes() */
	uint32_t stack;		   /* a node of trace_stacks() */
	/* Predict what follows it in one group: */
	uint32_t next, next_group;
	/* As in struct event: */
	uint16_t error;
	uint8_t kind; /* enum event_kind; in the table also UINT8_MAX, not defined */
	uint8_t fn;
	uint8_t control; /* 0 */
	uint8_t factors;
	uint16_t pile; /* of addresses with this usable size, see group.h */
} __attribute__((aligned(32)));
_Static_assert(sizeof(struct sort) == 32, "two in a cache line: a program may have millions");
_Static_assert(offsetof(struct sort, pile) - offsetof(struct sort, error) ==
		       offsetof(struct event, pad) - offsetof(struct event, error) &&
		   sizeof(struct event) - offsetof(struct event, error) == sizeof(uint64_t) &&
		   sizeof(struct sort) - offsetof(struct sort, error) == sizeof(uint64_t),
	       "sort_copy() copies them");

#define SORT_LARGE UINT32_MAX

struct sort_sizes {
	uint64_t size, usable, arg;
};

/* The first owner of a stack, and its node. */
struct sorts_stack {
	uint32_t process, image, id;
	uint32_t node;
};

struct sorts {
	struct sort *sort;	  /* [0] = unknown */
	size_t n, room;		  /* n includes [0] */
	struct sort_sizes *large; /* those that do not fit: sort.size is their place */
	size_t larges, larges_room;
	struct sorts_stack *stack; /* [0] = none */
	size_t stacks, stacks_room;
	/* Used by the writer: */
	uint64_t *table; /* upper half of the hash << 32 | number; 0 if empty */
	size_t table_room;
	uint32_t *number; /* numbers of stacks, by node; 0 if it has none yet */
	uint32_t *owner;  /* by node: place of its first owner's number in all maps, + 1 */
	size_t nodes;
	const struct stack_map *map; /* of all processes */
	size_t maps;
	size_t told, stacks_told; /* how many are in an extent already */
	struct byte_column column[SORTS_COLUMNS];
	uint32_t length[SORTS_COLUMNS];
};

static inline struct sort_sizes sort_sizes(const struct sorts *t, const struct sort *s)
{
	if (__builtin_expect(s->slack == SORT_LARGE, 0))
		return t->large[s->size];
	return (struct sort_sizes){ s->size, (uint64_t)s->size + s->slack, s->arg };
}

/* Copies what sort and event have from `error` on. */
static inline void sort_copy(struct event *to, const struct sort *s)
{
	uint64_t all;

	memcpy(&all, &s->error, sizeof(all));
	all &= ~0ull >> 16; /* not the pile: little-endian, as the file is */
	memcpy(&to->error, &all, sizeof(all));
}

static inline uint64_t sort_hash(const struct event *e)
{
	uint64_t h = e->size ^ e->usable << 40 ^ (uint64_t)e->stack << 20;

	h = (h ^ e->arg << 3 ^ (uint64_t)e->fn << 50) * 0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}

static inline bool sort_is_of(const struct sorts *t, const struct sort *s, const struct event *e)
{
	const struct sort_sizes z = sort_sizes(t, s);
	uint64_t differ =
	    (z.size ^ e->size) | (z.usable ^ e->usable) | (z.arg ^ e->arg) | (s->stack ^ e->stack);
	uint32_t x, y;

	memcpy(&x, &s->error, sizeof(x));
	memcpy(&y, &e->error, sizeof(y));
	return !(differ | (x ^ y) | (s->factors ^ e->factors));
}

/* Returns 0 or -ENOMEM; nodes: number of nodes of the trace's tree. */
int sorts_start(struct sorts *s, size_t nodes);
void sorts_free(struct sorts *s);

/* For the writer, before a number is requested: makes room for one more.  0 or -ENOMEM. */
int sorts_ready(struct sorts *s);
PREFETCHES sorts_prefetch(const struct sorts *s, uint64_t hash)
{
	__builtin_prefetch(&s->table[hash & (s->table_room - 1)]);
}
/* For the writer: returns what is most likely the number of a sort with this hash, and prefetches
 * it. */
static inline uint32_t sorts_likely(const struct sorts *s, uint64_t hash, uint32_t node)
{
	uint32_t number = (uint32_t)s->table[hash & (s->table_room - 1)];

	if (number)
		__builtin_prefetch(&s->sort[number]);
	else if (s->number) /* it will be defined */
		__builtin_prefetch(&s->number[node < s->nodes ? node : 0]);
	return number;
}
/* For the writer: returns the number of an event's sort, defined if necessary; 0 without memory. */
uint32_t sorts_search(struct sorts *s, const struct event *e, uint64_t hash);
static inline uint32_t sorts_number(struct sorts *s, const struct event *e, uint64_t hash,
				    uint32_t likely)
{
	/* [0] has the kind of no event. */
	return sort_is_of(s, &s->sort[likely], e) ? likely : sorts_search(s, e, hash);
}
/* Returns the number of a node's stack, 0 for node 0; UINT32_MAX without memory. */
uint32_t sorts_stack(struct sorts *s, uint32_t node);
/* Finds the first owner of each stack; the maps remain the caller's, until the next call. nodes: at
 * least as many as before. */
void sorts_name_stacks(struct sorts *s, const struct stack_map *map, size_t maps, size_t nodes);
/* Fills the columns with everything defined since the last call.  0 or -ENOMEM. */
int sorts_tell(struct sorts *s, struct mprof_sorts *head);
/* Returns their plain bytes in pieces, see pack.h. */
bool sorts_piece(void *sorts, size_t i, const void **data, size_t *bytes);

/*
 * For the reader: takes the definitions of an extent. False if they are invalid.
 * Nodes are filled in by the caller afterwards, see struct sorts_stack.
 */
bool sorts_take(struct sorts *s, const struct mprof_sorts *head, const uint8_t *plain);
