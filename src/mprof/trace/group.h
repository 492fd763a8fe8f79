/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * group.h - a group: up to a million events of all threads in the order of time, as
 * columns of bytes (FORMAT.md 8.3).
 *
 * This header has what writer and reader share. Only the numbers of sorts and
 * the live slots carry over from one group to the next.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "slots.h"
#include "sorts.h"

#define GROUP_EVENTS	  (1u << 20) /* events of a group that is full */
#define GROUP_EVENTS_MOST (1u << 22) /* a reader takes no more */
#define GROUP_PLAIN_MOST  (1u << 28) /* plain bytes of a frame */

enum group_column {
	/* What happened. */
	GROUP_KIND,		      /* of one lane after the other */
	GROUP_LANE,		      /* varints, for each: home, thread, kinds */
	GROUP_HOME,		      /* varints, for each: process, slots */
	GROUP_LIVE,		      /* for each: a bit for each slot */
	GROUP_TURN,		      /* varint: lane */
	GROUP_RUN,		      /* varint: its kinds in a row */
	GROUP_SORT,		      /* 4 bytes */
	GROUP_SLOT = GROUP_SORT + 4,  /* 4 bytes */
	GROUP_STACK = GROUP_SLOT + 4, /* varint */
	GROUP_OTHER,		      /* varints */
	GROUP_WHAT_COLUMNS,
	/* When. */
	GROUP_STEP = GROUP_WHAT_COLUMNS,
	GROUP_GAP, /* varints */
	GROUP_LOW,
	/* Where. */
	GROUP_NEAR,		    /* 4 bytes */
	GROUP_FAR = GROUP_NEAR + 4, /* varint */
	GROUP_COLUMNS,
};

/* The first column of each frame, and the end. */
static const uint8_t group_first[MPROF_GROUP_FRAMES + 1] = { GROUP_KIND, GROUP_STEP, GROUP_NEAR,
							     GROUP_COLUMNS };

/* How a block's sort is told. */
enum group_guess { GUESS_OF_TWO, GUESS_OF_ONE, GUESS_NONE, GUESSES };

/* How its address is coded: so deep in the pile of its usable size, or: */
enum group_name {
	NAME_PILE = 0,
	NAME_GIVEN = 8, /* the last one that this thread freed */
	NAME_BEHIND,	/* the last one that it received + its usable size + 8 */
	NAME_NEXT,	/* the same without 8 */
	NAME_CARVED,	/* after the last one that was not in a pile */
	NAME_NONE,
	NAMES,
};

/* How a block that ends is told. */
enum group_how {
	HOW_RECENT = 0, /* 0 to 7 births of this thread ago */
	HOW_NEAR = 8,	/* the block born 4 to 1 before, or 1 to 4 after, the one that ended last */
	HOW_BESIDE = 16, /* slots 3 to 1 before, or 1 to 3 behind that of the one that ended last */
	HOW_SLOT = 22,
	HOW_FAR,  /* not known: its address */
	HOW_NULL, /* none: address 0 */
	HOWS,
};

enum group_op {
	OP_FREE,
	OP_DELETE,
	OP_BEGIN,	 /* the first half of a realloc */
	OP_DELETE_SIZED, /* with the size of the block's sort */
	OP_DELETE_ARRAY,
	OP_DELETE_ARRAY_SIZED,
	OP_FREE_SIZED,
	OP_OTHER, /* function and arguments are in GROUP_OTHER */
	OPS,
};

enum group_kind {
	KIND_BIRTH = 0,			    /* + enum group_guess * NAMES + enum group_name */
	KIND_END = GUESSES * NAMES,	    /* + enum group_how * OPS + enum group_op */
	KIND_AGAIN = KIND_END + HOWS * OPS, /* the next block takes a slot that is live */
	KIND_TOUCHED,	 /* bytes touched of the block that ends next: GROUP_OTHER */
	KIND_FREE_STACK, /* the stack of this thread's frees from now on: GROUP_STACK */
	KIND_OTHER,	 /* a complete event in GROUP_OTHER and GROUP_STACK */
	KIND_OTHER_GONE, /* the same; a realloc failed and its block cannot be found any more */
	KINDS,
};
_Static_assert(KINDS <= 256, "one byte each");

/* Times: GROUP_STEP. */
#define STEP_LONG  192u /* from here on, the count of events is in GROUP_GAP */
#define STEP_EXACT 254u /* to exact ticks: after the last whole step, in GROUP_GAP */
#define STEP_FAR   255u /* many steps, or back: in GROUP_GAP */

struct op_of {
	uint8_t kind, fn;
	bool sized; /* its size is that of its sort, otherwise 0 */
};
extern const struct op_of group_ops[OPS];

/* ---- guesses of sorts ---- */

#define GROUP_GUESS_BITS 14

struct group_guesses {
	uint32_t after_two[1u << GROUP_GUESS_BITS];
	uint32_t group;
};

static inline void guesses_begin(struct group_guesses *g, uint32_t group)
{
	memset(g->after_two, 0, sizeof(g->after_two));
	g->group = group;
}

static inline uint32_t *guess_of_two(struct group_guesses *g, const struct last_sorts *last)
{
	return &g->after_two[(last->one * 0x9e37u + last->before) * 0x9e3779b1u >>
			     (32 - GROUP_GUESS_BITS)];
}

/* sorts, here and below: the table of them. */
static inline uint32_t guess_of_one(const struct group_guesses *g, const struct sort *sorts,
				    const struct last_sorts *last)
{
	const struct sort *one = &sorts[last->one];

	return one->next_group == g->group ? one->next : 0;
}

static inline void guess_learn(struct group_guesses *g, struct sort *sorts, struct last_sorts *last,
			       uint32_t *of_two, uint32_t sort)
{
	struct sort *one = &sorts[last->one];

	*of_two = sort;
	one->next = sort;
	one->next_group = g->group;
	last->before = last->one;
	last->one = sort;
}

/* ---- addresses ---- */

#define GROUP_PILES	 4096u
#define GROUP_PILE_DEPTH 8u

/* Freed addresses, the last one on top; DEPTH zeros are below them. */
struct pile {
	uint64_t *addr;
	uint32_t n, room;
};

/* Zeros at first; each group calls piles_begin(). */
struct piles {
	struct pile pile[GROUP_PILES];
};

/* pile: of the block's sort. */
static inline struct pile *pile_of(struct piles *p, const struct lane *l, uint32_t pile)
{
	return &p->pile[(pile + l->pile) & (GROUP_PILES - 1)];
}

/* Where it ends; at least DEPTH addresses or zeros are before it. */
static inline const uint64_t *pile_end(const struct pile *p)
{
	return p->addr + p->n;
}

static inline void piles_begin(struct piles *p)
{
	static uint64_t none[GROUP_PILE_DEPTH];

	for (unsigned i = 0; i < GROUP_PILES; i++) {
		p->pile[i].n = 0;
		if (!p->pile[i].room)
			p->pile[i].addr = none + GROUP_PILE_DEPTH;
	}
}

static inline void piles_free(struct piles *p)
{
	for (unsigned i = 0; i < GROUP_PILES; i++)
		if (p->pile[i].room)
			free(p->pile[i].addr - GROUP_PILE_DEPTH);
}

static __attribute__((noinline)) bool pile_grow(struct pile *p)
{
	uint32_t room = p->room ? 2 * p->room : 16;
	uint64_t *old = p->room ? p->addr - GROUP_PILE_DEPTH : NULL;
	uint64_t *bigger = realloc(old, (room + GROUP_PILE_DEPTH) * sizeof(*bigger));

	if (!bigger)
		return false;
	if (!old)
		memset(bigger, 0, GROUP_PILE_DEPTH * sizeof(*bigger));
	p->addr = bigger + GROUP_PILE_DEPTH;
	p->room = room;
	return true;
}

static inline bool pile_push(struct pile *p, uint64_t addr)
{
	if (__builtin_expect(p->n == p->room, 0) && !pile_grow(p))
		return false;
	p->addr[p->n++] = addr;
	return true;
}

/* addr is not 0, here and below. */
static inline bool pile_is_top(const struct pile *p, uint64_t addr)
{
	return pile_end(p)[-1] == addr;
}

/* A bit for each depth at which it is. */
static inline unsigned pile_find(const struct pile *p, uint64_t addr)
{
	typedef uint64_t two __attribute__((vector_size(16)));
	const uint64_t *from = pile_end(p) - GROUP_PILE_DEPTH;
	two differs = { 0 }, pair;

	/* The upper bit of pair | -pair is set unless pair is 0. */
#pragma GCC unroll 4
	for (unsigned i = 0; i < GROUP_PILE_DEPTH; i += 2) {
		memcpy(&pair, from + i, sizeof(pair));
		pair ^= addr;
		differs = differs << 2 | (pair | -pair) >> 63;
	}
	return ~(unsigned)(differs[0] << 1 | differs[1]) & ((1u << GROUP_PILE_DEPTH) - 1);
}

/* Removes the one at this depth, which exists. */
static inline uint64_t pile_pull(struct pile *p, unsigned depth)
{
	uint64_t *top = p->addr + --p->n, addr = top[-(int)depth];

	/* A loop of depth steps would end at a place that the processor cannot predict. */
	if (depth) {
#pragma GCC unroll 8
		for (int i = (int)GROUP_PILE_DEPTH - 1; i; i--)
			top[-i] = i <= (int)depth ? top[1 - i] : top[-i];
	}
	return addr;
}

/* Lane l has allocated a block of `usable` bytes. */
static inline void lane_handed(struct lane *l, unsigned name, uint64_t addr, uint64_t usable)
{
	if (name >= NAME_GIVEN)
		l->carve = addr + usable + 8;
	l->last = addr;
	l->usable = usable;
}

/* ---- writing ---- */

struct group_writer;

/* NULL without memory.  sorts stays the caller's. */
struct group_writer *group_writer_new(struct sorts *sorts);
void group_writer_free(struct group_writer *w);
/* Begins the next group.  bucket of 2^shift ticks; exact: keep all ticks. */
void group_begin(struct group_writer *w, unsigned shift, bool exact);
/* Events at these ticks, and those near them, keep their ticks: ascending, the caller's. */
void group_marks(struct group_writer *w, const uint64_t *mark, size_t n);
/* Adds up to GROUP_BATCH events.  0 or -ENOMEM. */
#define GROUP_BATCH 128u
int group_add(struct group_writer *w, const struct event *e, size_t n);
/*
 * Adds up to n events of a stream's next words, as long as these are short and come before the
 * limit, a key; only of the thread that the last event was of.  0 or -ENOMEM.
 */
struct group_added {
	size_t events;
	uint64_t calls; /* of these */
	uint64_t last_ticks;
};
struct stream;
int group_add_words(struct group_writer *w, struct stream *s, size_t n, uint64_t limit,
		    struct group_added *added);
/* Returns the bytes that they requested; until more events are added. */
uint64_t group_asked(const struct group_writer *w);
/* Events so far; and whether all reallocs have ended, so that it may end here. */
uint32_t group_events(const struct group_writer *w, bool *settled);
/* Ends it: fills head but for bytes of frames.  0 or -ENOMEM. */
int group_end(struct group_writer *w, struct mprof_group *head);
/* The i-th piece of a frame's plain bytes, until the next call; false behind the last one. */
struct group_frame {
	struct group_writer *writer;
	unsigned number;
};
bool group_piece(void *frame, size_t i, const void **data, size_t *bytes);
#define GROUP_PIECES (GROUP_WHAT_COLUMNS + 1) /* of a frame at most */
/* No more events of this process follow: its addresses can be dropped. */
void group_forget(struct group_writer *w, uint32_t process);
/* The same for all processes of which is_over() says so. */
void group_forget_where(struct group_writer *w,
			bool (*is_over)(const void *context, uint32_t process),
			const void *context);

/* ---- reading ---- */

struct group_reader;

/* NULL without memory.  sorts stays the caller's. */
struct group_reader *group_reader_new(struct sorts *sorts);
void group_reader_free(struct group_reader *r);
/* Continues with the event number `follows`, without knowledge of earlier ones; 1: as if nothing
 * had been read; 0: some earlier events cannot be read. */
void group_reader_rewind(struct group_reader *r, uint64_t follows);
/* Fills in the position within the current group, except for the group. */
void group_place(const struct group_reader *r, struct trace_place *place);
/* Before a group is opened: a block that lives in it, slot + 1 of which is its number, has this
 * address.  False without memory. */
bool group_set_address(struct group_reader *r, uint32_t process, uint32_t slot, uint64_t addr);
/* 0: unknown. */
uint64_t group_address(const struct group_reader *r, uint32_t process, uint32_t slot);
/*
 * Begins a group whose frames were unpacked; plain stays the caller's until the
 * end of the group. False if it is invalid.
 */
bool group_open(struct group_reader *r, const struct mprof_group *head, uint64_t first_ticks,
		uint8_t *const *plain);
/* The next events, in order; 0 at the end of the group or at an error in it. */
size_t group_read(struct group_reader *r, struct event *e, size_t n);
/*
 * Reads the group from its beginning, but only what allocations need, in a fraction of the time;
 * tells those of the events after number `after` up to `to` that allocated a block, without addr,
 * usable and block.  The group is over then.  False at an error in it.
 */
bool group_births(struct group_reader *r, uint64_t after, uint64_t to, trace_birth_fn *tell,
		  void *context);
/* Number of the first event. */
uint64_t group_first_event(const struct group_reader *r);
/* Skips the events of the group that have not been read, and returns their number. */
uint32_t group_left(const struct group_reader *r);
void group_skip(struct group_reader *r);
