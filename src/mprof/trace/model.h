/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * model.h - guessing the events of a group of chunks (FORMAT.md 8.4).
 *
 * Programs do the same things again and again: what is handed out comes from a
 * known place with a known size, and what is given back is mostly the newest
 * block of its sort or the neighbour of the one before.  So an event is a
 * symbol, and a symbol is mostly the one that followed the last few the time
 * before.  The packer and the unpacker keep the same tables by calling the same
 * functions in the same order; a wrong guess costs bytes, not truth.
 *
 * A sort is a function with its arguments, a usable size and a stack.  Blocks
 * are numbered in the order of handing out; each sort's live ones are a list
 * from the newest to the oldest, and freed ones lie on piles by usable size.
 *
 * Threads: a struct model belongs to one thread.
 */
#ifndef MPROF_TRACE_MODEL_H
#define MPROF_TRACE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/encode.h>

#define MODEL_NONE UINT32_MAX

/* Symbols below SYMBOL_SORT; each SYMBOL_* of giving back is followed by its op. */
enum {
	SYMBOL_NEW = 1,	    /* handed out, of a new sort */
	SYMBOL_RAW = 2,	    /* a LONG or CONTROL word as it is, with a time */
	SYMBOL_STATE = 3,   /* a LOST, THREAD or TOUCHED word */
	SYMBOL_TAKES = 4,   /* what follows and hands out has this stack */
	SYMBOL_GIVES = 5,   /* what follows and gives back has this stack */
	SYMBOL_NULL = 8,    /* + op: nothing is given back */
	SYMBOL_FAR = 16,    /* + op: a block that is not known here */
	SYMBOL_NEXT = 24,   /* + op: handed out right behind the one given back last */
	SYMBOL_BEFORE = 32, /* + op: right before it */
	SYMBOL_JUMP = 40,   /* + op: as many blocks away from it as COLUMN_JUMP says */
	SYMBOL_SORT = 48,   /* + 8 * sort + op; op 0: handed out */
};

/* How something is given back: OP_TAKE is none. */
enum {
	OP_TAKE,
	OP_FREE,
	OP_DELETE,
	OP_REALLOC,
	OP_DELETE_SIZED,
	OP_ARRAY,
	OP_ARRAY_SIZED,
	OP_FREE_SIZED,
	OPS,
};

/* Which of a sort's live blocks is given back. */
enum { RANK_NEWEST, RANK_NEWER, RANK_OLDER, RANK_OLDEST, RANKS };

/* Columns of packing 2. */
enum {
	GROUP_SYMBOL,		     /* 0 to 2: as guessed from 5, 2, 1 symbols; 3: in NUMBER */
	GROUP_NUMBER,		     /* 4 bytes */
	GROUP_FN = GROUP_NUMBER + 4, /* of a new sort: function, + 32 end of a realloc */
	GROUP_STACK,		     /* varint; 0 the last sort's, 1 the next new one, id + 2 */
	GROUP_SIZE,		     /* varint */
	GROUP_USABLE,		     /* varint, zigzag: minus the expected one */
	GROUP_ARG,		     /* varint: value 3 */
	GROUP_RANK,		     /* 0: as the last one of this sort, else 1 + rank */
	GROUP_JUMP,		     /* 4 bytes, zigzag */
	GROUP_REF = GROUP_JUMP + 4,  /* enum predict_ref */
	GROUP_NEAR,		     /* 8 bytes, zigzag: REF_NONE, minus the last address */
	GROUP_FAR = GROUP_NEAR + 8,  /* 8 bytes, zigzag: SYMBOL_FAR, likewise */
	GROUP_HEAD = GROUP_FAR + 8,  /* varint: a word without its dt */
	GROUP_VALUE, /* varint, zigzag: values of a LONG, minus the last raw one's */
	GROUP_ID,    /* varint: of TAKES and GIVES */
	GROUP_GAP,   /* varint: events since the clock was put right */
	GROUP_MOVE,  /* varint: how; model_clock.h */
	GROUP_STALL, /* varint: events that it stands still */
	GROUP_RATE,  /* varints: how many rates; for each the class minus the last
		      * one's, and the rate minus the pace, zigzag, in units of
		      * CLOCK_RATE_UNIT */
	GROUP_EXACT, /* varint: ticks since the event before */
	GROUP_COLUMNS,
};

/* What the plain bytes of a group begin with; the columns' lengths follow. */
struct group_head {
	uint32_t records; /* symbols */
	uint32_t events;  /* those with a time */
	uint32_t blocks;  /* handed out */
	uint32_t sorts;
	uint32_t bits;	/* size of the tables of symbols: model_start */
	uint32_t error; /* ticks that a time may be wrong */
	uint32_t pace;	/* ticks an event, to begin with */
	uint32_t pad;
};

struct block {
	uint64_t addr;
	uint32_t sort;
	uint32_t newer, older; /* of its sort */
	uint32_t below;	       /* on its pile, when given back */
};

struct sort {
	uint64_t size, usable, arg; /* values 1, 2, 3 of a LONG record */
	uint32_t stack;
	uint32_t newest, oldest;
	uint32_t hole_newer, hole_older; /* neighbours of the one given back last */
	uint8_t fn, end;		 /* end: of a realloc */
	uint8_t rank;			 /* the last one */
};

#define MODEL_PILES    (1088u + 1024u)
#define MODEL_SIZES    1025u
#define MODEL_DEPTH    16u
#define MODEL_BITS_MIN 10u
#define MODEL_BITS_MAX 18u

struct model {
	struct block *block;
	struct sort *sort;
	uint32_t blocks, sorts, blocks_room, sorts_room;
	uint32_t pile[MODEL_PILES]; /* the top block + 1 */
	uint16_t usable_of[MODEL_SIZES];
	uint64_t addr, usable; /* the last block handed out */
	uint64_t given, carve; /* the last address given back; the end of the last fresh block */
	uint32_t given_block;  /* the last block given back */
	uint32_t stack, stack_max; /* of the last new sort; the greatest */
	uint64_t last;		   /* the last address of all */
	uint32_t history[5];	   /* the last symbols, the last one first */
	uint32_t *after[3];	   /* what followed the last 5, 2, 1 symbols */
	unsigned bits[3];	   /* of those tables */
	size_t after_room;
};

/* For a group of so many words. */
unsigned model_bits(size_t words);
/* Empties it and makes room; 0 or -ENOMEM.  The head's bits are in bounds. */
int model_start(struct model *m, const struct group_head *h);
void model_free(struct model *m);

/* ---- symbols ---- */

static inline size_t model_context(const struct model *m, unsigned order)
{
	const uint32_t *h = m->history;
	uint32_t mix = h[0];

	if (order == 0)
		mix = (((h[0] * 31 + h[1]) * 31 + h[2]) * 31 + h[3]) * 31 + h[4];
	else if (order == 1)
		mix = h[0] * 40503u + h[1];
	return (mix * 0x9e3779b1u) >> (32 - m->bits[order]);
}

static inline void model_symbol(struct model *m, const size_t *context, uint32_t symbol)
{
	m->after[0][context[0]] = symbol;
	m->after[1][context[1]] = symbol;
	m->after[2][context[2]] = symbol;
	__builtin_memmove(m->history + 1, m->history, 4 * sizeof(*m->history));
	m->history[0] = symbol;
}

/* ---- addresses ---- */

static inline unsigned model_pile(uint64_t usable)
{
	if (usable < 8 * 1088u)
		return (unsigned)(usable >> 3);
	return 1088u + (unsigned)((usable * 0x9e3779b97f4a7c15ull) >> 54);
}

static inline uint64_t model_expect(const struct model *m, uint64_t size)
{
	return size <= 8 * (MODEL_SIZES - 1) ? m->usable_of[(size + 7) >> 3] : size;
}

/* Names of addresses: below MODEL_DEPTH the depth in the pile of its usable size. */
enum { NAME_GIVEN = 16, NAME_BEHIND, NAME_NEXT, NAME_SPLIT, NAME_NONE = 255 };

unsigned model_name(const struct model *m, uint64_t addr, uint64_t usable);

/* 0 when nothing has this name. */
static inline uint64_t model_address(const struct model *m, unsigned name, uint64_t usable)
{
	uint32_t i = m->pile[model_pile(usable)];

	switch (name) {
	case NAME_GIVEN:
		return m->given;
	case NAME_BEHIND:
		return m->addr + m->usable + 8;
	case NAME_NEXT:
		return m->addr + m->usable;
	case NAME_SPLIT:
		return m->carve;
	}
	while (i && name--)
		i = m->block[i - 1].below;
	return i ? m->block[i - 1].addr : 0;
}

/* ---- blocks ---- */

/* A block of this sort was handed out, under this name. */
static inline void model_took(struct model *m, uint32_t sort, unsigned name, uint64_t addr)
{
	struct sort *s = &m->sort[sort];
	uint32_t number = m->blocks++, *link = &m->pile[model_pile(s->usable)];
	struct block *b = &m->block[number];

	if (name < MODEL_DEPTH) {
		while (*link && name--)
			link = &m->block[*link - 1].below;
		if (*link)
			*link = m->block[*link - 1].below;
	} else {
		m->carve = addr + s->usable + 8;
	}
	if (s->size <= 8 * (MODEL_SIZES - 1) && s->usable < 65536)
		m->usable_of[(s->size + 7) >> 3] = (uint16_t)s->usable;
	*b = (struct block){ .addr = addr, .sort = sort, .newer = MODEL_NONE, .older = s->newest };
	if (s->newest != MODEL_NONE)
		m->block[s->newest].newer = number;
	else
		s->oldest = number;
	s->newest = number;
	m->addr = m->last = addr;
	m->usable = s->usable;
}

/* A live block was given back. */
static inline void model_gave(struct model *m, uint32_t number)
{
	struct block *b = &m->block[number];
	struct sort *s = &m->sort[b->sort];
	uint32_t *top = &m->pile[model_pile(s->usable)];

	s->hole_newer = b->newer;
	s->hole_older = b->older;
	if (b->newer != MODEL_NONE)
		m->block[b->newer].older = b->older;
	else
		s->newest = b->older;
	if (b->older != MODEL_NONE)
		m->block[b->older].newer = b->newer;
	else
		s->oldest = b->newer;
	b->sort = MODEL_NONE;
	b->below = *top;
	*top = number + 1;
	m->given = b->addr;
	m->given_block = number;
}

/* The block of a sort at this rank, or MODEL_NONE. */
static inline uint32_t model_ranked(const struct sort *s, unsigned rank)
{
	switch (rank) {
	case RANK_NEWEST:
		return s->newest;
	case RANK_NEWER:
		return s->hole_newer;
	case RANK_OLDER:
		return s->hole_older;
	case RANK_OLDEST:
		return s->oldest;
	default:
		return MODEL_NONE;
	}
}

/* The short word of a sort's events, 0 when they have only a LONG one. */
unsigned model_take_tag(const struct sort *s);

/* How an op is written: a tag, or for LONG a function that is told the size or not. */
struct model_op {
	uint8_t tag, fn, sized;
};
extern const struct model_op model_ops[OPS];

#endif
