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
	struct large word;	/* uint32_t by number: the word + 1; 0 if none is stored */
	struct blocks nameless; /* blocks without a number; start = the word */
};

static inline void beside_release(struct beside *b)
{
	large_release(&b->word);
	blocks_release(&b->nameless);
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
	*(uint32_t *)large_at(&b->word, number, sizeof(uint32_t)) = word + 1;
}

/* Returns the current word of a block with a number. */
static inline uint32_t beside_word(const struct beside *b, uint32_t number)
{
	const uint32_t *word = large_known(&b->word, number, sizeof(*word));

	return word ? *word - 1 : BESIDE_NONE;
}

/* Takes the word of a block that ended; BESIDE_NONE if none was stored. */
static inline uint32_t beside_take(struct beside *b, uint32_t number, uint64_t addr)
{
	const uint32_t word = beside_word(b, number);

	if (__builtin_expect(!number, 0))
		return beside_take_nameless(b, addr);
	if (__builtin_expect(word != BESIDE_NONE, 1))
		((uint32_t *)b->word.item)[number] = 0;
	return word;
}

PREFETCHES beside_prefetch(const struct beside *b, uint32_t number)
{
	__builtin_prefetch(large_known(&b->word, number, sizeof(uint32_t)));
}
