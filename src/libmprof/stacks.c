// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * stacks.c - gives each distinct stack of a process a number, and writes one definition to the
 * process's stream of stack records: the number of an earlier stack, the depth at which it joins
 * that one, and its own new frames.
 *
 * Looking up a stack takes no lock, and neither does adding one: its definition is written, then
 * (hash, number) is stored in the table, so a number is in the file before any event that uses it.
 * Two threads may define one stack at the same time: it has two numbers then, and the table one of
 * them.  A forked child inherits the table with the rest of its memory and continues the numbering;
 * its START fact contains the last number that is defined in its parent's stream.
 *
 * Two stacks with the same hash of 64 bits would count as one: with 10 million stacks that happens
 * once in 300,000 runs.
 */
#include <errno.h>
#include <mprof/module.h>

#include "config.h"
#include "core.h"
#include "file.h"
#include "lineage.h"
#include "local.h"
#include "slots.h"
#include "stack_parts.h"
#include "stacks.h"
#include "stop.h"
#include "sys.h"

#define PIECE	    1024u /* new frames of one definition: it fits the smallest slot */
#define SIGNALS	    16384u
#define TABLE_FIRST (1u << 14)
#define TABLE_MOST  (1u << 24) /* 256 MiB: further stacks are counted but not kept */

struct entry {
	uint64_t hash; /* 0: free */
	uint32_t id;   /* 0: not stored yet */
	uint32_t next; /* a hint: the entry of the stack that followed this one last time */
};

struct stack_table {
	uint32_t size; /* a power of two */
	struct entry entry[];
};

uint64_t mp_stacks_seed MP_HIDDEN = 0x243f6a8885a308d3ull;
static struct stack_table *table;
static uint32_t last_id;
static uint32_t through_signals; /* stacks that lead through a signal handler */

uint32_t mp_stacks_count(void)
{
	return __atomic_load_n(&last_id, __ATOMIC_RELAXED);
}

void mp_stacks_changed(void)
{
	/* Another start value suffices: hashes of old stacks never match again. */
	__atomic_fetch_add(&mp_stacks_seed, 0x9e3779b97f4a7c15ull, __ATOMIC_RELAXED);
}

int mp_stacks_signals(void)
{
	return through_signals > SIGNALS;
}

uint32_t mp_stacks_none(void)
{
	mp_lost(MPROF_LOST_STACK, 1);
	return 0;
}

/* A handler that jumped out of here would leave the lock held for ever. */
void mp_stacks_lock(uint64_t *signals)
{
	mp_lock_blocking(&mp_local->stacks_lock, signals);
}

void mp_stacks_unlock(const uint64_t *signals)
{
	mp_unlock_blocking(&mp_local->stacks_lock, signals);
}

/* ---- the stream ---- */

/*
 * Where stack records go: a slot that any number of threads append to, without a lock, because a
 * handler may jump out anywhere.  The thread that turns the zero word at the end into a GAP of n
 * words owns these n words; a jump out, or a kill, leaves the gap.  A slot is not emptied, because
 * records are few and another thread may still be writing to it.  When it is full, a larger one
 * follows.
 */
struct mp_stream {
	struct mprof_thread slot; /* has no thread, and number 0 */
	uint64_t *word;
	uint32_t words, end; /* end: near the first zero word, never beyond it */
};

static uint32_t stream_record_words(uint64_t first)
{
	const uint32_t words = (uint32_t)mprof_record_words(first);

	return words ? words : 1;
}

/* Claims n words; NULL if the slot is full. */
static uint64_t *stream_claim(struct mp_stream *s, uint32_t n)
{
	uint32_t at = s ? __atomic_load_n(&s->end, __ATOMIC_RELAXED) : 0;
	uint64_t first = 0;

	while (s && at + n <= s->words) {
		if (__atomic_compare_exchange_n(&s->word[at], &first,
						MPROF_RECORD_GAP | (uint64_t)n << 4, 0,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			__atomic_store_n(&s->end, at + n, __ATOMIC_RELAXED);
			return &s->word[at];
		}
		at += stream_record_words(first);
		first = 0;
	}
	return NULL;
}

/* Adds the slot that follows `full`, which may be NULL.  The caller holds stream_lock.  0 or
 * -errno. */
static int stream_next_locked(const struct mp_stream *full)
{
	struct mp_local *l = mp_local;
	struct mp_stream *s;
	int ret;

	if (l->stream != full)
		return 0;
	s = mp_lines_take((sizeof(*s) + 63) / 64);
	if (!s)
		return -ENOMEM;
	s->slot.flushes = l->stream_slots;
	s->slot.seq = l->stream_slots + 1;
	ret = mp_slot_take(&s->slot);
	if (ret < 0)
		return ret;
	l->stream_slots++;
	mp_lineage_part(s->slot.slot);
	s->word = s->slot.cur;
	s->words = (uint32_t)(s->slot.end - s->slot.cur);
	__atomic_store_n(&l->stream, s, __ATOMIC_RELEASE);
	return 0;
}

/* Claims n words in the current or next slot.  NULL with -errno in *error. */
static uint64_t *stream_claim_anywhere(uint32_t n, int *error)
{
	uint64_t signals, *place;

	/* Pairs with the release in rules.c: stacks of an object follow the object's record. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	for (int i = 0; i < 3; i++) {
		struct mp_stream *s = __atomic_load_n(&mp_local->stream, __ATOMIC_ACQUIRE);

		place = stream_claim(s, n);
		if (place)
			return place;
		mp_lock_blocking(&mp_local->stream_lock, &signals);
		*error = stream_next_locked(s);
		mp_unlock_blocking(&mp_local->stream_lock, &signals);
		if (*error < 0)
			return NULL;
	}
	*error = -ENOSPC;
	return NULL;
}

int mp_stacks_begin(void)
{
	int ret = mp_local->stream_begun ? 0 : mp_loaded_again();

	/* Pairs with the acquire in stacks_add(): loaded objects are recorded by then. */
	__atomic_store_n(&mp_local->stream_begun, 1, __ATOMIC_RELEASE);
	return ret;
}

int mp_stacks_record(const uint64_t *words, uint32_t n)
{
	int error;
	uint64_t *place = stream_claim_anywhere(n, &error);

	if (!place)
		return error;
	__builtin_memcpy(place + 1, words + 1, (n - 1) * sizeof(*words));
	/* The first word makes the record valid. */
	__atomic_store_n(place, words[0], __ATOMIC_RELEASE);
	return 0;
}

/*
 * Releases the slot if no other thread can be writing to it, and no child of a profiled process may
 * read it there (lineage.h).  Otherwise it stays in the file.
 */
int mp_stacks_flush(void)
{
	struct mp_stream *s = mp_local ? mp_local->stream : NULL;

	if (!s || mp_local->threaded || mprof_self->busy ||
	    (mp_local->forked && mp_file_is_profile()))
		return 0;
	mp_local->stream = NULL;
	s->slot.cur = s->word + s->end;
	s->slot.last_ticks = mprof_ticks();
	return mp_slot_release(&s->slot);
}

/* ---- the table ---- */

/*
 * Half the cost of a number is waiting for the cache line of its entry.  Programs repeat
 * themselves, so the entry that followed the last time is prefetched one call ahead.  With several
 * threads the hints do not change, because threads would overwrite each other's.
 */
MPROF_HOT void stacks_look_ahead(struct stack_cache *c, struct stack_table *t, uint32_t at)
{
	uint32_t mask = t->size - 1;
	struct entry *before = &t->entry[c->found & mask];

	c->found = at;
	__builtin_prefetch(&t->entry[__atomic_load_n(&t->entry[at].next, __ATOMIC_RELAXED) & mask]);
	if (__atomic_load_n(&before->next, __ATOMIC_RELAXED) != at && !mp_local->threaded)
		__atomic_store_n(&before->next, at, __ATOMIC_RELAXED);
}

/*
 * May run while other threads add: an entry's hash is stored first, then its id.  An entry without
 * an id, because a signal handler jumped out, gets the id of the next definition.
 */
MPROF_HOT uint32_t stacks_look(struct stack_cache *c, struct stack_table *t, uint64_t hash)
{
	if (!t)
		return 0;
	for (uint64_t i = hash;; i++) {
		uint32_t at = i & (t->size - 1);
		uint64_t found = __atomic_load_n(&t->entry[at].hash, __ATOMIC_RELAXED);

		if (found == hash) {
			stacks_look_ahead(c, t, at);
			/* Pairs with the release in stacks_put(): the definition is in the file. */
			return __atomic_load_n(&t->entry[at].id, __ATOMIC_ACQUIRE);
		}
		if (!found)
			return 0;
	}
}

/* Stores an id for `hash`; returns it, or the id that another thread stored before. */
static uint32_t stacks_put(struct stack_table *t, uint64_t hash, uint32_t id)
{
	for (uint64_t i = hash;; i++) {
		struct entry *e = &t->entry[i & (t->size - 1)];
		uint64_t found = 0;
		uint32_t none = 0;

		if (__atomic_compare_exchange_n(&e->hash, &found, hash, 0, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			found = hash;
		if (found == hash)
			return __atomic_compare_exchange_n(&e->id, &none, id, 0, __ATOMIC_ACQ_REL,
							   __ATOMIC_ACQUIRE)
				   ? id
				   : none;
	}
}

/* A large table is accessed at random: huge pages avoid most TLB misses. */
static void *stacks_table_memory(size_t bytes)
{
	enum { LARGE = 2 << 20 };
	char *p = sys_memory(bytes < LARGE ? bytes : bytes + LARGE), *at;

	if (!p || bytes < LARGE)
		return p;
	at = (char *)(((uintptr_t)p + LARGE - 1) & -(uintptr_t)LARGE);
	sys_madvise(at, bytes, MADV_HUGEPAGE);
	return at;
}

/*
 * A half-full table is replaced by one of twice the size.  Old ones stay: other threads may be
 * reading them.  Entries added to the old one meanwhile are defined again.
 */
static int stacks_grow_locked(void)
{
	struct stack_table *old = table, *t;
	uint32_t size = old ? old->size * 2 : TABLE_FIRST;
	size_t bytes = sizeof(*t) + (size_t)size * sizeof(struct entry);

	if (old && last_id < old->size / 2)
		return 0;
	t = size > TABLE_MOST ? NULL : stacks_table_memory(bytes);
	if (!t)
		return -ENOMEM;
	mp_self_mapped(t, bytes);
	t->size = size;
	for (uint32_t i = 0; old && i < old->size; i++)
		if (old->entry[i].id)
			stacks_put(t, old->entry[i].hash, old->entry[i].id);
	__atomic_store_n(&table, t, __ATOMIC_RELEASE);
	return 0;
}

static int stacks_grow(void)
{
	const struct stack_table *t = __atomic_load_n(&table, __ATOMIC_RELAXED);
	uint64_t signals;
	int ret;

	if (t && mp_stacks_count() < t->size / 2)
		return 0;
	mp_stacks_lock(&signals);
	ret = stacks_grow_locked();
	mp_stacks_unlock(&signals);
	return ret;
}

/* Defines frames [from, from + n) of c as a stack that joins `owner` at `depth`.  Returns its
 * id; 0 with -errno in *error. */
static uint32_t stacks_define(const struct stack_cache *c, uint32_t from, uint32_t n,
			      uint32_t owner, uint32_t depth, unsigned flags, int *error)
{
	uint64_t *word = stream_claim_anywhere(2 + n, error);
	uint32_t id;

	if (!word)
		return 0;
	id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
	word[1] = owner | (uint64_t)depth << 32;
	for (uint32_t i = 0; i < n; i++)
		word[2 + i] = STACK_SHOWN(c, from + i);
	__atomic_store_n(word,
			 MPROF_RECORD_STACK | flags << 4 | (uint64_t)n << 8 | (uint64_t)id << 32,
			 __ATOMIC_RELEASE);
	return id;
}

/* Called before the first record: records the loaded objects. */
static MPROF_COLD int stream_begin(void)
{
	uint64_t signals;
	int ret;

	mp_stacks_lock(&signals);
	ret = mp_stacks_begin();
	mp_stacks_unlock(&signals);
	return ret;
}

/*
 * Adds the stack of the frames from `first` on, of which the first `depth` are frames of the stack
 * `owner`.  A stack with very many new frames is defined in pieces, each joining the previous one.
 */
static uint32_t stacks_add(const struct stack_cache *c, uint64_t hash, uint32_t first,
			   uint32_t owner, uint32_t depth, unsigned flags)
{
	uint32_t n, id = 0;
	int error = 0;

	if (!__atomic_load_n(&mp_local->stream_begun, __ATOMIC_ACQUIRE))
		mp_failed(stream_begin());
	if (c->broken)
		__atomic_fetch_add(&through_signals, 1, __ATOMIC_RELAXED);
	do {
		n = c->n - first - depth < PIECE ? c->n - first - depth : PIECE;
		id = stacks_grow() < 0 ? 0
				       : stacks_define(c, first + depth, n, owner, depth,
						       depth ? 0 : flags, &error);
		owner = id;
		depth += n;
	} while (id && first + depth < c->n);
	mp_failed(error);
	return id ? stacks_put(__atomic_load_n(&table, __ATOMIC_ACQUIRE), hash, id)
		  : mp_stacks_none();
}

/* Handles a stack deeper than DEPTH: keeps only its innermost frames, which nothing can join. */
static MPROF_COLD uint32_t stacks_innermost(struct stack_cache *c)
{
	uint32_t first = c->n - (uint32_t)mp_config.depth, id;
	uint64_t h = ~mp_stacks_seed;

	for (uint32_t i = first; i < c->n; i++)
		h = mp_stack_hash(h, STACK_SHOWN(c, i));
	h += !h;
	id = stacks_look(c, __atomic_load_n(&table, __ATOMIC_ACQUIRE), h);
	if (id)
		return id;
	mp_cache_spend(c, mp_config.depth * 64); /* all of them are written to the file, too */
	return stacks_add(c, h, first, 0, 0, MPROF_STACK_TRUNCATED);
}

uint32_t mp_stacks_id(struct stack_cache *c, uint32_t kept)
{
	uint32_t flags = c->flags | (c->cut ? MPROF_STACK_TRUNCATED : 0), id;
	uint64_t hash;

	c->owned = kept < c->owned ? kept : c->owned;
	if (!c->n)
		return mp_stacks_none();
	if (mprof_unlikely(c->n > mp_config.depth))
		return stacks_innermost(c);
	hash = c->meta[c->n - 1].hash ^ flags;
	hash += !hash;
	id = stacks_look(c, __atomic_load_n(&table, __ATOMIC_ACQUIRE), hash);
	if (mprof_unlikely(!id))
		id = stacks_add(c, hash, 0, c->owned ? c->owner : 0, c->owned, flags);
	if (mprof_likely(id)) {
		c->owner = id;
		c->owned = c->n;
	}
	return id;
}
