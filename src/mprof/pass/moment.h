/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * moment.h - the pages under the blocks that were live at one moment, added up as the blocks end.
 *
 * It is known only later which moment will matter: a peak moves with nearly every call of a growing
 * program.  So moments are numbered, and a new one invalidates the sums for the one before.  A
 * block that ends was live at the moment if it began no later; blocks that outlive the walk end
 * with it.
 *
 * Threads: one at a time.
 */
#pragma once

#include "../heap/heap.h"
#include "../util/hash.h"

#define MOMENT_SHIFT  14u
#define MOMENT_RECENT 8u

/* 2^14 pages: the lower half of each word has a bit for each page that was counted at the moment
 * in its upper half. */
struct moment_region {
	uint64_t key; /* of a process and a page, see moment_key() */
	uint64_t word[(1u << MOMENT_SHIFT) / 32];
};

struct moment {
	uint64_t ticks, event;		      /* its last event */
	const struct trace_residency *within; /* count only pages that were resident; may be NULL */
	uint64_t pages;			      /* under blocks that have ended */
	/* Pages that blocks cover only in part, and may share: */
	struct moment_region *region;
	size_t regions, room;
	/* The latest ones, by the low bits of the key; NULL if none.  A heap lies in several. */
	struct moment_region *recent[MOMENT_RECENT];
	struct hash places; /* by key: index of region + 1 */
	uint32_t number;    /* of moments so far */
};

/* Begins a moment that is later than any before. */
static inline void moment_begin(struct moment *m, uint64_t ticks, uint64_t event)
{
	m->ticks = ticks;
	m->event = event;
	m->pages = 0;
	m->number++;
}

/* Numbers of pages have at most 52 bits. */
static inline uint64_t moment_key(uint32_t process, uint64_t page)
{
	return page >> MOMENT_SHIFT | (uint64_t)process << 38;
}

/* Has this page, which is covered in part, been counted?  Most have, as many blocks share one. */
ALWAYS_INLINE bool moment_has(const struct moment *m, uint32_t process, uint64_t page)
{
	const uint64_t key = moment_key(process, page);
	const struct moment_region *r = m->recent[key % MOMENT_RECENT];
	uint64_t word;

	if (__builtin_expect(!r || r->key != key, 0))
		return false;
	word = r->word[page % (1u << MOMENT_SHIFT) / 32];
	return word >> 32 == m->number && word >> page % 32 & 1;
}

void moment_add(struct moment *m, unsigned shift, uint32_t process, uint64_t addr, uint64_t size);

/* Adds an own block that ended, of the process with this index; pages have 2^shift bytes. */
ALWAYS_INLINE void moment_ended(struct moment *m, unsigned shift, uint32_t process,
				const struct block *b)
{
	const uint64_t page = b->addr >> shift;

	if (!m->number || !block_began_by(b, m->ticks, m->event) || !b->size)
		return;
	if (page != (b->addr + b->size) >> shift || !moment_has(m, process, page))
		moment_add(m, shift, process, b->addr, b->size);
}

/* Adds all blocks of a process. */
void moment_gone(struct moment *m, const struct heap *h, uint32_t process);
