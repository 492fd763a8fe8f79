/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stack_pack.h - packing 1: stack records of consecutive chunks as one piece
 * (FORMAT.md 8.5). Unpacking returns exactly the words that were packed.
 *
 * Addresses are numbered by first use; most can be predicted from the recent
 * callees of the frame before.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytes.h"

/* Columns of packing 1. */
enum {
	STACKS_RECORD, /* enum stacks_record */
	STACKS_ID,     /* varint, for a STACK whose id is not the last one + 1 */
	STACKS_FLAGS,  /* of such a STACK */
	STACKS_JOINED, /* varint: 0 = none, else the stack's number minus the joined one's, zigzag +
			  1 */
	STACKS_DEPTH,  /* varint, zigzag: frames of the joined one (0 if unknown) minus the depth */
	STACKS_FRAMES, /* varint */
	STACKS_HIT,    /* a frame: 0 to 2 as guessed, 3 in NUMBER, 4 a new address */
	STACKS_NUMBER, /* 3 bytes */
	STACKS_ADDRESS = STACKS_NUMBER + 3, /* varint, zigzag: minus the last new one */
	STACKS_WORDS,			    /* varint: words of another record */
	STACKS_WORD,			    /* those, 8 bytes each */
	STACKS_COLUMNS,
};

enum stacks_record { STACKS_NEXT, STACKS_OTHER, STACKS_RAW };

struct stacks_head {
	uint32_t records;
	uint32_t stacks; /* how many of them are STACK */
	uint32_t frames;
	uint32_t addresses; /* number of different addresses */
	uint32_t first;	    /* number of the first stack */
	uint32_t pad;
};

/* A STACK of the piece; its index is its number minus the first one's. */
struct packed_stack {
	uint32_t own; /* depth + 1 of its own first frame, 0 if missing */
	uint32_t joined, at, n;
};

/* The state of both sides; everything is by number, 0 is not a frame. */
struct stacks_model {
	struct packed_stack *stack;
	uint32_t stacks;      /* size of stack[] */
	uint32_t *frame;      /* numbers of the addresses, in order */
	uint32_t (*after)[3]; /* what followed this address, the last one first */
	uint64_t *address;
	uint32_t frames, addresses;
	uint32_t first, id; /* numbers of the first and the last stack */
	uint64_t last;	    /* the last new address */
};

int stacks_model_start(struct stacks_model *m, const struct stacks_head *h);
void stacks_model_free(struct stacks_model *m);

/* Returns the stack with this number, or NULL. */
static inline struct packed_stack *stacks_model_get(const struct stacks_model *m, uint32_t id)
{
	uint32_t i = id - m->first;

	return i < m->stacks && m->stack[i].own ? &m->stack[i] : NULL;
}

/* Predicts the caller of the first new frame of a stack; 0 if unknown. */
uint32_t stacks_model_caller(const struct stacks_model *m, uint32_t joined, uint32_t depth);
/* Notes that frame `to` was called from frame `from`. */
static inline void stacks_model_learn(struct stacks_model *m, uint32_t from, uint32_t to)
{
	uint32_t *after = m->after[from];

	if (after[0] == to)
		return;
	if (after[1] != to)
		after[2] = after[1];
	after[1] = after[0];
	after[0] = to;
}

struct stack_packer;

/* Returns NULL without memory. */
struct stack_packer *stack_packer_new(void);
void stack_packer_free(struct stack_packer *p);
/* 0; -EINVAL if the words are not valid records, or -ENOMEM. */
int stack_pack(struct stack_packer *p, const uint64_t *words, size_t n);
/* Returns the plain bytes in pieces from 0 on; false after the last one. */
bool stack_piece(void *packer, size_t i, const void **data, size_t *bytes);

/* Unpacks exactly n words; false if the plain bytes are invalid. */
bool stack_unpack(const uint8_t *plain, size_t bytes, uint64_t *words, size_t n);
