/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * predict.h - guessing the addresses of a chunk's events (FORMAT.md 8.3).
 *
 * Allocators hand out again what was given back a moment ago, so an address
 * can mostly be named by where it stands in a short list instead of by its
 * bits.  The packer and the unpacker keep the same lists by calling the same
 * functions in the same order; nothing in here depends on which of them calls.
 *
 * Blocks that live have a place: the number that was freed last, or a new one.
 * Blocks given back lie on a pile for their usable size, the last on top.
 * Two usable sizes may share a pile: a wrong guess costs bytes, not truth.
 */
#ifndef MPROF_TRACE_PREDICT_H
#define MPROF_TRACE_PREDICT_H

#include <stdint.h>

#define PREDICT_WORDS_MAX (1u << 17) /* words of the longest chunk it can serve */
#define PREDICT_DEPTH	  16u	     /* how deep into a pile an address is looked for */

/* How an allocation names its address; below PREDICT_DEPTH: depth in its pile. */
enum predict_ref {
	REF_GIVEN = 16,	 /* the address that was given back last */
	REF_BEHIND = 17, /* behind the last block and a header of eight bytes */
	REF_NEXT = 18,	 /* right behind the last block */
	REF_SPLIT = 19,	 /* behind the last block that no pile had, and its header */
	REF_NONE = 255,
};

#define PILES_DIRECT  1088u /* usable sizes below 8704, one for each 8 bytes */
#define PILES	      (PILES_DIRECT + 1024u)
#define USABLE_GROUPS 1025u

struct place {
	uint64_t addr, usable;
};

struct pile_item {
	uint64_t addr;
	uint32_t below;
};

struct predict {
	uint64_t addr;	 /* the last block handed out: the state of encode.h */
	uint64_t usable; /* its usable size */
	uint64_t given;	 /* the last address given back */
	uint64_t carve;	 /* end of the last block that no pile had */
	uint32_t places, free_places, items;
	uint16_t usable_of[USABLE_GROUPS]; /* by size rounded up to 8: as seen last */
	uint32_t pile[PILES];		   /* index of the top item + 1 */
	struct place place[PREDICT_WORDS_MAX];
	uint32_t free_place[PREDICT_WORDS_MAX];
	struct pile_item item[PREDICT_WORDS_MAX];
};

void predict_start(struct predict *p);

/* Usable bytes that a block of `size` (below 8192) is expected to have. */
static inline uint64_t predict_usable(const struct predict *p, uint64_t size)
{
	return p->usable_of[(size + 7) >> 3];
}

static inline unsigned pile_of(uint64_t usable)
{
	if (usable < 8 * PILES_DIRECT)
		return (unsigned)(usable >> 3);
	return PILES_DIRECT + (unsigned)((usable * 0x9e3779b97f4a7c15ull) >> 54);
}

/* How addr can be named, for a block with this usable size. */
unsigned predict_find(const struct predict *p, uint64_t addr, uint64_t usable);

/* The address named by ref; 0 when there is none (the chunk is bad). */
static inline uint64_t predict_address(const struct predict *p, unsigned ref, uint64_t usable)
{
	uint32_t i = p->pile[pile_of(usable)];

	switch (ref) {
	case REF_GIVEN:
		return p->given;
	case REF_BEHIND:
		return p->addr + p->usable + 8;
	case REF_NEXT:
		return p->addr + p->usable;
	case REF_SPLIT:
		return p->carve;
	}
	while (i && ref--)
		i = p->item[i - 1].below;
	return i ? p->item[i - 1].addr : 0;
}

static inline void pile_remove(struct predict *p, unsigned pile, unsigned depth)
{
	uint32_t *link = &p->pile[pile];

	while (*link && depth--)
		link = &p->item[*link - 1].below;
	if (*link)
		*link = p->item[*link - 1].below;
}

/* A block was handed out under this name; returns its place. */
static inline uint32_t predict_took(struct predict *p, unsigned ref, uint64_t addr, uint64_t size,
				    uint64_t usable)
{
	uint32_t place;

	if (ref < PREDICT_DEPTH)
		pile_remove(p, pile_of(usable), ref);
	else
		p->carve = addr + usable + 8;
	if (size < 8 * (USABLE_GROUPS - 1) && usable < 65536)
		p->usable_of[(size + 7) >> 3] = (uint16_t)usable;
	p->addr = addr;
	p->usable = usable;
	place = p->free_places ? p->free_place[--p->free_places] : p->places++;
	p->place[place] = (struct place){ addr, usable };
	return place;
}

/* The block in a place was given back. */
static inline void predict_gave(struct predict *p, uint32_t place)
{
	struct place *b = &p->place[place];
	uint32_t *top = &p->pile[pile_of(b->usable)];

	p->item[p->items] = (struct pile_item){ b->addr, *top };
	*top = ++p->items;
	p->given = b->addr;
	p->free_place[p->free_places++] = place;
}

/* A block that has no place was given back. */
static inline void predict_gave_unknown(struct predict *p, uint64_t addr)
{
	p->given = addr;
}

#endif
