/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * beside.h - one word of an analysis for each live block of a process.  A block is found as in the
 * heap (heap.h): by its number, or by its address if it has none.
 *
 * The analysis reports when blocks begin and end, from the heap's notes.  A word remains until
 * another block gets the number, so read it when its block ends.
 *
 * Without memory the program ends (util/alloc.h).  Threads: one at a time.
 */
#pragma once

#include <string.h>

#include "../util/large.h"
#include "blocks.h"

#define BESIDE_NONE UINT32_MAX

struct beside {
	uint32_t *word;		/* by number - 1; BESIDE_NONE if none is stored */
	uint32_t room;		/* of word */
	struct blocks nameless; /* blocks without a number; start = the word */
};

static inline void beside_release(struct beside *b)
{
	large_free(b->word, b->room * sizeof(*b->word));
	blocks_release(&b->nameless);
	*b = (struct beside){ .word = NULL };
}

/* Numbers are below 2^29 (trace/slots.h). */
static __attribute__((unused, noinline)) void beside_grow(struct beside *b, uint32_t number)
{
	uint64_t room = b->room ? b->room : 1024;
	uint32_t *bigger;

	while (room < number)
		room *= 2;
	bigger = large_extend(b->word, b->room * sizeof(*bigger), room * sizeof(*bigger));
	memset(bigger + b->room, 0xff, (room - b->room) * sizeof(*bigger));
	b->word = bigger;
	b->room = (uint32_t)room;
}

static __attribute__((unused, noinline)) void beside_put_nameless(struct beside *b, uint64_t addr,
								  uint32_t word)
{
	struct block *there = blocks_find(&b->nameless, addr);

	if (there)
		there->start = word;
	else
		blocks_put(&b->nameless, &(struct block){ .addr = addr, .start = word });
}

static __attribute__((unused, noinline)) uint32_t beside_take_nameless(struct beside *b,
								       uint64_t addr)
{
	struct block *there = blocks_find(&b->nameless, addr);
	uint32_t word = there ? (uint32_t)there->start : BESIDE_NONE;

	if (there)
		blocks_take(&b->nameless, there);
	return word;
}

/* Stores a word for a block that began: the event's number, or 0 and its address. */
static inline void beside_put(struct beside *b, uint32_t number, uint64_t addr, uint32_t word)
{
	if (__builtin_expect(!number, 0)) {
		beside_put_nameless(b, addr, word);
		return;
	}
	if (__builtin_expect(number > b->room, 0))
		beside_grow(b, number);
	b->word[number - 1] = word;
}

/* Takes the word of a block that ended; BESIDE_NONE if none was stored. */
static inline uint32_t beside_take(struct beside *b, uint32_t number, uint64_t addr)
{
	uint32_t word;

	if (__builtin_expect(!number, 0))
		return beside_take_nameless(b, addr);
	if (__builtin_expect(number > b->room, 0))
		return BESIDE_NONE;
	word = b->word[number - 1];
	b->word[number - 1] = BESIDE_NONE;
	return word;
}

/* Returns the current word of a block with a number. */
static inline uint32_t beside_word(const struct beside *b, uint32_t number)
{
	return number - 1 < b->room ? b->word[number - 1] : BESIDE_NONE;
}

PREFETCHES beside_prefetch(const struct beside *b, uint32_t number)
{
	if (number - 1 < b->room)
		__builtin_prefetch(&b->word[number - 1]);
}
