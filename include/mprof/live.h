/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * live.h - the live blocks by address: a lock-free table for MODEs that keep totals.
 *
 * An address chooses a table (1 GiB of addresses each), the table a leaf (1 KiB), the
 * leaf an entry of 16 bytes.  Two loads, then the entry.  Where two small blocks cannot
 * begin within 32 bytes (glibc), an entry is for 32 of them, else for 8.  Blocks of
 * LIVE_LARGE usable bytes or more begin that far apart and have leaves of their own, of
 * 64 KiB each.
 *
 * No thread waits: leaves are installed by compare-and-swap, and a thread that loses keeps its
 * leaf for the next time. Only the thread that owns a block writes its entry; passing the block
 * to another thread orders the accesses. So a fork, a jump out of a signal handler or a kill
 * leaves no lock held. A forked child inherits the table with its memory.
 */
#ifndef MPROF_LIVE_H
#define MPROF_LIVE_H

#include <mprof/module.h>

#define LIVE_LARGE	1024u
#define LIVE_GIB	30
#define LIVE_TABLES	(1u << 18) /* addresses of 48 bits */
#define LIVE_IDS	(1u << 28)
#define LIVE_SIZE	44 /* bits of a size; greater ones count as the greatest */
#define LIVE_CHUNK	8192u
#define LIVE_TICKS	((1ull << 56) - 1)
#define LIVE_ENTRY	16u
#define LIVE_SMALL_BITS 10 /* of addresses in one leaf */
#define LIVE_LARGE_BITS 16

/* Two words: id 28 | size + 1, its lower 36;  ticks of birth 56 | size + 1, its upper 8. */
struct live_entry {
	uint64_t a, b; /* a is 0: none */
};

/* Leaves of small blocks, of large ones. */
struct live_kind {
	struct live_entry ***table; /* by address / 1 GiB, then by region, then by granule */
	unsigned region, granule;   /* bits of an address */
};
struct live_map {
	struct live_kind kind[2];
	void *(*memory)(size_t bytes, size_t touched);
};

/* A thread's own part. */
struct live_room {
	char *at, *end;
	void *spare[2]; /* a leaf of each kind, made in vain */
};

static inline uint32_t live_id(struct live_entry e)
{
	return (uint32_t)(e.a & (LIVE_IDS - 1));
}

static inline uint64_t live_size(struct live_entry e)
{
	return (e.a >> 28 | e.b >> 56 << 36) - 1;
}

/* Ticks from its birth to now, right if it is less than 2^56. */
static inline uint64_t live_age(struct live_entry e, uint64_t now)
{
	return (now - e.b) & LIVE_TICKS;
}

static inline struct live_entry live_entry_of(uint32_t id, uint64_t size, uint64_t now)
{
	uint64_t n = size < (1ull << LIVE_SIZE) - 2 ? size + 1 : (1ull << LIVE_SIZE) - 1;

	struct live_entry e = { id | n << 28, (now & LIVE_TICKS) | n >> 36 << 56 };

	return e;
}

/* 0 or -1: no memory. */
static inline int live_start(struct live_map *m, void *(*memory)(size_t bytes, size_t touched))
{
	m->memory = memory;
	m->kind[0].region = LIVE_SMALL_BITS;
	m->kind[0].granule = mprof_core.chunk_headers ? 5 : 3;
	m->kind[1].region = LIVE_LARGE_BITS;
	m->kind[1].granule = LIVE_SMALL_BITS;
	for (int i = 0; i < 2; i++) {
		m->kind[i].table =
		    (struct live_entry ***)memory(LIVE_TABLES * sizeof(void *), 4096);
		if (!m->kind[i].table)
			return -1;
	}
	return 0;
}

/* [hot] The leaf that covers an address; NULL if none is allocated yet. */
MPROF_HOT struct live_entry *live_leaf(const struct live_kind *k, uintptr_t at)
{
	struct live_entry **table;

	if (mprof_unlikely(at >> 48))
		return NULL;
	table = __atomic_load_n(&k->table[at >> LIVE_GIB], __ATOMIC_ACQUIRE);
	return table ? __atomic_load_n(&table[(at & ((1u << LIVE_GIB) - 1)) >> k->region],
				       __ATOMIC_ACQUIRE)
		     : NULL;
}

MPROF_HOT struct live_entry *live_in_leaf(const struct live_kind *k, struct live_entry *leaf,
					  uintptr_t at)
{
	return &leaf[(at & ((1u << k->region) - 1)) >> k->granule];
}

static inline void *live_memory(const struct live_map *m, struct live_room *r, size_t bytes)
{
	void *got;

	if (!r->at || (size_t)(r->end - r->at) < bytes) {
		r->at = (char *)m->memory(LIVE_CHUNK, LIVE_CHUNK);
		r->end = r->at ? r->at + LIVE_CHUNK : NULL;
	}
	if (!r->at)
		return NULL;
	got = r->at;
	r->at += bytes;
	return got;
}

/* Makes the leaf; NULL: no memory, or no address of a program's. */
static MPROF_COLD struct live_entry *live_leaf_new(struct live_map *m, struct live_room *r,
						   int kind, uintptr_t at)
{
	struct live_kind *k = &m->kind[kind];
	struct live_entry **table, **none = NULL, *leaf, *nothing = NULL;
	size_t leaves = sizeof(void *) << (LIVE_GIB - k->region);

	if (at >> 48)
		return NULL;
	table = __atomic_load_n(&k->table[at >> LIVE_GIB], __ATOMIC_ACQUIRE);
	if (!table) {
		table = (struct live_entry **)m->memory(leaves, 4096);
		/* The table of the loser is leaked: address space without pages. */
		if (table && !__atomic_compare_exchange_n(&k->table[at >> LIVE_GIB], &none, table,
							  0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			table = none;
	}
	leaf = r->spare[kind] ? (struct live_entry *)r->spare[kind]
			      : (struct live_entry *)live_memory(
				    m, r, (size_t)LIVE_ENTRY << (k->region - k->granule));
	r->spare[kind] = NULL;
	if (!table || !leaf)
		return NULL;
	table += (at & ((1u << LIVE_GIB) - 1)) >> k->region;
	if (__atomic_compare_exchange_n(table, &nothing, leaf, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return leaf;
	r->spare[kind] = leaf;
	return nothing;
}

MPROF_HOT int live_kind_of(size_t usable)
{
	return usable >= LIVE_LARGE;
}

/* [hot] The entry of a block that its owner is about to describe; NULL: no memory. */
MPROF_HOT struct live_entry *live_place(struct live_map *m, struct live_room *r, void *ptr,
					size_t usable)
{
	const int kind = live_kind_of(usable);
	uintptr_t at = (uintptr_t)ptr;
	struct live_entry *leaf = live_leaf(&m->kind[kind], at);

	if (mprof_unlikely(!leaf))
		leaf = live_leaf_new(m, r, kind, at);
	return leaf ? live_in_leaf(&m->kind[kind], leaf, at) : NULL;
}

/* [hot] Removes the block; a is 0 if the table does not have it. */
MPROF_HOT struct live_entry live_take(const struct live_map *m, void *ptr, size_t usable)
{
	const struct live_kind *k = &m->kind[live_kind_of(usable)];
	uintptr_t at = (uintptr_t)ptr;
	struct live_entry *e = live_leaf(k, at), got = { 0, 0 };

	if (mprof_unlikely(!e))
		return got;
	e = live_in_leaf(k, e, at);
	got.a = __atomic_load_n(&e->a, __ATOMIC_RELAXED);
	got.b = __atomic_load_n(&e->b, __ATOMIC_RELAXED);
	__atomic_store_n(&e->a, 0, __ATOMIC_RELAXED);
	return got;
}

MPROF_HOT void live_put(struct live_entry *to, struct live_entry e)
{
	__atomic_store_n(&to->b, e.b, __ATOMIC_RELAXED);
	__atomic_store_n(&to->a, e.a, __ATOMIC_RELAXED);
}

#endif
