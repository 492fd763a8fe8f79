/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * call.h - one call of the allocator, and the program's accesses to its block: the inner part of
 * the loops, inlined into each of them for each touch policy.
 *
 * Budget: 5 ns a call besides the allocator and touching.  No calls through our own pointers; rare
 * cases are out of line.
 */
#pragma once

#include <stdlib.h>
#include <string.h>
#include "run.h"
#include "ticks.h"

/* A slot's word holds an address in its low 48 bits. */
#define SLOT_BITS 48
#define SLOT_ADDR ((1ull << SLOT_BITS) - 1)

enum { CLASS_BIRTH, CLASS_FREE, CLASS_REALLOC, CLASSES };

/* What one thread records of its calls, on request; see note.c. */
struct notes {
	uint64_t every, next; /* calls until the next timed one; 0 = no call is timed */
	uint64_t random;
	uint64_t latency[CLASSES][MPROF_RUN_LATENCY];
};

struct player {
	uint64_t *table;
	uint64_t failed;
	uint32_t ends; /* bit n: stop before a word with operation n */
	struct notes *notes;
};

void notes_start(struct notes *n, uint32_t seed);
void notes_add(uint64_t into[CLASSES][MPROF_RUN_LATENCY], const struct notes *n);
void note_time(struct notes *n, unsigned class, uint64_t ticks);
void note_address(void *p); /* one thread at a time may call it */
void note_flush(void);

void functions_find(
    void); /* functions.c: finds the allocator's functions, and substitutes for missing ones */
void *call_aligned(uint64_t ext, uint64_t size);
size_t call_usable(void *p); /* 0 if the allocator has no such function */

/* Is it neither NULL nor above what a slot can hold? */
static ALWAYS bool storable(const void *p)
{
	return ((uintptr_t)p - 1) >> SLOT_BITS == 0;
}

/* Counts NULL; an address that a slot cannot store ends the process. */
COLD void not_storable(struct player *s, const void *p, uint64_t size);

static ALWAYS void *ask(unsigned op, uint64_t ext, void *old, uint64_t size, const int null)
{
	void *p = (void *)16;

	if (null) {
		__asm__ volatile("" : "+r"(p) : "r"(old), "r"(size));
		return p;
	}
	switch (op) {
	case MPROF_PLAY_MALLOC:
		return malloc(size);
	case MPROF_PLAY_CALLOC:
		return calloc(1, size);
	case MPROF_PLAY_REALLOC:
		return realloc(old, size);
	default:
		return call_aligned(ext, size);
	}
}

static ALWAYS void give_back(void *p, const int null)
{
	if (null)
		__asm__ volatile("" : : "r"(p));
	else
		free(p);
}

/* Touches one byte of each page from `from`, a multiple of the page, and the last byte. */
static ALWAYS void touch_pages(char *p, uint64_t from, uint64_t size)
{
	volatile char *q = p;

	if (size <= from)
		return;
	q[from] = 1;
	for (uint64_t i = from + PAGE; i < size; i += PAGE)
		q[i] = 1;
	q[size - 1] = 1;
}

#define TOUCH_MUCH (1u << 20)

/* behind: the word after the call. */
static ALWAYS void touch_block(void *p, uint64_t from, uint64_t size, uint64_t behind,
			       const int touch)
{
	if (touch == TOUCH_NONE)
		return;
	if (touch == TOUCH_FIRST) {
		if (size && !from)
			*(volatile char *)p = 1;
		return;
	}
	if (unlikely(size >= TOUCH_MUCH))
		watch_moved();
	if (touch == TOUCH_RECORDED && mprof_play_op(behind) == MPROF_PLAY_TOUCH &&
	    behind >> 4 < size)
		size = behind >> 4;
	if (touch != TOUCH_FULL)
		touch_pages(p, from, size);
	else if (size > from)
		memset((char *)p + from, 0x55, size - from);
}

static ALWAYS uint64_t timing_begin(struct notes *n)
{
	return n->every && !--n->next ? ticks() : 0;
}

static ALWAYS void timing_end(struct notes *n, unsigned class, uint64_t begin)
{
	if (unlikely(begin))
		note_time(n, class, ticks() - begin);
}

static ALWAYS unsigned class_of(unsigned op)
{
	return op == MPROF_PLAY_REALLOC ? CLASS_REALLOC : CLASS_BIRTH;
}
