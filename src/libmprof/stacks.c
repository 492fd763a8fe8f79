// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * stacks.c - each different stack of a process gets a number, and one
 * definition in the process's stream of stack records: the number of an
 * earlier stack, the depth where it joins that one, and its own new frames.
 *
 * Lookups read a table of (hash, number) without a lock.  New stacks are rare:
 * they are added under the lock, after their definition was written, so that a
 * number is in the file before any event that uses it.  A forked child has a
 * copy of the table with the rest of its memory and goes on numbering; its
 * START fact says up to which number its parent's stream has them.
 *
 * Two stacks with one hash of 64 bits would be taken for one: with 10 million
 * stacks that happens once in 300,000 runs.
 */
#include <errno.h>

#include "unwind.h"

#define PIECE	    1024u /* new frames of one definition: fits the smallest slot */
#define SIGNALS	    16384u
#define TABLE_FIRST (1u << 14)
#define TABLE_MOST  (1u << 24) /* 256 MiB: beyond, stacks are not kept, and that is counted */

struct entry {
	uint64_t hash;
	uint64_t id; /* stored last: 0 means the entry is not there yet */
};

struct stack_table {
	uint32_t size; /* a power of two */
	struct entry entry[];
};

uint64_t mp_stacks_seed MP_HIDDEN = 0x243f6a8885a308d3ull;
static struct stack_table *table;
static uint32_t last_id;
static uint32_t through_signals; /* stacks that lead through a handler */

uint32_t mp_stacks_count(void)
{
	return __atomic_load_n(&last_id, __ATOMIC_RELAXED);
}

void mp_stacks_changed(void)
{
	/* Any other start value does: hashes of old stacks are never met again. */
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

/* A handler that jumps out of here would leave the lock held for ever. */
void mp_stacks_lock(uint64_t *signals)
{
	mp_lock_blocking(&mp_local->stacks_lock, signals);
}

void mp_stacks_unlock(const uint64_t *signals)
{
	mp_unlock_blocking(&mp_local->stacks_lock, signals);
}

/* ---- the stream ---- */

static struct mprof_thread *stream(void)
{
	struct mprof_thread *w = &mp_local->stream;

	if (!w->slot && mp_slot_take(w) < 0)
		return NULL;
	return w;
}

void mp_stacks_begin(void)
{
	if (mp_local->stream_begun)
		return;
	mp_local->stream_begun = 1;
	mp_loaded_again();
}

int mp_stacks_record(const uint64_t *words, uint32_t n)
{
	struct mprof_thread *w = stream();

	if (!w)
		return -ENOSPC;
	if (w->cur + n > w->end && (mp_slot_flush(w) < 0 || w->cur + n > w->end))
		return -ENOSPC;
	__builtin_memcpy(w->cur + 1, words + 1, (n - 1) * sizeof(*words));
	/* Its first word makes it count. */
	__atomic_store_n(w->cur, words[0], __ATOMIC_RELEASE);
	w->cur += n;
	w->last_ticks = mprof_ticks();
	return 0;
}

void mp_stacks_flush(void)
{
	uint64_t signals;

	if (!mp_local || !mp_local->stream.slot)
		return;
	mp_stacks_lock(&signals);
	mp_slot_release(&mp_local->stream);
	mp_stacks_unlock(&signals);
}

/* ---- the table ---- */

static uint32_t look(const struct stack_table *t, uint64_t hash)
{
	if (!t)
		return 0;
	for (uint64_t i = hash;; i++) {
		const struct entry *e = &t->entry[i & (t->size - 1)];
		uint64_t id = __atomic_load_n(&e->id, __ATOMIC_ACQUIRE);

		if (!id || e->hash == hash)
			return (uint32_t)id;
	}
}

static void put(struct stack_table *t, uint64_t hash, uint64_t id)
{
	uint64_t i = hash;

	while (t->entry[i & (t->size - 1)].id)
		i++;
	t->entry[i & (t->size - 1)].hash = hash;
	__atomic_store_n(&t->entry[i & (t->size - 1)].id, id, __ATOMIC_RELEASE);
}

/* A large table is met in random places: large pages spare it the misses of the TLB. */
static void *table_memory(size_t bytes)
{
	enum { LARGE = 2 << 20 };
	char *p = sys_memory(bytes < LARGE ? bytes : bytes + LARGE), *at;

	if (!p || bytes < LARGE)
		return p;
	at = (char *)(((uintptr_t)p + LARGE - 1) & -(uintptr_t)LARGE);
	sys_madvise(at, bytes, MADV_HUGEPAGE);
	return at;
}

/* Room for one more, at most half full.  Old tables stay: somebody may be reading them. */
static int grow(void)
{
	struct stack_table *old = table, *t;
	uint32_t size = old ? old->size * 2 : TABLE_FIRST;
	size_t bytes = sizeof(*t) + (size_t)size * sizeof(struct entry);

	if (old && last_id < old->size / 2)
		return 0;
	t = size > TABLE_MOST ? NULL : table_memory(bytes);
	if (!t)
		return -ENOMEM;
	mp_self_bytes((int64_t)bytes);
	t->size = size;
	for (uint32_t i = 0; old && i < old->size; i++)
		if (old->entry[i].id)
			put(t, old->entry[i].hash, old->entry[i].id);
	__atomic_store_n(&table, t, __ATOMIC_RELEASE);
	return 0;
}

/* Frames [from, from + n) of c as a stack that joins `owner` at `depth`.  0 or -errno. */
static int define(const struct stack_cache *c, uint32_t from, uint32_t n, uint32_t owner,
		  uint32_t depth, unsigned flags)
{
	/* Only one at a time: the lock is held. */
	static uint64_t words[2 + PIECE];

	words[0] =
	    MPROF_RECORD_STACK | flags << 4 | (uint64_t)n << 8 | (uint64_t)(last_id + 1) << 32;
	words[1] = owner | (uint64_t)depth << 32;
	for (uint32_t i = 0; i < n; i++)
		words[2 + i] = c->frame[from + i].pc;
	if (mp_stacks_record(words, 2 + n) < 0)
		return -ENOSPC;
	__atomic_store_n(&last_id, last_id + 1, __ATOMIC_RELEASE);
	return 0;
}

/*
 * Frames from `first` on are the stack; those before `kept` are in `owner`.  A
 * stack of very many new frames is defined in pieces, each one joining the last.
 */
static uint32_t add(const struct stack_cache *c, uint64_t hash, uint32_t first, uint32_t kept,
		    unsigned flags)
{
	uint32_t owner, depth, id = 0;
	uint64_t signals;

	/* Frames of a stack that was cut off at DEPTH have no owner. */
	while (kept > first && !c->meta[kept - 1].owner)
		kept--;
	owner = kept > first ? c->meta[kept - 1].owner : 0;
	depth = kept - first;

	mp_stacks_lock(&signals);
	mp_stacks_begin();
	through_signals += c->broken != 0;
	id = look(table, hash);
	while (!id && grow() == 0) {
		uint32_t n = c->n - first - depth;
		int more = n > PIECE;

		n = more ? PIECE : n;
		if (define(c, first + depth, n, owner, depth, depth ? 0 : flags) < 0)
			break;
		owner = last_id;
		depth += n;
		if (!more) {
			id = last_id;
			put(table, hash, id);
		}
	}
	mp_stacks_unlock(&signals);
	return id ? id : mp_stacks_none();
}

/* Deeper than DEPTH: its innermost frames only, which nothing can be joined to. */
static MPROF_COLD uint32_t innermost(struct stack_cache *c)
{
	uint32_t first = c->n - (uint32_t)mp_config.depth, id;
	uint64_t h = ~mp_stacks_seed;

	for (uint32_t i = first; i < c->n; i++)
		h = mp_stack_hash(h, c->frame[i].pc);
	id = look(__atomic_load_n(&table, __ATOMIC_ACQUIRE), h);
	if (id)
		return id;
	mp_cache_tire(c, mp_config.depth * 64); /* all of them go to the file, too */
	return add(c, h, first, first, MPROF_STACK_TRUNCATED);
}

uint32_t mp_stacks_id(struct stack_cache *c, uint32_t kept)
{
	uint32_t flags = c->flags | (c->cut ? MPROF_STACK_TRUNCATED : 0), id;
	uint64_t hash;

	if (!c->n)
		return mp_stacks_none();
	if (mprof_unlikely(c->n > mp_config.depth))
		return innermost(c);
	hash = c->meta[c->n - 1].hash ^ flags;
	id = look(__atomic_load_n(&table, __ATOMIC_ACQUIRE), hash);
	if (mprof_unlikely(!id))
		id = add(c, hash, 0, kept, flags);
	for (uint32_t i = kept; i < c->n; i++)
		c->meta[i].owner = id;
	return id;
}
