// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * recent.c - a run that keeps only its last events: LAST_BYTES, LAST_SECONDS.
 *
 * The thread that has just written a chunk drops the oldest ones by freeing their disk blocks.
 * Offsets are never reused, so nothing moves, no writer waits, and a reader finds one FREE extent
 * where chunks were.  Only chunks of events are dropped; stacks, facts and samples stay.
 *
 * Any process drops any process's chunks. header.dropped_to is how far dropping has come; the
 * process that raises it owns the part in between.  If it is killed meanwhile, some old chunks
 * stay.  Readers skip them, because from dropped_ticks on nothing is missing:
 *
 *   dropped_to moved -> dropped_ticks raised -> FREE header written -> blocks freed
 *
 * Space may be taken but its chunk not yet written.  Dropping waits for such chunks until twice the
 * amount that is kept has followed: then their writer was killed.
 *
 * Cost: two reads of 64 bytes for each chunk that is dropped, and one more call for each step. That
 * call may wait for the disk, because a file system may write the pages that it is about to free:
 * small steps would make the program wait after each chunk.
 */
#include <mprof/module.h>

#include "config.h"
#include "core.h"
#include "file.h"
#include "limits.h"
#include "sys.h"

#define FREE_BLOCKS 3	       /* FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE */
#define PARTS	    8	       /* drops in steps of this part of what is kept */
#define STEP_LEAST  (1U << 20) /* the smallest step, in bytes */

/* A part of the file that consists of whole extents. */
struct part {
	uint64_t from, to; /* offsets; to: 0 if nothing can be dropped */
	uint64_t ticks;	   /* time of the last event in its chunks */
};

static uint64_t next_look; /* in ticks: when chunks may be too old next */

static int recent_is_extent(const struct mprof_extent *x, uint64_t offset)
{
	return x->magic == MPROF_EXTENT_MAGIC && x->offset == offset && x->size >= sizeof(*x) &&
	       x->size % MPROF_EXTENT_ALIGN == 0 && x->size <= MPROF_EXTENT_MAX &&
	       !__builtin_memcmp(&x->run, mp_file.header->run_id, sizeof(x->run));
}

/*
 * Finds the first extent in [*offset, end); returns 0 if none begins there.  Gaps between
 * extents are space that was taken but not written yet, or never will be.
 */
static int recent_extent(int fd, uint64_t *offset, uint64_t end, struct mprof_extent *x)
{
	for (; *offset < end; *offset += MPROF_EXTENT_ALIGN) {
		if (sys_pread(fd, x, sizeof(*x), *offset) != (long)sizeof(*x))
			return 0;
		if (recent_is_extent(x, *offset))
			return 1;
	}
	return 0;
}

/* Is it older than the required age, multiplied by `times`? */
static int recent_is_old(const struct mprof_extent *x, uint64_t tail, uint64_t now, unsigned times)
{
	const uint64_t ticks = times * mp_config.last_seconds * mp_file.header->clock_hz;
	const uint64_t bytes = times * mp_config.last_bytes;

	if (bytes && tail - (x->offset + x->size) >= bytes)
		return 1;
	return ticks && x->last_ticks + ticks < now;
}

/* Finds what can be dropped, from part->from on.  Returns 0 if nothing can. */
static int recent_measure(int fd, struct part *part, uint64_t tail, uint64_t now)
{
	struct mprof_extent x;
	uint64_t at = part->from, end = at;

	while (recent_extent(fd, &at, tail, &x)) {
		/*
		 * An extent may still be written in between, unless its writer was killed long ago.
		 * A gap smaller than a page may be the rest of one with totals (live.c).
		 */
		if (at - end >= mp_page() && !recent_is_old(&x, tail, now, 2))
			break;
		if (x.kind == MPROF_EXTENT_EVENTS) {
			if (!recent_is_old(&x, tail, now, 1))
				break;
			part->ticks = x.last_ticks > part->ticks ? x.last_ticks : part->ticks;
			part->to = at + x.size;
		}
		end = at += x.size;
	}
	return part->to != 0;
}

/* Writes one FREE extent over the range and frees its blocks. */
static void recent_free(int fd, uint64_t from, uint64_t to)
{
	const uint64_t page = mp_page();
	uint64_t first = (from + sizeof(struct mprof_extent) + page - 1) & -page, last = to & -page;
	struct mprof_extent gap;

	if (from == to)
		return;
	mp_extent_fill(&gap, MPROF_EXTENT_FREE, from, (uint32_t)(to - from), 0);
	if (sys_pwrite(fd, &gap, sizeof(gap), from) == (long)sizeof(gap) && first < last)
		sys_fallocate(fd, FREE_BLOCKS, first, last - first);
}

static void recent_drop(int fd, const struct part *part)
{
	uint64_t at = part->from, from = 0, to = 0; /* adjacent chunks */
	struct mprof_file_header *h = mp_file.header;
	struct mprof_extent x;

	while (recent_extent(fd, &at, part->to, &x)) {
		/* Not a chunk that was only now written and that dropped_ticks does not cover. */
		int chunk = x.kind == MPROF_EXTENT_EVENTS && x.last_ticks <= part->ticks;

		if (chunk) {
			__atomic_fetch_add(&h->dropped_bytes, x.size, __ATOMIC_RELAXED);
			__atomic_fetch_sub(&h->chunks, 1, __ATOMIC_RELAXED);
		}
		if (!chunk || at != to || at + x.size - from > MPROF_EXTENT_MAX) {
			recent_free(fd, from, to);
			from = to = chunk ? at : 0;
		}
		at += x.size;
		to = chunk ? at : to;
	}
	recent_free(fd, from, to);
}

static void recent_raise(uint64_t *to, uint64_t ticks)
{
	uint64_t was = __atomic_load_n(to, __ATOMIC_RELAXED);

	while (was < ticks &&
	       !__atomic_compare_exchange_n(to, &was, ticks, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

static void recent_trim(int fd, uint64_t tail, uint64_t now)
{
	struct mprof_file_header *h = mp_file.header;
	uint64_t was = __atomic_load_n(&h->dropped_to, __ATOMIC_RELAXED);
	struct part part = { .from = was ? was : MPROF_HEADER_SIZE };

	if (!recent_measure(fd, &part, tail, now) ||
	    !__atomic_compare_exchange_n(&h->dropped_to, &was, part.to, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	recent_raise(&h->dropped_ticks, part.ticks);
	recent_drop(fd, &part);
}

/* How much may be in the file before a part of it is dropped. */
static uint64_t recent_room(void)
{
	const uint64_t step = mp_config.last_bytes / PARTS;

	return mp_config.last_bytes + (step > STEP_LEAST ? step : STEP_LEAST) + MPROF_HEADER_SIZE;
}

void mp_recent_keep(uint64_t now)
{
	const struct mprof_file_header *h = mp_file.header;
	uint64_t tail = __atomic_load_n(&h->tail, __ATOMIC_RELAXED);
	uint64_t kept = tail - __atomic_load_n(&h->dropped_to, __ATOMIC_RELAXED), due;
	int fd;

	due = mp_config.last_bytes && kept > recent_room();
	if (mp_config.last_seconds && now >= __atomic_load_n(&next_look, __ATOMIC_RELAXED)) {
		__atomic_store_n(&next_look, now + mp_config.last_seconds * h->clock_hz / PARTS,
				 __ATOMIC_RELAXED);
		due = 1;
	}
	if (!due)
		return;
	fd = mp_fd_hold();
	if (fd < 0)
		return;
	recent_trim(fd, tail, now);
	mp_fd_release();
}

int mp_recent_works(void)
{
	int fd = mp_fd_hold(), ret;

	if (fd < 0)
		return fd;
	/* The range is beyond the end of the file: this only tests the file system. */
	ret = sys_fallocate(fd, FREE_BLOCKS, MPROF_EXTENT_MAX, mp_page());
	mp_fd_release();
	return ret;
}
