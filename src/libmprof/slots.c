// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * slots.c - where a thread writes: a slot of event words, or a record of counts.
 *
 * A slot is a small shared mapping of the file, reused for ever: its pages are
 * faulted once and its disk blocks reserved before.  A full slot is copied to a
 * chunk by one pwritev, then emptied.  A kill between the two leaves the same
 * sequence number in both places, and the reader takes it once:
 *
 *   chunk n written -> words zeroed -> slot.seq = n + 1 -> words of n + 1
 *
 * A process begins with a small slot; threads that fill theirs get larger ones
 * while there are few of them, and a crowd gets one page each, so that ten
 * thousand threads at once stay well under 100 MB of file.  Slots given up are
 * offered to every process of the run in header.free_slots.
 */
#include <errno.h>
#include <sys/uio.h>

#include "internal.h"

#define SLOT_FIRST    16384u
#define COUNTS_RECORD (sizeof(struct mprof_extent) + sizeof(struct mprof_counts))
#define COUNTS_KEPT   65536u /* ended threads' records beyond this many are summed up in one */

void mp_self_bytes(int64_t bytes)
{
	struct mprof_process_entry *e = mp_entry();
	uint64_t now = __atomic_add_fetch(&mp_local->self_bytes, (uint64_t)bytes, __ATOMIC_RELAXED);

	if (e)
		__atomic_store_n(&e->self_bytes, now, __ATOMIC_RELAXED);
}

/* A power of two: what a thread should have now. */
static uint32_t slot_size(const struct mprof_thread *t)
{
	uint32_t live = mp_local->live_threads, bytes;
	uint64_t asked = mp_config.cache_qty * 8;

	if (!t->number) {
		bytes = t->flushes ? 65536 : SLOT_FIRST;
		return bytes > mp_page() ? bytes : mp_page();
	}
	bytes = live < 16 ? 65536 : live < 128 ? 16384 : 4096;
	if (!t->flushes && bytes > SLOT_FIRST)
		bytes = SLOT_FIRST;
	while (bytes < asked + sizeof(struct mprof_extent) || bytes < mp_page())
		bytes *= 2;
	return bytes;
}

/* free_slots: offset is a multiple of 4096 at least, so its low bits hold log2 of the size. */
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

/* Maps a range of the file for storing.  Its blocks are there, so a store cannot fail. */
static void *map_range(uint64_t offset, uint64_t bytes, int is_reserved)
{
	void *map;
	int fd;

	if (!is_reserved && mp_file_reserve(offset, bytes) < 0) {
		mp_stop(MPROF_LOST_SPACE, "no room for the next part of the file");
		return NULL;
	}
	fd = mp_fd_hold();
	if (fd < 0) {
		mp_stop(MPROF_LOST_FILE, "the file is gone");
		return NULL;
	}
	map = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	mp_fd_release();
	if (sys_failed(map)) {
		mp_stop(MPROF_LOST_MEMORY, "no address space for a part of the file");
		return NULL;
	}
	/* A forked child has no use for it: a chain of forks would keep all its ancestors'. */
	sys_madvise(map, bytes, MADV_DONTFORK);
	mp_self_bytes((int64_t)bytes);
	return map;
}

/* An empty chunk begins: the extent's base of time is the thread's last event. */
static void slot_begin(struct mprof_thread *t)
{
	struct mprof_extent *x = t->slot;

	x->first_ticks = t->last_ticks;
	t->last_addr = 0;
	t->last_stack = t->last_free_stack = 0;
	t->cur = (uint64_t *)(x + 1);
	t->end = (uint64_t *)((char *)x + t->slot_bytes);
	t->seq += !t->seq; /* from 1 */
	/* All zero words come before the number that makes them count. */
	__atomic_store_n(&x->seq, t->seq, __ATOMIC_RELEASE);
}

int mp_slot_take(struct mprof_thread *t)
{
	uint32_t bytes = slot_size(t);
	uint64_t offset = free_slot_take(bytes);
	int used = offset != 0;
	struct mprof_extent *x;

	if (!used)
		offset = mp_extent_take(bytes, mp_page());
	x = offset ? map_range(offset, bytes, used) : NULL;
	if (!x)
		return -ENOSPC;
	if (used)
		__builtin_memset(x + 1, 0, bytes - sizeof(*x));
	mp_extent_fill(x, t->number ? MPROF_EXTENT_SLOT : MPROF_EXTENT_STACKS_SLOT, offset, bytes,
		       t->number);
	t->slot = x;
	t->slot_offset = offset;
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
	sys_munmap(x, t->slot_bytes);
	mp_self_bytes(-(int64_t)t->slot_bytes);
	if (!mp_file.broken)
		free_slot_give(t->slot_offset, t->slot_bytes);
}

/* Copies `used` bytes of words to a chunk of their own. */
static int chunk_write(const struct mprof_thread *t, size_t used)
{
	size_t bytes = (sizeof(struct mprof_extent) + used + 63) & ~(size_t)63;
	/* A full slot goes out in whole pages: the page cache need not mend their edges. */
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
	return 0;
}

/* Copies and empties the slot; there is one. */
static int slot_empty(struct mprof_thread *t)
{
	size_t used = (size_t)((char *)t->cur - (char *)(t->slot + 1));
	int ret;

	if (t->slot->magic != MPROF_EXTENT_MAGIC) /* zeros: the file was cut and grew again */
		mp_file.broken = MPROF_LOST_FILE + 1;
	ret = mp_file.broken ? -EIO : used ? chunk_write(t, used) : 0;
	if (ret < 0) {
		mp_stop(mp_file.broken ? MPROF_LOST_FILE : MPROF_LOST_SPACE,
			mp_file.broken ? "the file was truncated or removed" : "no space left");
		return ret;
	}
	t->flushes++;
	__builtin_memset(t->slot + 1, 0, used);
	/* A number that no chunk has would look like a chunk that was lost. */
	t->seq += used != 0;
	slot_begin(t);
	return 0;
}

int mp_slot_flush(struct mprof_thread *t)
{
	int ret = t->slot ? slot_empty(t) : mp_slot_take(t);

	if (ret < 0)
		return ret;
	mp_sample_maybe();
	mp_peak_look(1, mprof_ticks());
	if (slot_size(t) > t->slot_bytes) {
		slot_drop(t);
		return mp_slot_take(t);
	}
	return 0;
}

void mp_slot_release(struct mprof_thread *t)
{
	mp_peak_look(1, mprof_ticks());
	if (t->slot && slot_empty(t) == 0)
		slot_drop(t);
}

/* Ended threads' counts beyond COUNTS_KEPT go into one record, so that any number fits. */
static void counts_merge(struct mprof_counts *into, const struct mprof_counts *from)
{
	for (unsigned i = 0; i < MPROF_FN_MAX; i++) {
		into->fn[i].calls += from->fn[i].calls;
		into->fn[i].bytes += from->fn[i].bytes;
		into->fn[i].failed += from->fn[i].failed;
	}
	into->merged++;
}

/*
 * A row of records is one piece of the file: a page first, seven later, which of 4096
 * bytes hold 32 records exactly.
 */
static int counts_row(struct mp_local *l)
{
	uint32_t bytes = l->counts_taken ? 7 * mp_page() : mp_page(), n = bytes / COUNTS_RECORD;
	uint64_t offset = mp_extent_take(bytes, mp_page());
	char *map = offset ? map_range(offset, bytes, 0) : NULL;

	if (!map)
		return -ENOSPC;
	for (uint32_t i = 0; i < n; i++)
		mp_extent_fill((struct mprof_extent *)(map + i * COUNTS_RECORD),
			       MPROF_EXTENT_COUNTS, offset + i * COUNTS_RECORD, COUNTS_RECORD, 0);
	if (bytes > n * COUNTS_RECORD)
		mp_extent_fill((struct mprof_extent *)(map + n * COUNTS_RECORD), MPROF_EXTENT_FREE,
			       offset + n * COUNTS_RECORD, (uint32_t)(bytes - n * COUNTS_RECORD),
			       0);
	l->counts_next = map;
	l->counts_left = n;
	return 0;
}

static struct mprof_counts *counts_take_locked(struct mprof_thread *t)
{
	struct mp_local *l = mp_local;
	struct mprof_extent *x;

	for (unsigned i = 0; i < MP_COUNTS_UNUSED; i++)
		if (l->counts_unused[i]) {
			x = (struct mprof_extent *)l->counts_unused[i] - 1;
			l->counts_unused[i] = NULL;
			goto found;
		}
	if (!l->counts_left && counts_row(l) < 0)
		return NULL;
	x = (struct mprof_extent *)l->counts_next;
	l->counts_next += COUNTS_RECORD;
	l->counts_left--;
	l->counts_taken++;
found:
	x->used = sizeof(struct mprof_counts);
	((struct mprof_counts *)(x + 1))->tid = t->tid;
	x->process = l->process;
	x->thread = t->number;
	return (struct mprof_counts *)(x + 1);
}

struct mprof_counts *mp_counts_take(struct mprof_thread *t)
{
	struct mprof_counts *c;

	mp_lock(&mp_local->pool_lock);
	c = counts_take_locked(t);
	mp_unlock(&mp_local->pool_lock);
	return c;
}

void mp_counts_give(struct mprof_thread *t)
{
	struct mp_local *l = mp_local;
	struct mprof_counts *c = t->data;

	t->data = NULL;
	if (!c)
		return;
	c->end_ticks = mprof_ticks();
	mp_lock(&l->pool_lock);
	if (!l->counts_merged) {
		l->counts_merged = l->counts_taken > COUNTS_KEPT ? c : NULL;
	} else {
		for (unsigned i = 0; i < MP_COUNTS_UNUSED; i++)
			if (!l->counts_unused[i]) {
				counts_merge(l->counts_merged, c);
				__builtin_memset(c, 0, sizeof(*c));
				((struct mprof_extent *)c - 1)->thread = 0;
				l->counts_unused[i] = c;
				break;
			}
	}
	mp_unlock(&l->pool_lock);
}
