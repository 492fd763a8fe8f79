/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * live.h - the live blocks by address: a lock-free table for MODEs that keep totals.
 *
 * An address selects a table (1 GiB of addresses each), the table a leaf (1 KiB), the leaf an entry
 * of 16 bytes: two loads, then the entry.  Where small blocks are at least 32 bytes apart (glibc),
 * an entry covers 32 bytes, else 8.  Blocks of 128, 256, 512 or 1,024 usable bytes or more are
 * that far apart, and have leaves of 64 entries, each of which covers as much.  With WRAP, a block
 * may contain others, of an allocator of the program, so any 8 bytes may begin one; then a leaf
 * covers 128 bytes, or larger blocks would have mostly unused entries.
 *
 * A word of the table is a leaf and the number of its entries in use.  Adding a block raises the
 * number first, so a leaf that other threads use stays; removing the last block keeps the leaf for
 * a while, then puts it in a list for reuse.  So the table is as large as the memory that has live
 * blocks, wherever blocks were before.
 *
 * No thread waits: leaves come and go by compare-and-swap.  Only the thread that owns a block
 * writes its entry; passing the block to another thread orders the accesses.  So a fork, a jump out
 * of a signal handler or a kill leaves no lock held.  A forked child inherits the table with its
 * memory.
 */
#ifndef MPROF_LIVE_H
#define MPROF_LIVE_H

#include <mprof/module.h>

#define LIVE_KINDS  5
#define LIVE_LEAST  6 /* kind k, from 1 on: 2^(6 + k) usable bytes or more */
#define LIVE_GIB    30
#define LIVE_TABLES (1u << 18) /* addresses of 48 bits */
#define LIVE_IDS    (1u << 26)
/* Marks of a block, added to its id: */
#define LIVE_SAMPLED	LIVE_IDS	/* it is a sample (late.h) */
#define LIVE_UNLOGGED	(LIVE_IDS * 2u) /* its events are not kept (log_totals.c) */
#define LIVE_SIZE	44 /* bits of a size; greater ones are stored as the greatest */
#define LIVE_CHUNK	8192u
#define LIVE_TICKS	((1ull << 56) - 1)
#define LIVE_ENTRY	16u
#define LIVE_SMALL_BITS 10		   /* log2 of the addresses in one leaf */
#define LIVE_WRAP_BITS	7		   /* the same with WRAP */
#define LIVE_LEAF	((1ull << 48) - 1) /* of a word in a table; above it, entries in use */
#define LIVE_ONE	(1ull << 48)
#define LIVE_EMPTIED	256u /* empty leaves that may stay, 128 KiB of small ones; power of 2 */

/* Two words: id 26 | marks 2 | size + 1, its lower 36;  ticks of birth 56 | size + 1, its upper 8.
 */
struct live_entry {
	uint64_t a, b; /* a is 0: no block */
};

/* Leaves of blocks of some sizes. */
struct live_kind {
	uint64_t **table; /* by address / 1 GiB, then by region */
	uint64_t unused;  /* leaves, linked by b of their first entry; upper bits: changes */
	unsigned region, granule; /* bits of an address */
};
struct live_map {
	struct live_kind kind[LIVE_KINDS];
	unsigned last; /* number of the last kind in use */
	void *(*memory)(size_t bytes, size_t touched);
};

/* The part of one thread. */
struct live_room {
	char *at, *end;
	struct live_entry *spare[LIVE_KINDS]; /* an unused leaf of each kind */
	/* Words whose leaves became empty, by address. */
	uint64_t *emptied[LIVE_KINDS][LIVE_EMPTIED];
};

static inline uint32_t live_id(struct live_entry e)
{
	return (uint32_t)(e.a & (LIVE_IDS - 1));
}

static inline int live_is(struct live_entry e, uint32_t mark)
{
	return (e.a & mark) != 0;
}

static inline uint64_t live_size(struct live_entry e)
{
	return (e.a >> 28 | e.b >> 56 << 36) - 1;
}

/* Ticks from its birth to now, if less than 2^56. */
static inline uint64_t live_age(struct live_entry e, uint64_t now)
{
	return (now - e.b) & LIVE_TICKS;
}

/* id: with marks. */
static inline struct live_entry live_entry_of(uint32_t id, uint64_t size, uint64_t now)
{
	uint64_t n = size < (1ull << LIVE_SIZE) - 2 ? size + 1 : (1ull << LIVE_SIZE) - 1;

	struct live_entry e = { id | n << 28, (now & LIVE_TICKS) | n >> 36 << 56 };

	return e;
}

/* 0 or -1 if out of memory. */
static inline int live_start(struct live_map *m, void *(*memory)(size_t bytes, size_t touched))
{
	m->memory = memory;
	/* With WRAP, the usable size of a block may differ between its two ends. */
	m->last = mprof_core.foreign ? 0 : LIVE_KINDS - 1;
	for (unsigned i = 0; i < LIVE_KINDS; i++) {
		struct live_kind *k = &m->kind[i];

		k->granule = i ? LIVE_LEAST + i : mprof_core.chunk_headers ? 5 : 3;
		k->region = i			 ? k->granule + 6
			    : mprof_core.foreign ? LIVE_WRAP_BITS
						 : LIVE_SMALL_BITS;
		k->table = (uint64_t **)memory(LIVE_TABLES * sizeof(void *), 4096);
		if (!k->table)
			return -1;
	}
	return 0;
}

/* [hot] The word of an address; NULL if it has no table yet. */
MPROF_HOT uint64_t *live_word(const struct live_kind *k, uintptr_t at)
{
	uint64_t *table;

	if (mprof_unlikely(at >> 48))
		return NULL;
	table = __atomic_load_n(&k->table[at >> LIVE_GIB], __ATOMIC_ACQUIRE);
	return table ? &table[(at & ((1u << LIVE_GIB) - 1)) >> k->region] : NULL;
}

MPROF_HOT struct live_entry *live_in_leaf(const struct live_kind *k, uint64_t word, uintptr_t at)
{
	struct live_entry *leaf = (struct live_entry *)(uintptr_t)(word & LIVE_LEAF);

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

/* ---- unused leaves ---- */

static inline void live_leaf_keep(struct live_kind *k, struct live_entry *leaf)
{
	uint64_t had = __atomic_load_n(&k->unused, __ATOMIC_RELAXED), now;

	do {
		__atomic_store_n(&leaf->b, had & LIVE_LEAF, __ATOMIC_RELAXED);
		now = (uintptr_t)leaf | ((had & ~LIVE_LEAF) + LIVE_ONE);
	} while (!__atomic_compare_exchange_n(&k->unused, &had, now, 1, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

static inline struct live_entry *live_leaf_kept(struct live_kind *k)
{
	uint64_t had = __atomic_load_n(&k->unused, __ATOMIC_ACQUIRE), now;
	struct live_entry *leaf;

	do {
		leaf = (struct live_entry *)(uintptr_t)(had & LIVE_LEAF);
		if (!leaf)
			return NULL;
		/* Another thread may have taken it already: then the list has changed. */
		now = (__atomic_load_n(&leaf->b, __ATOMIC_RELAXED) & LIVE_LEAF) |
		      ((had & ~LIVE_LEAF) + LIVE_ONE);
	} while (!__atomic_compare_exchange_n(&k->unused, &had, now, 1, __ATOMIC_ACQUIRE,
					      __ATOMIC_ACQUIRE));
	return leaf;
}

/* Removes a leaf from its table if it is still empty. */
static inline void live_leaf_retire(struct live_kind *k, uint64_t *word)
{
	uint64_t had = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	struct live_entry *leaf = (struct live_entry *)(uintptr_t)had;

	if (!had || had >> 48)
		return;
	/* The number may be too small if a thread was created unnoticed. */
	for (unsigned i = 0; i < 1u << (k->region - k->granule); i++)
		if (__atomic_load_n(&leaf[i].a, __ATOMIC_RELAXED))
			return;
	if (__atomic_compare_exchange_n(word, &had, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		live_leaf_keep(k, leaf);
}

/*
 * A block that is allocated and freed repeatedly would remove its leaf each time, so the most
 * recently emptied leaves are kept.
 */
static __attribute__((noinline)) void live_leaf_emptied(struct live_map *m, struct live_room *r,
							unsigned kind, uint64_t *word)
{
	uint64_t **place = &r->emptied[kind][(uintptr_t)word / sizeof(*word) % LIVE_EMPTIED];

	if (*place == word)
		return;
	if (*place)
		live_leaf_retire(&m->kind[kind], *place);
	*place = word;
}

static inline struct live_entry *live_leaf_new(struct live_map *m, struct live_room *r,
					       unsigned kind)
{
	struct live_kind *k = &m->kind[kind];
	struct live_entry *leaf = r->spare[kind];

	r->spare[kind] = NULL;
	if (!leaf)
		leaf = live_leaf_kept(k);
	if (!leaf)
		leaf = (struct live_entry *)live_memory(
		    m, r, (size_t)LIVE_ENTRY << (k->region - k->granule));
	return leaf;
}

static inline uint64_t *live_word_new(struct live_map *m, struct live_kind *k, uintptr_t at)
{
	uint64_t **place = &k->table[at >> LIVE_GIB], *table, *none = NULL;

	table = (uint64_t *)m->memory(sizeof(*table) << (LIVE_GIB - k->region), 4096);
	/* The table of the thread that lost is leaked: it is address space without pages. */
	if (table)
		__atomic_compare_exchange_n(place, &none, table, 0, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE);
	return live_word(k, at);
}

/*
 * Counts one more block, creating its leaf if needed; NULL if out of memory or if the address is
 * invalid.
 */
static __attribute__((noinline)) struct live_entry *
live_claim(struct live_map *m, struct live_room *r, unsigned kind, uintptr_t at)
{
	struct live_kind *k = &m->kind[kind];
	uint64_t *word = live_word(k, at), had;
	struct live_entry *leaf;

	if (!word && !(at >> 48))
		word = live_word_new(m, k, at);
	if (!word)
		return NULL;
	had = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	for (;;) {
		if (had) {
			if (__atomic_compare_exchange_n(word, &had, had + LIVE_ONE, 1,
							__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
				return live_in_leaf(k, had, at);
			continue;
		}
		leaf = live_leaf_new(m, r, kind);
		if (!leaf)
			return NULL;
		if (__atomic_compare_exchange_n(word, &had, (uintptr_t)leaf | LIVE_ONE, 0,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return live_in_leaf(k, (uintptr_t)leaf, at);
		r->spare[kind] = leaf;
	}
}

/* ---- blocks ---- */

MPROF_HOT unsigned live_kind_of(const struct live_map *m, size_t usable)
{
	const unsigned kind =
	    63 - LIVE_LEAST - (unsigned)__builtin_clzll(usable | 1ull << LIVE_LEAST);

	return kind < m->last ? kind : m->last;
}

/* [hot] alone: the process has one thread.  Returns the number of entries left in the leaf. */
MPROF_HOT uint64_t live_uncount(uint64_t *word, int alone)
{
	uint64_t now;

	if (mprof_likely(alone)) {
		now = __atomic_load_n(word, __ATOMIC_RELAXED) - LIVE_ONE;
		__atomic_store_n(word, now, __ATOMIC_RELAXED);
	} else {
		now = __atomic_sub_fetch(word, LIVE_ONE, __ATOMIC_RELEASE);
	}
	return now >> 48;
}

/*
 * [hot] Adds a block.  Sets *before to the entry that was at its address: unless its `a` is 0, a
 * block whose end was missed. -1 if out of memory.
 */
MPROF_HOT int live_put(struct live_map *m, struct live_room *r, void *ptr, size_t usable,
		       struct live_entry e, int alone, struct live_entry *before)
{
	const unsigned kind = live_kind_of(m, usable);
	const uintptr_t at = (uintptr_t)ptr;
	uint64_t *word = live_word(&m->kind[kind], at);
	uint64_t had = word ? __atomic_load_n(word, __ATOMIC_RELAXED) : 0;
	struct live_entry *to;

	if (mprof_likely(had && alone)) {
		__atomic_store_n(word, had + LIVE_ONE, __ATOMIC_RELAXED);
		to = live_in_leaf(&m->kind[kind], had, at);
	} else if (mprof_likely(had &&
				__atomic_compare_exchange_n(word, &had, had + LIVE_ONE, 0,
							    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))) {
		to = live_in_leaf(&m->kind[kind], had, at);
	} else {
		to = live_claim(m, r, kind, at);
		if (mprof_unlikely(!to))
			return -1;
	}
	before->a = __atomic_load_n(&to->a, __ATOMIC_RELAXED);
	before->b = __atomic_load_n(&to->b, __ATOMIC_RELAXED);
	__atomic_store_n(&to->b, e.b, __ATOMIC_RELAXED);
	__atomic_store_n(&to->a, e.a, __ATOMIC_RELAXED);
	if (mprof_unlikely(before->a))
		live_uncount(live_word(&m->kind[kind], at), alone);
	return 0;
}

/* [hot] Removes and returns the block; its `a` is 0 if the table does not contain it. */
MPROF_HOT struct live_entry live_take(struct live_map *m, struct live_room *r, void *ptr,
				      size_t usable, int alone)
{
	const unsigned kind = live_kind_of(m, usable);
	const uintptr_t at = (uintptr_t)ptr;
	uint64_t *word = live_word(&m->kind[kind], at);
	uint64_t had = word ? __atomic_load_n(word, __ATOMIC_ACQUIRE) : 0;
	struct live_entry *e, got = { 0, 0 };

	if (mprof_unlikely(!had))
		return got;
	e = live_in_leaf(&m->kind[kind], had, at);
	got.a = __atomic_load_n(&e->a, __ATOMIC_ACQUIRE);
	got.b = __atomic_load_n(&e->b, __ATOMIC_RELAXED);
	if (mprof_unlikely(!got.a))
		return got;
	/* The block is not in the table: by now the leaf may belong to another region. */
	if (!alone && (__atomic_load_n(word, __ATOMIC_RELAXED) ^ had) & LIVE_LEAF) {
		got.a = 0;
		return got;
	}
	__atomic_store_n(&e->a, 0, __ATOMIC_RELAXED);
	if (mprof_unlikely(!live_uncount(word, alone)))
		live_leaf_emptied(m, r, kind, word);
	return got;
}

#endif
