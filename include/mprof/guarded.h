/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * guarded.h - the blocks that MODE=Guard knows, looked up by address.
 *
 * Entries lie in separate pieces of memory and are reused.  An address selects a table (1 GiB of
 * addresses), the table a leaf (64 KiB), the leaf the number of an entry, one for each 32 bytes:
 * guarded blocks are at least that far apart.  So any pointer can be looked up without reading the
 * memory that it points to.
 *
 * Lock-free: missing tables and leaves are added by compare-and-swap.  The thread that claims an
 * entry (STATE_BUSY) may change it.  A forked child inherits all of it with its memory.
 */
#ifndef MPROF_GUARDED_H
#define MPROF_GUARDED_H

#include <errno.h>
#include <mprof/module.h>

#define RLX __ATOMIC_RELAXED

#define ENTRY_BITS 13 /* entries in a piece */
#define PIECES	   (1u << 16)
#define GIB_BITS   30
#define GIBS	   (1u << (48 - GIB_BITS))
#define LEAF_BITS  16 /* of addresses */
#define LEAF_SLOTS (1u << (LEAF_BITS - SLOT_BITS))
#define SLOT_BITS  5 /* guarded blocks begin at least this far apart */
#define LEAVES	   (1u << (GIB_BITS - LEAF_BITS))

enum { STATE_NONE, STATE_LIVE, STATE_BUSY, STATE_FREED };

/* A guarded block. */
struct entry {
	uintptr_t ptr, base; /* the program's address of the block; the allocator's */
	uint64_t size;	     /* requested */
	uint32_t allocated, freed;
	uint32_t thread, freed_thread;
	uint8_t state, fn, freed_fn;
	uint8_t told; /* 1 once its errors were reported */
	uint32_t next;
};

static const struct mprof_host *host;
static uint32_t made;	/* number of entries, counted from 1 */
static uint64_t unused; /* first unused entry | changes << 32 */
/* Set once by guarded_start().  Not static arrays, because every program would map those. */
static struct entry **piece; /* PIECES */
static uint32_t ***gib;	     /* GIBS, by address: leaves, then slots */

/* Call this first.  0 or -ENOMEM. */
static int guarded_start(void)
{
	piece = (struct entry **)host->memory(PIECES * sizeof(struct entry *), 0);
	gib = (uint32_t ***)host->memory(GIBS * sizeof(uint32_t **), 0);
	return piece && gib ? 0 : -ENOMEM;
}

/* ---- entries ---- */

MPROF_HOT struct entry *entry_at(uint32_t index)
{
	struct entry *p = __atomic_load_n(&piece[index >> ENTRY_BITS], __ATOMIC_ACQUIRE);

	return &p[index & ((1u << ENTRY_BITS) - 1)];
}

/* The number of a new entry; 0 if out of memory. */
static MPROF_COLD uint32_t entry_new(void)
{
	uint32_t index = __atomic_add_fetch(&made, 1, RLX), at = index >> ENTRY_BITS;
	const size_t bytes = sizeof(struct entry) << ENTRY_BITS;
	struct entry *p, *none = NULL;

	if (at >= PIECES) {
		__atomic_fetch_sub(&made, 1, RLX);
		return 0;
	}
	if (__atomic_load_n(&piece[at], __ATOMIC_ACQUIRE))
		return index;
	p = (struct entry *)host->memory(bytes, bytes);
	/* The piece of the thread that lost is leaked: it is address space without pages. */
	if (p)
		__atomic_compare_exchange_n(&piece[at], &none, p, 0, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE);
	return p ? index : 0;
}

static uint32_t entry_take(void)
{
	uint64_t head = __atomic_load_n(&unused, __ATOMIC_ACQUIRE), next;

	while ((uint32_t)head) {
		next = ((head >> 32) + 1) << 32 |
		       __atomic_load_n(&entry_at((uint32_t)head)->next, RLX);
		if (__atomic_compare_exchange_n(&unused, &head, next, 1, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return (uint32_t)head;
	}
	return entry_new();
}

static void entry_give(uint32_t index)
{
	uint64_t head = __atomic_load_n(&unused, RLX), next;

	do {
		__atomic_store_n(&entry_at(index)->next, (uint32_t)head, RLX);
		next = ((head >> 32) + 1) << 32 | index;
	} while (!__atomic_compare_exchange_n(&unused, &head, next, 1, __ATOMIC_ACQ_REL, RLX));
}

/* ---- from addresses to entries ---- */

/*
 * Allocates zeroed memory and stores it to *to, unless another thread did first.  NULL if out of
 * memory.
 */
static void *slot_memory(void **to, size_t bytes, size_t touched)
{
	void *p = host->memory(bytes, touched), *none = NULL;

	if (p && !__atomic_compare_exchange_n(to, &none, p, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		p = none;
	return p;
}

MPROF_HOT uint32_t *slot_of(uintptr_t at)
{
	uint32_t **table, *leaf;

	if (mprof_unlikely(at >> 48))
		return NULL;
	table = __atomic_load_n(&gib[at >> GIB_BITS], __ATOMIC_ACQUIRE);
	leaf = table ? __atomic_load_n(&table[at >> LEAF_BITS & (LEAVES - 1)], __ATOMIC_ACQUIRE)
		     : NULL;
	return leaf ? &leaf[at >> SLOT_BITS & (LEAF_SLOTS - 1)] : NULL;
}

static MPROF_COLD uint32_t *slot_make(uintptr_t at)
{
	uint32_t **table;

	if (at >> 48)
		return NULL;
	table = __atomic_load_n(&gib[at >> GIB_BITS], __ATOMIC_ACQUIRE);
	if (!table)
		table = (uint32_t **)slot_memory((void **)&gib[at >> GIB_BITS],
						 LEAVES * sizeof(*table), 4096);
	if (!table)
		return NULL;
	table += at >> LEAF_BITS & (LEAVES - 1);
	if (!__atomic_load_n(table, __ATOMIC_ACQUIRE))
		slot_memory((void **)table, LEAF_SLOTS * sizeof(uint32_t),
			    LEAF_SLOTS * sizeof(uint32_t));
	return slot_of(at);
}

/* 0, or -1 if out of memory. */
static int slot_set(uintptr_t at, uint32_t index)
{
	uint32_t *slot = slot_of(at);

	if (mprof_unlikely(!slot))
		slot = slot_make(at);
	if (slot)
		__atomic_store_n(slot, index, __ATOMIC_RELEASE);
	return slot ? 0 : -1;
}

/* [hot] The entry of the block, live or freed, that begins at ptr; 0 if none does. */
MPROF_HOT uint32_t find(const void *ptr)
{
	const uint32_t *slot = slot_of((uintptr_t)ptr);
	uint32_t index = slot ? __atomic_load_n(slot, __ATOMIC_ACQUIRE) : 0;

	return index && entry_at(index)->ptr == (uintptr_t)ptr ? index : 0;
}

#endif
