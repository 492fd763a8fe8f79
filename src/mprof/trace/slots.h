/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * slots.h - the numbers of live blocks and the state of each thread while a
 * group of events is written or read (FORMAT.md 8.3).
 *
 * Each process numbers its live blocks: a block has a slot from the call that
 * returns it until it is freed. Writer and reader follow the same rules, so the
 * slot of a new block need not be stored. A group begins with only the live
 * slots, so it can be read without the groups before it.
 *
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytes.h"
#include "block_addresses.h"

#define SLOTS_MAX (1u << 28) /* slots of a process; a reader accepts no more */
#define SLOT_NONE UINT32_MAX

struct slot {
	union {
		uint64_t addr; /* 0 if unknown */
		uint32_t pile; /* of its sort; used by the writer */
	};
	uint32_t sort; /* 0 if unknown */
	union {
		uint32_t birth; /* see slots_birth(); 0 if unknown */
		uint32_t next;	/* of a free slot: the next free one + 1 */
	};
};
_Static_assert(sizeof(struct slot) == 16, "four in a cache line, and memory for each live block");

#define BIRTH_RUN 64u

/* Births are numbered from 1 over all groups.  A thread takes BIRTH_RUN numbers at a time: */
struct birth_run {
	uint32_t lane;
	uint32_t first; /* place of its first one in lane.born */
};

/* The birth of a block in this group. */
struct birth {
	uint32_t lane; /* LANE_NONE: it was in an earlier group, or is unknown */
	uint32_t born; /* its place in lane.born */
};
#define LANE_NONE UINT32_MAX

/* The slots of one process. */
struct home {
	uint32_t process;
	uint32_t group; /* the last group that it took part in */
	uint32_t index; /* index among the homes of that group */
	struct slot *slot;
	uint64_t *live, *old; /* a bit for each slot: now, and when the group began */
	uint32_t n, room;
	uint32_t old_n;	      /* slots that had been used when the group began */
	uint32_t cursor;      /* all slots below were live then, or have been used since */
	struct places places; /* used by the writer */
};

/* The sorts of the last two blocks that a thread allocated. */
struct last_sorts {
	uint32_t one, before;
};

/* A thread in the group. */
struct lane {
	struct home *home;
	uint32_t process, thread; /* in the order of struct event */
	uint32_t number;
	uint32_t pile;	  /* where its piles begin, see group.h */
	uint32_t free;	  /* slots of blocks that it allocated and that have ended: the first + 1 */
	uint32_t pending; /* slot + 1 of the block passed to its realloc */
	uint64_t moving;  /* address of that block; used by the writer */
	uint32_t *born;	  /* slots in the order of births, if slots.lists_births */
	uint32_t births, born_room;
	uint32_t birth;				     /* number of the next one */
	uint32_t freed_lane, freed_born, freed_slot; /* of the block that it freed last */
	struct last_sorts sorts;
	uint32_t free_stack;		     /* stack of its frees */
	uint64_t last, usable, carve, given; /* addresses, see group.h */
	struct byte_column kind;	     /* used by the writer */
	struct cursor kinds;		     /* used by the reader */
};

struct slots {
	struct home **home;
	size_t homes, homes_room;
	struct home **here; /* the homes of this group, in the order of first use */
	size_t here_n, here_room;
	struct lane **lane;
	size_t lanes, lanes_room; /* lanes in this group; lanes_made exist and are reused */
	size_t lanes_made;
	uint32_t *by_process, *by_thread; /* index + 1; open addressing */
	size_t by_process_room, by_thread_room;
	struct birth_run *run; /* of this group */
	size_t runs, runs_room;
	uint32_t first_birth; /* of its first run */
	uint32_t group;
	bool lists_births; /* set by the reader */
};

void slots_free(struct slots *s);
/* Begins a new group without lanes; homes keep only their live slots. */
void slots_begin(struct slots *s);
/* Return the home or lane of this group, created if necessary; NULL without memory. */
struct home *slots_home(struct slots *s, uint32_t process);
/* Returns the slots of a process, in this group or an earlier one; NULL if it has none. */
struct home *slots_known(const struct slots *s, uint32_t process);
struct lane *slots_lane(struct slots *s, uint32_t process, uint32_t thread);
/* Call this between groups, for a process without further events. */
void slots_forget(struct slots *s, uint32_t process);
void slots_forget_where(struct slots *s, bool (*is_over)(const void *context, uint32_t process),
			const void *context);
/* Grows to n slots, all free. False without memory. */
bool home_room(struct home *h, uint32_t n);
/* Returns the lowest slot that was free when the group began and has not been used since;
 * SLOT_NONE without memory. */
uint32_t home_fresh_any(struct home *h);
/* Takes numbers for the next births of a lane.  False without memory. */
bool lane_more(struct slots *s, struct lane *l);

static inline bool slot_is_live(const struct home *h, uint32_t slot)
{
	return slot < h->n && h->live[slot >> 6] >> (slot & 63) & 1;
}

/* The same.  While a heap grows, it is a new slot. */
static inline uint32_t home_fresh(struct home *h)
{
	if (h->cursor < h->n || h->cursor >= h->room)
		return home_fresh_any(h);
	h->n = h->cursor + 1;
	return h->cursor++;
}

/* Returns a slot for a block that thread l allocates; SLOT_NONE without memory. */
static inline uint32_t slots_take(struct lane *l)
{
	struct home *h = l->home;
	uint32_t slot;

	if (l->free) {
		slot = l->free - 1;
		l->free = h->slot[slot].next;
		__builtin_prefetch(&h->slot[l->free - (l->free != 0)], 1);
	} else {
		slot = home_fresh(h);
		if (slot == SLOT_NONE)
			return slot;
	}
	h->live[slot >> 6] |= 1ull << (slot & 63);
	return slot;
}

/* Begins the block in the slot, owned by thread l.  False without memory. */
static inline bool slots_born(struct slots *s, struct lane *l, uint32_t slot)
{
	l->home->slot[slot].birth = l->birth++;
	if (s->lists_births)
		l->born[l->births] = slot;
	return __builtin_expect(++l->births % BIRTH_RUN, 1) || lane_more(s, l);
}

/* Returns where a live block was allocated. */
static inline struct birth slots_birth(const struct slots *s, const struct slot *b)
{
	const uint32_t number = b->birth - s->first_birth;
	const struct birth_run *run = &s->run[number / BIRTH_RUN];

	if (number / BIRTH_RUN >= s->runs)
		return (struct birth){ .lane = LANE_NONE };
	if (s->lanes == 1) /* then its runs follow each other */
		return (struct birth){ 0, number };
	return (struct birth){ run->lane, run->first + number % BIRTH_RUN };
}

/* Ends the block; its slot is reused next by the thread that allocated it, otherwise by l. */
static inline void slots_give(const struct slots *s, struct lane *l, uint32_t slot,
			      struct birth birth)
{
	struct home *h = l->home;
	struct lane *owner = birth.lane != LANE_NONE ? s->lane[birth.lane] : l;

	h->slot[slot].next = owner->free;
	owner->free = slot + 1;
	h->live[slot >> 6] &= ~(1ull << (slot & 63));
}

/* Ends a realloc of thread l; or one begins, although the end of the last one was not seen. */
static inline void slots_settle(const struct slots *s, struct lane *l)
{
	if (l->pending) {
		slots_give(s, l, l->pending - 1, slots_birth(s, &l->home->slot[l->pending - 1]));
		l->pending = 0;
	}
}
