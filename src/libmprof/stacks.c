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
 * Two stacks would count as one if 40 bits of their hashes are the same, and the others lead to
 * places nearby: with 8 million stacks that happens once in about 70,000 runs.
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
#define TABLE_MOST  (1u << 24) /* 256 MiB with the entries: further stacks are counted, not kept */
#define ID_BITS	    24u
#define CHUNK_LOG2  13u /* ids in the first chunk; each later one doubles their number */

/* What is known of a stack, found by its id.  A hint is an id. */
struct entry {
	uint64_t hash;	/* 0: not kept */
	uint32_t next;	/* a hint: the stack that followed this one last time */
	uint32_t other; /* a hint: the one that followed it before */
};

/*
 * Finds ids by hash.  A slot is the upper 40 bits of the hash, and the id; its place follows from
 * the lower bits.  0 is free.
 */
struct stack_table {
	uint32_t size; /* a power of two */
	uint64_t slot[];
};
#define SLOT_ID(slot)  ((uint32_t)((slot) & ((1u << ID_BITS) - 1)))
#define SLOT_TAG(hash) ((hash) >> ID_BITS << ID_BITS)
MPROF_STATIC_ASSERT(TABLE_MOST == 1u << ID_BITS, "place and tag are all bits of the hash");

uint64_t mp_stacks_seed MP_HIDDEN = 0x243f6a8885a308d3ull;
static struct stack_table *table;
/* Entries never move: each chunk has those of ids of one length in bits, the first all shorter. */
static struct entry *chunks[ID_BITS - CHUNK_LOG2 + 1];
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

MPROF_HOT unsigned stacks_chunk(uint32_t id)
{
	return 32 - CHUNK_LOG2 - (unsigned)__builtin_clz(id | ((1u << CHUNK_LOG2) - 1));
}

/* Ids in all chunks before this one. */
static inline uint32_t stacks_chunk_first(unsigned chunk)
{
	return chunk ? 1u << (CHUNK_LOG2 + chunk - 1) : 0;
}

/* The chunk must exist. */
MPROF_HOT struct entry *stacks_entry(uint32_t id)
{
	const unsigned chunk = stacks_chunk(id);

	return &__atomic_load_n(&chunks[chunk], __ATOMIC_ACQUIRE)[id - stacks_chunk_first(chunk)];
}

/* Pairs with the release in stacks_keep(): the definition is in the file. */
MPROF_HOT int stacks_is(uint32_t id, uint64_t hash)
{
	return __atomic_load_n(&stacks_entry(id)->hash, __ATOMIC_ACQUIRE) == hash;
}

/* May the hints of an entry change?  Threads would overwrite each other's for ever, and wait for
 * the cache line: with several, the first two that followed stay. */
MPROF_HOT int stacks_learns(const struct entry *e)
{
	return !mp_local->threaded || !__atomic_load_n(&e->other, __ATOMIC_RELAXED);
}

/* Makes `id` the last stack of this thread, and prefetches the entry of the stack that probably
 * follows. */
MPROF_HOT void stacks_follow(struct stack_cache *c, uint32_t id)
{
	struct entry *before = stacks_entry(c->last);

	if (c->follower != id && stacks_learns(before)) {
		__atomic_store_n(&before->other, c->follower, __ATOMIC_RELAXED);
		__atomic_store_n(&before->next, id, __ATOMIC_RELAXED);
	}
	c->last = id;
	c->follower = __atomic_load_n(&stacks_entry(id)->next, __ATOMIC_RELAXED);
	__builtin_prefetch(stacks_entry(c->follower));
}

/* Finds the id of a hash in the table; 0 if it has none. */
MPROF_HOT uint32_t stacks_find(const struct stack_table *t, uint64_t hash)
{
	for (uint64_t i = hash;; i++) {
		uint64_t slot = __atomic_load_n(&t->slot[i & (t->size - 1)], __ATOMIC_ACQUIRE);

		if (!slot || SLOT_TAG(slot) == SLOT_TAG(hash))
			return SLOT_ID(slot);
	}
}

/*
 * Programs repeat themselves, so the two stacks that followed the last one before are tried first.
 * Their entries are near each other, because ids are assigned in the order of calls; a slot of the
 * table is anywhere, and the wait for its cache line costs more than all the rest.
 */
MPROF_HOT uint32_t stacks_look(struct stack_cache *c, uint64_t hash)
{
	/* Pairs with the release in stacks_grow_locked(). */
	const struct stack_table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	uint32_t id = c->follower;

	if (mprof_unlikely(!t))
		return 0;
	if (mprof_unlikely(!stacks_is(id, hash))) {
		id = __atomic_load_n(&stacks_entry(c->last)->other, __ATOMIC_RELAXED);
		if (!stacks_is(id, hash))
			id = stacks_find(t, hash);
		if (mprof_unlikely(!id))
			return 0;
	}
	stacks_follow(c, id);
	return id;
}

/* Puts an id into the table; returns it, or the id that another thread put there before. */
static uint32_t stacks_put(struct stack_table *t, uint64_t hash, uint32_t id)
{
	for (uint64_t i = hash;; i++) {
		uint64_t slot = 0;

		if (__atomic_compare_exchange_n(&t->slot[i & (t->size - 1)], &slot,
						SLOT_TAG(hash) | id, 0, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return id;
		if (SLOT_TAG(slot) == SLOT_TAG(hash))
			return SLOT_ID(slot);
	}
}

/* A large table is accessed at random: huge pages avoid most TLB misses. */
static void *stacks_memory(size_t bytes)
{
	enum { LARGE = 2 << 20 };
	char *p = sys_memory(bytes < LARGE ? bytes : bytes + LARGE), *at;

	if (!p || bytes < LARGE)
		return p;
	at = (char *)(((uintptr_t)p + LARGE - 1) & -(uintptr_t)LARGE);
	sys_madvise(at, bytes, MADV_HUGEPAGE);
	return at;
}

static int stacks_chunk_locked(uint32_t id)
{
	const unsigned chunk = stacks_chunk(id);
	const size_t bytes = sizeof(struct entry) << (CHUNK_LOG2 + chunk - !!chunk);
	struct entry *at;

	if (chunks[chunk])
		return 0;
	at = stacks_memory(bytes);
	if (!at)
		return -ENOMEM;
	mp_self_mapped(at, bytes);
	__atomic_store_n(&chunks[chunk], at, __ATOMIC_RELEASE);
	return 0;
}

/*
 * A half-full table is replaced by one of twice the size.  Old ones stay: other threads may be
 * reading them.  What is put into the old one meanwhile is defined again.
 */
static int stacks_grow_locked(void)
{
	struct stack_table *old = table, *t;
	uint32_t size = old ? old->size * 2 : TABLE_FIRST;
	size_t bytes = sizeof(*t) + (size_t)size * sizeof(*t->slot);

	if (old && last_id < old->size / 2)
		return 0;
	t = size > TABLE_MOST ? NULL : stacks_memory(bytes);
	if (!t)
		return -ENOMEM;
	mp_self_mapped(t, bytes);
	t->size = size;
	for (uint32_t id = 1; old && id <= last_id; id++) {
		uint64_t hash = chunks[stacks_chunk(id)] ? stacks_entry(id)->hash : 0;

		if (hash)
			stacks_put(t, hash, id);
	}
	__atomic_store_n(&table, t, __ATOMIC_RELEASE);
	return 0;
}

/* Makes room for one more id. */
static int stacks_grow(void)
{
	const struct stack_table *t = __atomic_load_n(&table, __ATOMIC_RELAXED);
	const uint32_t id = mp_stacks_count() + 1;
	uint64_t signals;
	int ret;

	if (t && id <= t->size / 2 && chunks[stacks_chunk(id)])
		return 0;
	mp_stacks_lock(&signals);
	ret = stacks_chunk_locked(id);
	if (!ret)
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

/* Lets `hash` be found.  Returns its id: that of another thread that was faster. */
static uint32_t stacks_keep(struct stack_cache *c, uint64_t hash, uint32_t id)
{
	/* Others may have used up the room that stacks_grow() has made. */
	if (!__atomic_load_n(&chunks[stacks_chunk(id)], __ATOMIC_ACQUIRE))
		return id;
	__atomic_store_n(&stacks_entry(id)->hash, hash, __ATOMIC_RELEASE);
	id = stacks_put(__atomic_load_n(&table, __ATOMIC_ACQUIRE), hash, id);
	stacks_follow(c, id);
	return id;
}

/*
 * Adds the stack of the frames from `first` on, of which the first `depth` are frames of the stack
 * `owner`.  A stack with very many new frames is defined in pieces, each joining the previous one.
 */
static uint32_t stacks_add(struct stack_cache *c, uint64_t hash, uint32_t first, uint32_t owner,
			   uint32_t depth, unsigned flags)
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
	return id ? stacks_keep(c, hash, id) : mp_stacks_none();
}

/* Handles a stack deeper than DEPTH: keeps only its innermost frames, which nothing can join. */
static MPROF_COLD uint32_t stacks_innermost(struct stack_cache *c)
{
	uint32_t first = c->n - (uint32_t)mp_config.depth, id;
	uint64_t h = ~mp_stacks_seed;

	for (uint32_t i = first; i < c->n; i++)
		h = mp_stack_hash(h, STACK_SHOWN(c, i));
	h += !h;
	id = stacks_look(c, h);
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
	/* In the tag: the same frames with other flags lead to places nearby. */
	hash = c->meta[c->n - 1].hash ^ (uint64_t)flags << 60;
	hash += !hash;
	id = stacks_look(c, hash);
	if (mprof_unlikely(!id))
		id = stacks_add(c, hash, 0, c->owned ? c->owner : 0, c->owned, flags);
	if (mprof_likely(id)) {
		c->owner = id;
		c->owned = c->n;
	}
	return id;
}
