// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * slots.c - slots: where threads store event words.
 *
 * A slot is a small shared mapping of the file, used again and again: its pages are faulted in
 * once, and its disk blocks reserved before.  A full slot is copied to a chunk by one pwritev, then
 * emptied.  A kill between the two leaves the same sequence number in both places, and the reader
 * takes it once:
 *
 *   chunk n written -> words zeroed -> slot.seq = n + 1 -> words of n + 1
 *
 * A process begins with a small slot; threads that fill theirs get larger ones while there are few
 * threads.  These slots are separate mappings; when released, they are offered to every process of
 * the run in header.free_slots.  Of many threads each gets one page, so that ten thousand threads
 * at once stay well under 100 MB of file, and not as separate mappings: many such slots are one
 * part of the file and one mapping, which stays.  Such a slot belongs to a thread's record, and so
 * to one thread after another.
 */
#include <errno.h>
#include <mprof/module.h>
#include <sys/uio.h>

#include "config.h"
#include "core.h"
#include "facts.h"
#include "file.h"
#include "limits.h"
#include "lineage.h"
#include "local.h"
#include "peak.h"
#include "pools.h"
#include "slots.h"
#include "sys.h"

#define SLOT_FIRST   16384u
#define THREADS_MANY 128u /* with this many live threads, slots share mappings */
#define MAPPED_MOST  256u /* slots that have their own mappings; zombies have some, too */
#define STREAM_GROWS 6u	  /* doublings: then a slot of stack records has 1 MiB */
#define LONG_BYTES   (8u * MPROF_LONG_WORDS)
#define HOMES_FIRST  64u
#define EVENT_MOST   8l /* words: LOG_ROOM of log.h */

/* Returns a power of two, at least `bytes`, that fits a page and CACHE_QTY records. */
static uint32_t slot_bytes(uint32_t bytes)
{
	while (bytes < mp_config.cache_qty * 8 + sizeof(struct mprof_extent) || bytes < mp_page())
		bytes *= 2;
	return bytes;
}

/* Should t's slot belong to its record and share a mapping with others? */
static int slot_is_shared(const struct mprof_thread *t)
{
	int has_one = t->slot && t->slot != t->home;

	return t->number && (mp_local->live_threads >= THREADS_MANY ||
			     mp_local->mapped_slots >= MAPPED_MOST + (unsigned)has_one);
}

/*
 * The size that a thread's slot should have now.  shared: slot_is_shared(), which other threads
 * change.
 */
static uint32_t slot_size(const struct mprof_thread *t, int shared)
{
	uint32_t stream = SLOT_FIRST << (t->flushes < STREAM_GROWS ? t->flushes : STREAM_GROWS);

	if (!t->number)
		return stream > mp_page() ? stream : mp_page();
	if (shared)
		return slot_bytes(4096);
	return slot_bytes(t->flushes && mp_local->live_threads < 16 ? 65536 : SLOT_FIRST);
}

/* free_slots: an offset is a multiple of at least 4096, so its low bits hold log2 of the size. */
static uint64_t free_slot_take(uint32_t bytes)
{
	uint64_t *list = mp_file.header->free_slots;
	unsigned log2 = (unsigned)__builtin_ctz(bytes);

	for (unsigned i = 0; i < MPROF_FREE_SLOTS; i++) {
		uint64_t v = __atomic_load_n(&list[i], __ATOMIC_RELAXED);

		if ((v & 4095) == log2 && v > 4095 &&
		    __atomic_compare_exchange_n(&list[i], &v, 0, 0, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return v & ~(uint64_t)4095;
	}
	return 0;
}

static void free_slot_give(uint64_t offset, uint32_t bytes)
{
	uint64_t *list = mp_file.header->free_slots, v = offset | (unsigned)__builtin_ctz(bytes);

	for (unsigned i = 0; i < MPROF_FREE_SLOTS; i++) {
		uint64_t none = 0;

		/* Pairs with the acquire in free_slot_take(): the slot is marked free by then. */
		if (__atomic_compare_exchange_n(&list[i], &none, v, 0, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return;
	}
}

/* Maps a part of the file whose disk blocks are reserved.  0 or -errno. */
static int map_part(uint64_t offset, uint64_t bytes, char **out)
{
	void *map;
	int fd;

	fd = mp_fd_hold();
	if (fd < 0)
		return -EIO;
	map = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	mp_fd_release();
	if (sys_failed(map))
		return -ENOMEM;
	/*
	 * A forked child does not need it: in a chain of forks, each would keep all its ancestors'.
	 */
	sys_madvise(map, bytes, MADV_DONTFORK);
	mp_sigbus_cover(map, bytes);
	*out = map;
	return 0;
}

int mp_slots_map_new(uint64_t bytes, uint64_t *offset, char **out)
{
	int ret;

	*offset = mp_extent_take(bytes, mp_page());
	ret = *offset ? mp_file_reserve(*offset, bytes) : -EIO;
	return ret < 0 ? ret : map_part(*offset, bytes, out);
}

static uint64_t *slot_end(const struct mprof_thread *t)
{
	return (uint64_t *)((char *)t->slot + t->slot_bytes);
}

static uint32_t slot_words(const struct mprof_thread *t)
{
	return (uint32_t)(t->cur - (uint64_t *)(t->slot + 1));
}

/*
 * Lets the free space end where it is the thread's turn to time a call (times.h), so that other
 * calls have nothing to count.
 */
static void slot_limit(struct mprof_thread *t)
{
	uint64_t *end = slot_end(t);
	long left = t->number ? (long)t->time_left : end - t->cur;

	t->time_words = slot_words(t);
	t->end = left + 3 * EVENT_MOST > end - t->cur ? end : t->cur + left + EVENT_MOST;
}

int mp_slot_turn(struct mprof_thread *t)
{
	uint32_t words = t->slot ? slot_words(t) - t->time_words : 0;

	t->time_words += words;
	t->time_left -= words < t->time_left ? words : t->time_left;
	return !t->time_left;
}

int mp_slot_room(struct mprof_thread *t)
{
	if (!t->slot || slot_end(t) - t->cur < 2 * EVENT_MOST)
		return mp_slot_flush(t);
	slot_limit(t);
	return 0;
}

/* Begins an empty chunk: the extent's base time is the thread's last event. */
static void slot_begin(struct mprof_thread *t)
{
	struct mprof_extent *x = t->slot;

	x->first_ticks = t->last_ticks;
	t->last_addr = 0;
	t->last_stack = t->last_free_stack = 0;
	t->cur = (uint64_t *)(x + 1);
	slot_limit(t);
	t->seq += !t->seq; /* numbers begin at 1 */
	/* All words are zero before the number that makes them valid. */
	__atomic_store_n(&x->seq, t->seq, __ATOMIC_RELEASE);
}

/*
 * The map function of a pool: maps slots without an owner.  Until the last header is stored, which
 * is the first slot's, the range is one free extent in the file.
 */
static int slot_map_homes(const struct mp_pool_kind *kind, uint32_t units, struct mp_piece *out)
{
	uint64_t bytes = (uint64_t)units * kind->unit;
	struct mprof_extent gap;
	int ret =
	    bytes > MPROF_EXTENT_MAX ? -ENOMEM : mp_slots_map_new(bytes, &out->offset, &out->at);

	if (ret < 0)
		return ret;
	mp_extent_fill(&gap, MPROF_EXTENT_FREE, out->offset, (uint32_t)bytes, 0);
	*(struct mprof_extent *)out->at = gap;
	for (uint32_t i = units; i-- > 0;)
		mp_extent_fill((struct mprof_extent *)(out->at + (size_t)i * kind->unit),
			       MPROF_EXTENT_FREE, out->offset + (uint64_t)i * kind->unit,
			       kind->unit, 0);
	return 0;
}

/* Gives t the empty slot of its record.  0 or -errno. */
static int slot_home_take(struct mprof_thread *t, uint32_t bytes)
{
	struct mp_pool_kind kind = { bytes, HOMES_FIRST, slot_map_homes };
	int ret = 0;

	if (!t->home)
		t->home = mp_pool_take(&mp_local->slots, &kind, 1, &t->home_offset, &ret);
	t->slot = t->home;
	t->slot_offset = t->home_offset;
	return t->home ? 0 : ret;
}

/* Gives t a slot with its own mapping.  0 or -errno. */
static int slot_mapped_take(struct mprof_thread *t, uint32_t bytes)
{
	uint64_t offset = free_slot_take(bytes);
	int used = offset != 0, ret;
	char *map;

	ret = used ? map_part(offset, bytes, &map) : mp_slots_map_new(bytes, &offset, &map);
	if (ret < 0)
		return ret;
	if (used)
		__builtin_memset(map + sizeof(*t->slot), 0, bytes - sizeof(*t->slot));
	__atomic_fetch_add(&mp_local->mapped_slots, 1, __ATOMIC_RELAXED);
	mp_self_bytes(bytes);
	t->slot = (struct mprof_extent *)map;
	t->slot_offset = offset;
	return 0;
}

int mp_slot_take(struct mprof_thread *t)
{
	int shared = slot_is_shared(
	    t); /* called once: a slot of another size would overlap its neighbours */
	uint32_t bytes = slot_size(t, shared);
	int ret = shared ? slot_home_take(t, bytes) : slot_mapped_take(t, bytes);

	if (ret < 0)
		return ret;
	mp_extent_fill(t->slot, t->number ? MPROF_EXTENT_SLOT : MPROF_EXTENT_STACKS_SLOT,
		       t->slot_offset, bytes, t->number);
	t->slot_bytes = bytes;
	slot_begin(t);
	return 0;
}

static void slot_drop(struct mprof_thread *t)
{
	struct mprof_extent *x = t->slot;

	t->cur = t->end = NULL;
	t->slot = NULL;
	if (!x)
		return;
	__atomic_store_n(&x->kind, MPROF_EXTENT_FREE, __ATOMIC_RELEASE);
	if (x == t->home) /* it is empty, and stays mapped for the next thread */
		return;
	mp_sigbus_uncover(x);
	sys_munmap(x, t->slot_bytes);
	__atomic_fetch_sub(&mp_local->mapped_slots, 1, __ATOMIC_RELAXED);
	mp_self_bytes(-(int64_t)t->slot_bytes);
	if (!mp_file.broken)
		free_slot_give(t->slot_offset, t->slot_bytes);
}

/* Copies `used` bytes of words to a new chunk. */
static int slot_chunk_write(const struct mprof_thread *t, size_t used)
{
	size_t bytes = (sizeof(struct mprof_extent) + used + 63) & ~(size_t)63;
	/* A full slot is written in whole pages: the page cache need not complete partial ones. */
	int whole = bytes + 128 > t->slot_bytes;
	struct mprof_extent x;
	struct iovec part[2] = { { &x, sizeof(x) }, { t->slot + 1, bytes - sizeof(x) } };
	struct rlimit lim;
	uint64_t offset;
	long n;
	int fd;

	if (whole)
		part[1].iov_len = (bytes = t->slot_bytes) - sizeof(x);
	offset = mp_extent_take(bytes, whole ? mp_page() : MPROF_EXTENT_ALIGN);
	if (!offset)
		return -EIO;
	if (mp_file.crowded && t->number) { /* its events refer to stacks, which may follow */
		mp_extent_fill(&x, MPROF_EXTENT_FREE, offset, (uint32_t)bytes, 0);
		mp_file_write(offset, &x, sizeof(x));
		return -ENOSPC;
	}
	if (sys_getrlimit(RLIMIT_FSIZE, &lim) == 0 && offset + bytes > lim.rlim_cur)
		return -EFBIG;
	mp_extent_fill(&x, t->number ? MPROF_EXTENT_EVENTS : MPROF_EXTENT_STACKS, offset,
		       (uint32_t)bytes, t->number);
	x.used = (uint32_t)used;
	x.seq = t->seq;
	x.first_ticks = t->slot->first_ticks;
	x.last_ticks = t->last_ticks;
	x.check = mprof_checksum(t->slot + 1, used);
	fd = mp_fd_hold();
	if (fd < 0)
		return fd;
	do
		n = mp_sys(SYS_pwritev, fd, (long)part, 2, (long)offset, 0, 0);
	while (n == -EINTR);
	mp_fd_release();
	if (n != (long)bytes)
		return n < 0 ? (int)n : -ENOSPC;
	__atomic_fetch_add(&mp_file.header->chunks, 1, __ATOMIC_RELAXED);
	if (!t->number)
		mp_lineage_part(&x);
	return 0;
}

/* Copies the slot to a chunk and empties it.  The slot must exist. */
static int slot_empty(struct mprof_thread *t)
{
	size_t used = (size_t)((char *)t->cur - (char *)(t->slot + 1));
	size_t room = t->slot_bytes - sizeof(*t->slot);
	int ret;

	if (t->slot->magic != MPROF_EXTENT_MAGIC) /* zeros: the file was truncated and grew again */
		mp_file.broken = MPROF_LOST_FILE + 1;
	ret = mp_file.broken ? -EIO : used ? slot_chunk_write(t, used) : 0;
	if (ret < 0)
		return ret;
	t->flushes++;
	/* Also clear the values of a LONG record whose head was never stored. */
	__builtin_memset(t->slot + 1, 0, used + LONG_BYTES < room ? used + LONG_BYTES : room);
	/* A number without a chunk would look like a lost chunk. */
	t->seq += used != 0;
	slot_begin(t);
	return 0;
}

/* Begins the next chunk: in this slot, a larger one, or a first one. */
static int slot_flush(struct mprof_thread *t)
{
	int ret = t->slot ? slot_empty(t) : mp_slot_take(t);

	if (ret < 0 || slot_size(t, slot_is_shared(t)) <= t->slot_bytes)
		return ret;
	slot_drop(t);
	return mp_slot_take(t);
}

/* Called after a chunk was written: checks whether old chunks can be dropped, or the budget is
 * spent. */
static void slot_written(void)
{
	if (mp_config.last_bytes | mp_config.last_seconds)
		mp_recent_keep(mprof_ticks());
	if (mp_config.budget)
		mp_budget_look(mprof_ticks());
}

/*
 * With signals blocked: a handler that jumped out would leave half a chunk, or a slot in two lists.
 */
int mp_slot_flush(struct mprof_thread *t)
{
	uint64_t signals;
	int ret;

	mp_signals_block(&signals);
	ret = slot_flush(t);
	if (ret == 0) {
		mp_sample_maybe();
		mp_peak_look(1, mprof_ticks());
		slot_written();
	}
	mp_signals_restore(&signals);
	return ret;
}

int mp_slot_release(struct mprof_thread *t)
{
	uint64_t signals;
	int ret;

	mp_signals_block(&signals);
	mp_peak_look(1, mprof_ticks());
	ret = t->slot ? slot_empty(t) : 0;
	if (ret == 0) {
		slot_drop(t);
		slot_written();
	}
	mp_signals_restore(&signals);
	return ret;
}
