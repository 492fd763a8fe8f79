// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * stack_use.c - how much of its stack each thread uses.
 *
 * Nothing is measured on the path of a call: the cache of a thread's last stack ends at the lowest
 * sp so far, so a call from deeper down misses it anyway (stack_cache.c), and is noted, with the
 * size of each frame.  Of frames that are unchanged since the last such call the sizes are in the
 * file already, so a recursion that allocates at each level costs what its new frames cost.  For
 * use between calls, mincore reports which pages of the stack are resident when the thread or the
 * process ends.  Pages are never returned while a stack is in use, so the lowest of them is how
 * deep the thread ever was.
 *
 * Time is divided into intervals.  When one begins, the cache ends above every call again, so that
 * the first call, and each that is deeper than those before it in the interval, misses it.  There
 * are 64 at most: two become one when the table is full, and later ones last twice as long.  A
 * thread looks at the clock where it takes a slow path anyway.
 *
 * Sizes follow a record in the file.  If there are too many of them, the record moves to an extent
 * of twice the size.
 *
 * glibc puts a thread's descriptor and its thread-local variables on top of its stack and subtracts
 * them from its size; the mapping ends with the page of the descriptor.
 */
#include "stack_use.h"

#include <mprof/module.h>

#include "core.h"
#include "file.h"
#include "local.h"
#include "pools.h"
#include "slots.h"
#include "stack_parts.h"
#include "status.h"
#include "sys.h"
#include "thread_names.h"

#define RECORD		(sizeof(struct mprof_extent) + sizeof(struct mprof_stack_use))
#define FIRST_RECORDS	5u /* an extent takes the room of as many: then it has sizes of 64 frames */
#define INTERVALS_PER_S 1000u /* at most */
#define INTERVALS_BYTES (MPROF_INTERVALS_MAX * (uint32_t)sizeof(uint64_t))
#define KEPT		4096u /* ended threads; of further ones, only the one that used most */
#define LOOKED_AT	4096u /* threads that run when the process ends */
#define PAGES_AT_ONCE	512u
#define WINDOWS_MAX	4096u /* of PAGES_AT_ONCE pages each: covers a stack of 8 GiB */

MPROF_STATIC_ASSERT(RECORD == MP_RECORD, "mp_stack_use_look() finds all records");

static __thread struct mprof_stack_use *use; /* in the file, or NULL */
/* Never read from the file where to write: others may truncate or overwrite it. */
static __thread uint32_t use_bytes;  /* of its extent */
static __thread uint32_t intervals;  /* as in the record */
static __thread uint32_t over;	     /* 1 after it ended, because libc frees memory after that */
static __thread uint32_t sized;	     /* frames whose sizes are in the record */
static __thread uint64_t due, width; /* when the next interval may begin, and its length at least */
/* A forked child keeps these values: its thread runs on the same stack. */
static __thread uintptr_t stack_high;	     /* 0 if unknown */
static __thread uintptr_t stack_low, mapped; /* 0 if unknown; where the mapping ends */

struct mp_stack_room mp_stack_room(const pthread_attr_t *attr)
{
	struct mp_stack_room room = { .top = 0 };
	pthread_attr_t standard;
	void *at = NULL;
	size_t bytes = 0;

	/* For attributes without a stack, libc reports that it ends at 0. */
	if (attr && pthread_attr_getstack(attr, &at, &bytes) == 0 && (uintptr_t)at + bytes)
		return (struct mp_stack_room){ .top = (uintptr_t)at + bytes, .bytes = bytes };
	if (!attr && pthread_attr_init(&standard) == 0)
		attr = &standard;
	if (!attr || pthread_attr_getstacksize(attr, &room.bytes))
		room.bytes = 0;
	return room;
}

static uintptr_t thread_pointer(void)
{
	return (uintptr_t)__builtin_thread_pointer();
}

/* ---- the stack of this thread ---- */

static void bounds_of_main(void)
{
	struct rlimit limit;

	stack_high = mp_stack_start();
	mapped = 0; /* the kernel extends the mapping: areas.c finds it */
	if (stack_high && sys_getrlimit(RLIMIT_STACK, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < stack_high)
		stack_low = stack_high - limit.rlim_cur;
}

static void bounds_of_thread(const struct mp_stack_room *room)
{
	const uintptr_t page = mp_page(), variable = (uintptr_t)&use, tp = thread_pointer();

	stack_high = room ? room->from : mprof_stack();
	mapped = room ? room->top : 0;
	if (!mapped)
		mapped = ((variable > tp ? variable : tp) & -page) + page;
	if (room && room->bytes > page && room->bytes < mapped && mapped - room->bytes < stack_high)
		stack_low = (mapped - room->bytes + page - 1) & -page;
	else
		mapped = 0;
}

int mp_stack_use_home(uintptr_t sp, uintptr_t *low, uintptr_t *high)
{
	if (!mapped || sp < stack_low || sp >= mapped)
		return 0;
	*low = stack_low;
	*high = mapped;
	return 1;
}

int mp_stack_use_spans(uintptr_t sp, uintptr_t at)
{
	return stack_low && sp >= stack_low && at >= sp && at < stack_high;
}

/* ---- records ---- */

static struct mprof_extent *use_extent(const struct mprof_stack_use *u)
{
	return (struct mprof_extent *)u - 1;
}

/* How many sizes fit an extent. */
static uint32_t use_room(uint32_t bytes)
{
	return (uint32_t)((bytes - RECORD - INTERVALS_BYTES) / sizeof(uint32_t));
}

/* Interval i is i words before the last one of the extent. */
static uint64_t *use_intervals(const struct mprof_stack_use *u, uint32_t bytes)
{
	return (uint64_t *)((char *)use_extent(u) + bytes) - 1;
}

static struct mp_use use_take_used(struct mp_local *l, uint32_t bytes)
{
	struct mp_use u = { .at = NULL };
	uint64_t signals;

	if (!__atomic_load_n(&l->uses_free, __ATOMIC_RELAXED))
		return u;
	mp_lock_blocking(&l->uses_lock, &signals);
	for (unsigned i = 0; i < MP_COUNTS_UNUSED && !u.at; i++)
		if (l->uses_unused[i].at && l->uses_unused[i].bytes >= bytes) {
			u = l->uses_unused[i];
			l->uses_unused[i].at = NULL;
			l->uses_free--;
		}
	mp_unlock_blocking(&l->uses_lock, &signals);
	return u;
}

/* Marks an extent as free, and keeps it for reuse in place i of the list. */
static void use_free_locked(struct mp_local *l, struct mp_use u, unsigned i)
{
	struct mprof_extent *x = use_extent(u.at);

	__atomic_store_n(&x->kind, MPROF_EXTENT_FREE, __ATOMIC_RELEASE);
	__builtin_memset(u.at, 0, u.bytes - sizeof(*x));
	l->uses_unused[i] = u;
	__atomic_store_n(&l->uses_free, l->uses_free + 1, __ATOMIC_RELAXED);
}

/* Returns a record in an extent of `records` times RECORD bytes, or more. */
static struct mp_use use_take(uint32_t number, uint32_t records)
{
	const uint32_t bytes = records * (uint32_t)RECORD;
	struct mp_use u = use_take_used(mp_local, bytes);
	struct mprof_extent *x, head;
	uint64_t offset;

	if (u.at) {
		x = use_extent(u.at);
		offset = x->offset;
	} else {
		x = mp_record_take(records, &offset);
		if (!x)
			return u;
		u = (struct mp_use){ (struct mprof_stack_use *)(x + 1), bytes };
	}
	mp_extent_fill(&head, MPROF_EXTENT_STACK_USE, offset, u.bytes, number);
	head.used = u.bytes - (uint32_t)sizeof(*x);
	*x = head;
	/* Headers of further records of the pool. */
	__builtin_memset(u.at, 0, head.used);
	return u;
}

/* Does the file keep stack use?  Traces and profiles do; counts files do not. */
static int uses_are_kept(void)
{
	return mp_recording() && mp_file.header && !mp_file.broken && mp_local->alive &&
	       mp_local->process &&
	       __builtin_memcmp(mp_file.header->magic, MPROF_MAGIC_COUNTS, MPROF_MAGIC_SIZE);
}

void mp_stack_use_begin(uint32_t number, const struct mp_stack_room *room)
{
	struct mp_use taken = { .at = NULL };
	struct mprof_stack_use *u;
	uint32_t tid;

	if (use || over || !mp_recording() || !mp_local->alive)
		return;
	tid = (uint32_t)sys_gettid();
	if (!stack_high && (int)tid == mp_local->pid)
		bounds_of_main();
	else if (!stack_high)
		bounds_of_thread(room);
	if (stack_high && uses_are_kept())
		taken = use_take(number, FIRST_RECORDS);
	u = taken.at;
	if (!u)
		return;
	__atomic_fetch_add(&mp_local->uses_taken, 1, __ATOMIC_RELAXED);
	sized = 0;
	u->tid = tid;
	u->high = stack_high;
	u->limit = stack_low ? stack_high - stack_low : 0;
	u->begin_ticks = mprof_ticks();
	u->thread_pointer = thread_pointer();
	mp_thread_name_read(u->name);
	u->intervals = intervals = 1;
	width = mp_file.header->clock_hz / INTERVALS_PER_S;
	due = u->begin_ticks + width;
	use_bytes = taken.bytes;
	use = u;
}

/* ---- the deepest call ---- */

/* Returns the record with room for the sizes of n frames, or NULL without memory. */
static struct mprof_stack_use *use_grow(struct mprof_stack_use *u, uint32_t n)
{
	struct mprof_extent *x = use_extent(u);
	const struct mp_use old = { u, use_bytes };
	uint32_t records = use_bytes / (uint32_t)RECORD, need = use_room(use_bytes);
	struct mp_use more;
	uint64_t signals;

	if (n <= need)
		return u;
	for (; n > need; records *= 2)
		need =
		    (uint32_t)(((2 * records - 1) * RECORD - INTERVALS_BYTES) / sizeof(uint32_t));
	more = use_take(x->thread, records);
	if (!more.at)
		return NULL;
	/* If the process is killed now, there are two records, of which the larger is valid. */
	__builtin_memcpy(more.at, u, old.bytes - sizeof(*x) - INTERVALS_BYTES);
	__builtin_memcpy(use_intervals(more.at, more.bytes) + 1 - MPROF_INTERVALS_MAX,
			 use_intervals(u, old.bytes) + 1 - MPROF_INTERVALS_MAX, INTERVALS_BYTES);
	/* The smaller size fits both, if a handler jumps out in between. */
	use = more.at;
	compiler_barrier();
	use_bytes = more.bytes;
	mp_lock_blocking(&mp_local->uses_lock, &signals);
	for (unsigned i = 0; i < MP_COUNTS_UNUSED; i++)
		if (!mp_local->uses_unused[i].at) {
			use_free_locked(mp_local, old, i);
			break;
		}
	mp_unlock_blocking(&mp_local->uses_lock, &signals);
	__atomic_store_n(&x->kind, MPROF_EXTENT_FREE, __ATOMIC_RELEASE);
	return more.at;
}

/* Stores the sizes of frames [from, n); frames outside the used part of the stack have none. */
static void use_sizes(struct mprof_stack_use *u, const struct stack_frame *frame, uint32_t from,
		      uint32_t n)
{
	const uintptr_t high = u->high, low = frame[n - 1].sp;
	uint32_t *bytes = (uint32_t *)(u + 1);
	uintptr_t at = from && frame[from - 1].sp < high ? frame[from - 1].sp : high;

	for (uint32_t i = from; i < n; i++) {
		uintptr_t sp = frame[i].sp < at && frame[i].sp >= low ? frame[i].sp : at;

		bytes[i] = at - sp <= UINT32_MAX ? (uint32_t)(at - sp) : UINT32_MAX;
		at = sp;
	}
}

/* ---- intervals ---- */

/* Notes the depth in the current interval. */
static void use_note(struct mprof_stack_use *u, uint64_t depth)
{
	const uint64_t most = (1u << MPROF_INTERVAL_DEPTH_BITS) - 1;
	uint64_t units = (depth + (1u << MPROF_INTERVAL_BYTES) - 1) >> MPROF_INTERVAL_BYTES;
	uint64_t *now;

	if (!intervals) /* a signal handler left while there were none */
		return;
	now = use_intervals(u, use_bytes) - (intervals - 1);
	units = units < most ? units : most;
	if (units > (*now & most))
		*now = (*now & ~most) | units;
}

/* Merges intervals in pairs.  Their number is 0 meanwhile: after a longjmp or SIGKILL, nobody uses
 * a table that is half merged. */
static void use_join_intervals(struct mprof_stack_use *u)
{
	const uint64_t most = (1u << MPROF_INTERVAL_DEPTH_BITS) - 1;
	uint64_t *at = use_intervals(u, use_bytes);

	intervals = 0;
	__atomic_store_n(&u->intervals, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (int i = 0; i < (int)MPROF_INTERVALS_MAX; i += 2) {
		uint64_t a = at[-i], b = at[-i - 1];

		at[-i / 2] = (a & most) < (b & most) ? (a & ~most) | (b & most) : a;
	}
	__atomic_store_n(&u->intervals, MPROF_INTERVALS_MAX / 2, __ATOMIC_RELEASE);
	intervals = MPROF_INTERVALS_MAX / 2;
}

int mp_stack_use_interval(void)
{
	struct mprof_stack_use *u = use;
	const uint64_t most = (1u << MPROF_INTERVAL_DEPTH_BITS) - 1;
	uint64_t now, at, last;
	uint32_t n;

	if (!u || (now = mprof_ticks()) < due)
		return 0;
	n = intervals;
	at = (now - u->begin_ticks) >> MPROF_INTERVAL_TICKS;
	last = n ? use_intervals(u, use_bytes)[1 - (int)n] : 0;
	if (at <= last >> MPROF_INTERVAL_DEPTH_BITS || at >> (64 - MPROF_INTERVAL_DEPTH_BITS))
		return 0;
	n -= n && !(last & most); /* no call was noted: it begins now instead */
	if (n == MPROF_INTERVALS_MAX) {
		use_join_intervals(u);
		n /= 2;
		width = (now - u->begin_ticks) / n;
	}
	use_intervals(u, use_bytes)[-(int)n] = at << MPROF_INTERVAL_DEPTH_BITS;
	/* Pairs with a reader of the file. */
	__atomic_store_n(&u->intervals, n + 1, __ATOMIC_RELEASE);
	intervals = n + 1;
	due = now + width;
	return 1;
}

/*
 * `sized` is 0 while anything changes, here and in the record, because a signal handler may jump
 * out, and the process may be killed at any time: the sizes belong to this call only if the record
 * says so, and all are stored again if the last time did not end.
 */
uint32_t mp_stack_use_deeper(uintptr_t sp, uint32_t id, const struct stack_frame *frame, uint32_t n,
			     uint32_t same)
{
	struct mprof_stack_use *u = use;
	uint32_t from = same < sized ? same : sized;

	if (!u || sp >= u->high || (u->limit && u->high - sp > u->limit))
		return same;
	use_note(u, u->high - sp);
	if (u->high - sp <= u->deepest)
		return same;
	__atomic_store_n(&u->sized, 0, __ATOMIC_RELAXED);
	sized = 0;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	u->deepest = u->high - sp;
	u->deepest_ticks = mprof_ticks();
	u->stack = id;
	u = n ? use_grow(u, n) : NULL;
	if (!u)
		return 0;
	use_sizes(u, frame, from, n);
	u->frames = n;
	/* Pairs with a reader of the file, which compares it with `deepest`. */
	__atomic_store_n(&u->sized, u->deepest, __ATOMIC_RELEASE);
	sized = n;
	return n;
}

void mp_stack_use_forked(void)
{
	use = NULL;
}

/* ---- pages ---- */

/* Resident pages below `at` in a stack that ends at `high`. */
struct found {
	uintptr_t high, lowest;
	uint64_t bytes;
};

static void count_pages(struct found *f, uintptr_t from, const unsigned char *pages, size_t n)
{
	const uintptr_t page = mp_page();

	for (size_t i = n; i-- > 0;) {
		uintptr_t at = from + i * page;

		if (!(pages[i] & 1))
			continue;
		f->bytes += at + page < f->high ? page : f->high - at;
		f->lowest = at;
	}
}

/*
 * Looks from the top down to `low`, or to where nothing is mapped: mincore fails for a range with a
 * gap, so ranges are halved there.
 */
static void look_at_pages(struct found *f, uintptr_t low)
{
	const uintptr_t page = mp_page();
	uintptr_t at = (f->high + page - 1) & -page;
	size_t most = PAGES_AT_ONCE, n;
	unsigned char pages[PAGES_AT_ONCE];

	for (unsigned i = 0; i < WINDOWS_MAX && at > low && most; i++) {
		n = (at - low) / page < most ? (at - low) / page : most;
		if (!n)
			return;
		if (sys_mincore(at - n * page, n * page, pages) < 0) {
			most = n / 2;
			continue;
		}
		count_pages(f, at - n * page, pages, n);
		at -= n * page;
	}
}

static void use_look(struct mprof_stack_use *u)
{
	struct found f = { .high = u->high, .lowest = u->high };
	/* If the bounds are unknown, do not look beyond what is known to be this stack. */
	uint64_t bytes = u->limit ? u->limit : u->deepest;

	if (!bytes && (int)u->tid == mp_local->pid)
		bytes = u->high; /* no limit: as far as it is mapped */
	look_at_pages(&f, (u->high - bytes) & -(uintptr_t)mp_page());
	u->resident = f.bytes;
	u->touched = u->high - f.lowest;
	u->looked_ticks = mprof_ticks();
}

static uint64_t most_of(const struct mprof_stack_use *u)
{
	return u->touched > u->deepest ? u->touched : u->deepest;
}

/* Releases a record; of threads beyond KEPT, keeps the one that used most. */
static void use_release_locked(struct mp_local *l, struct mp_use u)
{
	struct mp_use less = u, most = l->uses_most;

	if (!most.at) {
		l->uses_most = u;
		return;
	}
	for (unsigned i = 0; i < MP_COUNTS_UNUSED; i++) {
		if (l->uses_unused[i].at)
			continue;
		if (most_of(u.at) > most_of(most.at)) {
			less = most;
			most = l->uses_most = u;
		}
		most.at->others += 1 + less.at->others;
		use_free_locked(l, less, i);
		return;
	}
}

void mp_stack_use_end(void)
{
	struct mprof_stack_use *u = use;
	uint64_t signals;

	/* In a forked child that has not joined the run, the record is its parent's. */
	if (!u || !uses_are_kept() || (int)u->tid == mp_local->pid)
		return;
	use = NULL;
	over = 1;
	mp_thread_name_read(u->name);
	use_look(u);
	u->end_ticks = u->looked_ticks;
	if (__atomic_load_n(&mp_local->uses_taken, __ATOMIC_RELAXED) <= KEPT)
		return;
	mp_lock_blocking(&mp_local->uses_lock, &signals);
	use_release_locked(mp_local, (struct mp_use){ u, use_bytes });
	mp_unlock_blocking(&mp_local->uses_lock, &signals);
}

/* ---- records of other threads ---- */

/* A position in the pool of records. */
struct use_walk {
	uint32_t piece, unit;
};

/* Returns the next record of a thread that has not ended, or NULL. */
static struct mprof_stack_use *use_next(struct use_walk *w)
{
	for (; w->piece < MP_PIECES; w->piece++, w->unit = 0) {
		const struct mp_piece *p = &mp_local->records.piece[w->piece];
		char *at = __atomic_load_n(&p->at, __ATOMIC_ACQUIRE);
		uint32_t n = __atomic_load_n(&p->used, __ATOMIC_RELAXED);

		while (at && w->unit < n && w->unit < p->units) {
			struct mprof_extent *x = (struct mprof_extent *)(at + w->unit * RECORD);
			struct mprof_stack_use *u = (struct mprof_stack_use *)(x + 1);
			const uint32_t records = x->size / (uint32_t)RECORD;

			w->unit += records ? records : 1;
			if (x->magic == MPROF_EXTENT_MAGIC && x->kind == MPROF_EXTENT_STACK_USE &&
			    u->high && !u->end_ticks)
				return u;
		}
	}
	return NULL;
}

void mp_stack_use_look(void)
{
	struct use_walk w = { 0 };
	struct mprof_stack_use *u;

	if (!uses_are_kept())
		return;
	for (uint32_t looks = 0; looks < LOOKED_AT && (u = use_next(&w));)
		if (mp_sys(SYS_tgkill, mp_local->pid, (long)u->tid, 0, 0, 0, 0) == 0) {
			use_look(u);
			looks++;
		}
}

/* A child of vfork has its parent's variables. */
void mp_stack_use_renamed(void)
{
	if (use && uses_are_kept() && (uint32_t)sys_gettid() == use->tid)
		mp_thread_name_read(use->name);
}

void mp_stack_use_name(uintptr_t pointer, const char name[MPROF_THREAD_NAME])
{
	struct use_walk w = { 0 };
	struct mprof_stack_use *u;

	if (!uses_are_kept())
		return;
	for (uint32_t looks = 0; looks < LOOKED_AT && (u = use_next(&w)); looks++)
		if (u->thread_pointer == pointer) {
			__builtin_memcpy(u->name, name, MPROF_THREAD_NAME);
			return;
		}
}
