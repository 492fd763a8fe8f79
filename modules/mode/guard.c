// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * guard.c - MODE=Guard: finds writes beyond blocks, double frees and frees of
 * invalid addresses, each with the call stacks of the allocation, of the free
 * and of the call that found it.
 *
 *   | guard | the program's block | fill up to 16, guard |      one block of the allocator
 *
 * The guards have GUARD_BYTES of a known pattern, which is checked when the
 * block is freed or reallocated and when the process ends. The usable size is
 * exactly the requested size, so that each byte after it can be checked.
 * Aligned blocks are made here, from the allocator's malloc alone.
 *
 * Metadata is stored apart from the block, which the program may overrun, in an
 * entry found by address (slot_of). So any pointer can be looked up without
 * reading the memory that it points to, and blocks that Guard did not allocate
 * are passed to the allocator unchanged.
 *
 * The functions of mprof_core.real are replaced, so guarded blocks are handled
 * correctly whichever table is in place, even after recording has ended.  The
 * hooks only note stacks.
 *
 * There are no locks and no waiting: entries are claimed by compare-and-swap of
 * their state, and a forked child continues with a copy of everything.
 */
#include <errno.h>
#include <mprof/guarded.h>
#include <mprof/module.h>

#define ALIGN_LEAST   16u
#define PATTERN	      0xfb
#define POISON	      0xfd
#define POISON_MOST   4096u
#define KEPT_MOST     16384u
#define WRITTEN_MOST  500u /* at most this many errors of a process are written */
#define TURNS_MOST    100000u
#define KEPT_OVERHEAD 64u
#define MOVED_MOST    65536u /* bytes */

static struct mprof_real behind;
static size_t zone; /* GUARD_BYTES */
static uint8_t own_calloc, own_realloc, zero_frees, matches;
static struct mprof_guarded totals; /* figures of this process */
static uint32_t begun;
static struct mprof_guarded *shared; /* the same figures in the file, mapped */

static uint32_t *kept; /* KEPT_MOST freed blocks, in a ring */
static uint64_t kept_in, kept_out, kept_bytes, kept_limit;

static size_t guard_rear_of(uint64_t size)
{
	return zone + (-size & (ALIGN_LEAST - 1));
}

/*
 * Returns the entry whose block or guards contain the address; 0 if none do.  Only the last block
 * that begins before the address can.  Does not search beyond the GiB of the address.
 */
static uint32_t guard_find_around(uintptr_t at)
{
	const uintptr_t first = at >> GIB_BITS << (GIB_BITS - SLOT_BITS);

	for (uintptr_t slot = (at + zone) >> SLOT_BITS;; slot--) {
		const uint32_t *place = slot_of(slot << SLOT_BITS);
		uint32_t index = place ? __atomic_load_n(place, __ATOMIC_ACQUIRE) : 0;
		const struct entry *e = index ? entry_at(index) : NULL;

		if (e && e->ptr - zone <= at)
			return at - e->base < e->ptr - e->base + e->size + guard_rear_of(e->size)
				   ? index
				   : 0;
		if (!place) /* nor anywhere in its leaf */
			slot = slot / LEAF_SLOTS * LEAF_SLOTS;
		if (slot <= first)
			return 0;
	}
}

/* Claims an entry in the state `from`.  0 if its state has changed; *is is the state found. */
static int guard_claim(struct entry *e, const void *ptr, uint8_t from, uint8_t *is)
{
	for (unsigned turn = 0; turn < TURNS_MOST; turn++) {
		*is = from;
		if (__atomic_compare_exchange_n(&e->state, is, STATE_BUSY, 0, __ATOMIC_ACQUIRE,
						RLX)) {
			if (e->ptr == (uintptr_t)ptr)
				return 1;
			__atomic_store_n(&e->state, from, __ATOMIC_RELEASE);
			*is = STATE_NONE;
			return 0;
		}
		if (*is != STATE_BUSY)
			return 0;
	}
	return 0;
}

static void guard_settle(struct entry *e, uint8_t state)
{
	__atomic_store_n(&e->state, state, __ATOMIC_RELEASE);
}

/*
 * Copies the figures to the file, which the thread has mapped, so they are there however the
 * process ends.  A forked child has not: it counts for itself until it has a file of its own.
 */
static void guard_show(void)
{
	struct mprof_guarded *shown = mprof_self->data;

	if (!shown)
		return;
	__atomic_store_n(&shown->blocks, __atomic_load_n(&totals.blocks, RLX), RLX);
	__atomic_store_n(&shown->freed, __atomic_load_n(&totals.freed, RLX), RLX);
	__atomic_store_n(&shown->bare, __atomic_load_n(&totals.bare, RLX), RLX);
	__atomic_store_n(&shown->strangers, __atomic_load_n(&totals.strangers, RLX), RLX);
	__atomic_store_n(&shown->errors, __atomic_load_n(&totals.errors, RLX), RLX);
	__atomic_store_n(&shown->unwritten, __atomic_load_n(&totals.unwritten, RLX), RLX);
	__atomic_store_n(&shown->ended, __atomic_load_n(&totals.ended, RLX), RLX);
}

/* ---- errors ---- */

/* The current call of this thread. */
struct call {
	uint32_t stack, thread;
	uint8_t fn;
};

/* Takes what a hook left in the thread's record.  fn: the function if no hook left one. */
static struct call guard_call_take(uint8_t fn)
{
	struct mprof_thread *t = mprof_self;
	struct call c = { 0, t->number, fn };

	if (t->number && t->last_stack) {
		c.stack = t->last_free_stack;
		c.fn = (uint8_t)t->last_stack;
		t->last_stack = t->last_free_stack = 0;
	}
	return c;
}

static struct mprof_misuse guard_misuse_of(unsigned what, const struct entry *e, struct call c)
{
	struct mprof_misuse m = {
		.what = what,
		/* A sandbox may forbid reading the clock, too. */
		.ticks = host->recording() ? mprof_ticks() : 0,
		.address = e->ptr,
		.size = e->size,
		.found = c.stack,
		.allocated = e->allocated,
		.found_thread = c.thread,
		.allocated_thread = e->thread,
		.found_fn = c.fn,
		.allocated_fn = e->fn,
	};

	if (what == MPROF_MISUSE_DOUBLE_FREE || what == MPROF_MISUSE_FREED_WRITE) {
		m.freed = e->freed;
		m.freed_thread = e->freed_thread;
		m.freed_fn = e->freed_fn;
	}
	return m;
}

static void guard_tell(const struct mprof_misuse *m)
{
	const int written = __atomic_add_fetch(&totals.errors, 1, RLX) <= WRITTEN_MOST;

	if (!written)
		__atomic_fetch_add(&totals.unwritten, 1, RLX);
	guard_show();
	if (written && host->recording())
		host->misuse(m);
}

/* [hot] Are all bytes equal to the wanted one? */
MPROF_HOT int guard_is_all(const uint8_t *at, size_t n, uint8_t want)
{
	const uint64_t word = 0x0101010101010101ull * want;
	uint64_t other = 0, here;

	for (; n >= sizeof(here); at += sizeof(here), n -= sizeof(here)) {
		__builtin_memcpy(&here, at, sizeof(here));
		other |= here ^ word;
	}
	while (n--)
		other |= *at++ ^ want;
	return !other;
}

static MPROF_COLD void guard_tell_changed(unsigned what, const struct entry *e, struct call c,
					  const uint8_t *at, size_t n, uint8_t want)
{
	struct mprof_misuse m = guard_misuse_of(what, e, c);
	size_t first = 0, last = n;

	while (first < n && at[first] == want)
		first++;
	while (last > first + 1 && at[last - 1] == want)
		last--;
	m.offset = (int64_t)((uintptr_t)at + first - e->ptr);
	m.bytes = last - first;
	m.seen_bytes = (uint16_t)(m.bytes < sizeof(m.seen) ? m.bytes : sizeof(m.seen));
	for (unsigned i = 0; i < m.seen_bytes; i++)
		m.seen[i] = at[first + i];
	guard_tell(&m);
}

/* Checks the guards of a block that this thread has claimed. */
static void guard_check_guards(struct entry *e, struct call c)
{
	const uint8_t *front = (const uint8_t *)e->ptr - zone,
		      *rear = (const uint8_t *)e->ptr + e->size;

	if (e->told)
		return;
	if (mprof_unlikely(!guard_is_all(front, zone, PATTERN))) {
		e->told = 1;
		guard_tell_changed(MPROF_MISUSE_UNDERRUN, e, c, front, zone, PATTERN);
	}
	if (mprof_unlikely(!guard_is_all(rear, guard_rear_of(e->size), PATTERN))) {
		e->told = 1;
		guard_tell_changed(MPROF_MISUSE_OVERRUN, e, c, rear, guard_rear_of(e->size),
				   PATTERN);
	}
}

/* Which functions belong together: of malloc, operator new, or operator new[]. */
static unsigned guard_family(unsigned fn)
{
	if (fn == MPROF_FN_NEW || fn == MPROF_FN_DELETE)
		return 1;
	return fn == MPROF_FN_NEW_ARRAY || fn == MPROF_FN_DELETE_ARRAY ? 2 : 0;
}

/* Is the block, which this thread has claimed, freed or reallocated by a function of its family? */
static void guard_check_family(const struct entry *e, struct call c)
{
	struct mprof_misuse m;

	if (mprof_likely(!matches || guard_family(e->fn) == guard_family(c.fn)))
		return;
	m = guard_misuse_of(MPROF_MISUSE_MISMATCH, e, c);
	guard_tell(&m);
}

static size_t guard_poisoned(const struct entry *e)
{
	return e->size < POISON_MOST ? e->size : POISON_MOST;
}

/* Checks the bytes of a freed block that this thread has claimed. */
static void guard_check_poison(struct entry *e, struct call c)
{
	if (e->told ||
	    mprof_likely(guard_is_all((const uint8_t *)e->ptr, guard_poisoned(e), POISON)))
		return;
	e->told = 1;
	guard_tell_changed(MPROF_MISUSE_FREED_WRITE, e, c, (const uint8_t *)e->ptr,
			   guard_poisoned(e), POISON);
}

/* ---- blocks ---- */

static void guard_paint(const struct entry *e)
{
	__builtin_memset((char *)e->ptr - zone, PATTERN, zone);
	__builtin_memset((char *)e->ptr + e->size, PATTERN, guard_rear_of(e->size));
}

static void *guard_no_memory(void)
{
	*mprof_core.error() = ENOMEM;
	return NULL;
}

/* Allocates a block without guards, when memory for its entry runs out. */
static MPROF_COLD void *guard_bare(size_t size, size_t align)
{
	if (align > ALIGN_LEAST)
		return guard_no_memory();
	__atomic_fetch_add(&totals.bare, 1, RLX);
	guard_show();
	return behind.malloc(size);
}

/*
 * Used after the end of recording, for example in a sandbox: memory for a block's entry would need
 * a system call that may be forbidden by now.
 */
static MPROF_COLD void *guard_block_unguarded(size_t size, int zero)
{
	void *ptr = zero && own_calloc ? behind.calloc(1, size) : behind.malloc(size);

	if (ptr && zero && !own_calloc)
		__builtin_memset(ptr, 0, size);
	return ptr;
}

/* align: a power of two.  fn: the function to record if no hook sets one. */
static void *guard_block_new(uint8_t fn, size_t size, size_t align, int zero)
{
	size_t more = align > ALIGN_LEAST ? align : 0, bytes;
	uint32_t index;
	struct entry *e;
	char *base;

	if (mprof_unlikely(!host->recording()) && !more)
		return guard_block_unguarded(size, zero);
	if (__builtin_add_overflow(size, 2 * zone + ALIGN_LEAST - 1, &bytes) ||
	    __builtin_add_overflow(bytes & -(size_t)ALIGN_LEAST, more, &bytes))
		return guard_no_memory();
	index = entry_take();
	base = zero && own_calloc ? behind.calloc(1, bytes) : behind.malloc(bytes);
	if (mprof_unlikely(!base || !index)) {
		behind.free(base);
		if (index)
			entry_give(index);
		return base && !zero ? guard_bare(size, align) : guard_no_memory();
	}
	e = entry_at(index);
	e->base = (uintptr_t)base;
	e->ptr = more ? (e->base + zone + align - 1) & -align : e->base + zone;
	e->size = size;
	e->allocated = e->freed = 0;
	e->fn = fn;
	e->thread = e->freed_thread = 0;
	e->told = e->freed_fn = 0;
	if (mprof_unlikely(slot_set(e->ptr, index) < 0)) {
		behind.free(base);
		entry_give(index);
		return zero ? guard_no_memory() : guard_bare(size, align);
	}
	if (zero && !own_calloc)
		__builtin_memset((void *)e->ptr, 0, size);
	guard_paint(e);
	guard_settle(e, STATE_LIVE);
	__atomic_fetch_add(&totals.blocks, 1, RLX);
	guard_show();
	return (void *)e->ptr;
}

/* Returns the block to the allocator.  The caller has claimed the entry. */
static void guard_block_end(struct entry *e, uint32_t index)
{
	void *base = (void *)e->base;
	uint32_t *slot = slot_of(e->ptr);

	__atomic_store_n(slot, 0, __ATOMIC_RELEASE);
	e->ptr = 0;
	guard_settle(e, STATE_NONE);
	entry_give(index);
	behind.free(base);
}

/* ---- freed blocks that are kept ---- */

static uint64_t guard_kept_weight(const struct entry *e)
{
	return e->ptr - e->base + e->size + guard_rear_of(e->size) + KEPT_OVERHEAD;
}

static void guard_let_go(uint32_t index)
{
	const struct call none = { 0, 0, 0 };
	struct entry *e;
	uint8_t is;

	if (!index)
		return;
	e = entry_at(index);
	/* A block that another thread was checking when this process was forked is kept. */
	if (!guard_claim(e, (void *)e->ptr, STATE_FREED, &is))
		return;
	guard_check_poison(e, none);
	__atomic_fetch_sub(&kept_bytes, guard_kept_weight(e), RLX);
	guard_block_end(e, index);
}

/* Keeps a freed block for a while.  The caller has claimed the entry. */
static void guard_keep(struct entry *e, uint32_t index)
{
	uint64_t out, in;
	uint32_t before;

	e->told = 0;
	__builtin_memset((void *)e->ptr, POISON, guard_poisoned(e));
	__atomic_fetch_add(&kept_bytes, guard_kept_weight(e), RLX);
	guard_settle(e, STATE_FREED);
	in = __atomic_fetch_add(&kept_in, 1, RLX);
	before = __atomic_exchange_n(&kept[in % KEPT_MOST], index, __ATOMIC_ACQ_REL);
	guard_let_go(before);
	for (int turn = 0; turn < 64 && __atomic_load_n(&kept_bytes, RLX) > kept_limit; turn++) {
		out = __atomic_load_n(&kept_out, RLX);
		if (in - out >= KEPT_MOST && in > out)
			__atomic_store_n(&kept_out, in - KEPT_MOST + 1, RLX);
		out = __atomic_fetch_add(&kept_out, 1, RLX);
		guard_let_go(__atomic_exchange_n(&kept[out % KEPT_MOST], 0, __ATOMIC_ACQ_REL));
	}
}

/* ---- blocks without guards ---- */

/*
 * An address that no allocator returned is reported and not freed.  Any other is passed to the
 * allocator: a block from before recording, or from a part of the program that bypasses us.
 */
static MPROF_COLD int guard_is_foreign(void *ptr, struct call c)
{
	uint32_t index = guard_find_around((uintptr_t)ptr);
	struct entry nothing = { .ptr = (uintptr_t)ptr };
	struct mprof_misuse m;

	if (index) {
		m = guard_misuse_of(MPROF_MISUSE_INTERIOR, entry_at(index), c);
		m.offset = (int64_t)((uintptr_t)ptr - m.address);
		guard_tell(&m);
		return 1;
	}
	m = guard_misuse_of(MPROF_MISUSE_FOREIGN, &nothing, c);
	m.place = host->recording() ? host->place(ptr, *(void **)&behind.malloc) : 0;
	if (!m.place && (uintptr_t)ptr % 8)
		m.place = MPROF_PLACE_MISALIGNED;
	if (m.place) {
		guard_tell(&m);
		return 1;
	}
	__atomic_fetch_add(&totals.strangers, 1, RLX);
	guard_show();
	return 0;
}

static MPROF_COLD void guard_tell_double(const struct entry *e, struct call c, uint8_t is)
{
	struct mprof_misuse m = guard_misuse_of(MPROF_MISUSE_DOUBLE_FREE, e, c);

	/* The state is unknown in a process that was forked while another thread had claimed the
	 * entry. */
	if (is == STATE_FREED)
		guard_tell(&m);
}

/* ---- the functions of the allocator ---- */

static void guard_free_claimed(struct entry *e, uint32_t index, struct call c)
{
	if (e->freed_fn) /* by guard_operator_ends() */
		c.fn = e->freed_fn;
	guard_check_guards(e, c);
	guard_check_family(e, c);
	__atomic_fetch_add(&totals.freed, 1, RLX);
	guard_show();
	e->freed = c.stack;
	e->freed_thread = c.thread;
	e->freed_fn = c.fn;
	if (guard_kept_weight(e) <= kept_limit / 4)
		guard_keep(e, index);
	else
		guard_block_end(e, index);
}

static void guard_free(void *ptr)
{
	const struct call c = guard_call_take(MPROF_FN_FREE);
	uint32_t index;
	uint8_t is;

	if (!ptr)
		return;
	index = find(ptr);
	if (mprof_likely(index && guard_claim(entry_at(index), ptr, STATE_LIVE, &is)))
		guard_free_claimed(entry_at(index), index, c);
	else if (index && is != STATE_NONE)
		guard_tell_double(entry_at(index), c, is);
	else if (!guard_is_foreign(ptr, c))
		behind.free(ptr);
}

static void *guard_malloc(size_t size)
{
	return guard_block_new(MPROF_FN_MALLOC, size, 0, 0);
}

static void *guard_calloc(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return guard_no_memory();
	return guard_block_new(MPROF_FN_CALLOC, bytes, 0, 1);
}

static size_t guard_usable(void *ptr)
{
	uint32_t index = ptr ? find(ptr) : 0;

	if (index)
		return entry_at(index)->state == STATE_FREED ? 0 : entry_at(index)->size;
	return ptr ? behind.malloc_usable_size(ptr) : 0;
}

/* Reallocates with a new block and a copy.  The caller has claimed the entry. */
static void *guard_realloc_by_copy(struct entry *e, uint32_t index, size_t size, struct call c)
{
	void *to = guard_block_new(MPROF_FN_REALLOC, size, 0, 0);

	if (!to) {
		guard_settle(e, STATE_LIVE);
		return NULL;
	}
	__builtin_memcpy(to, (void *)e->ptr, e->size < size ? e->size : size);
	guard_free_claimed(e, index, c);
	return to;
}

/* A growing block moves, so that a use of its old address is found, as long as the copy is cheap.
 * Otherwise the allocator resizes or moves it: it does not copy large ones. */
static void *guard_realloc_claimed(struct entry *e, uint32_t index, size_t size, struct call c)
{
	const size_t front = e->ptr - e->base;
	uint32_t *slot = slot_of(e->ptr);
	size_t bytes;
	char *base;

	if (__builtin_add_overflow(size, front + zone + ALIGN_LEAST - 1, &bytes)) {
		guard_settle(e, STATE_LIVE);
		return guard_no_memory();
	}
	if (!own_realloc || !host->recording() || (size > e->size && e->size <= MOVED_MOST))
		return guard_realloc_by_copy(e, index, size, c);
	guard_check_family(e, c);
	__atomic_store_n(slot, 0, __ATOMIC_RELEASE);
	base = behind.realloc((void *)e->base, bytes & -(size_t)ALIGN_LEAST);
	if (base) {
		e->base = (uintptr_t)base;
		e->ptr = e->base + front;
		e->size = size;
		e->fn = MPROF_FN_REALLOC;
		e->told = 0;
		guard_paint(e);
	}
	if (slot_set(e->ptr, index) < 0) {
		/* There is no memory for the entry of the new address, so it becomes a block
		 * without guards. */
		__builtin_memmove(base, (void *)e->ptr, size);
		guard_settle(e, STATE_NONE);
		entry_give(index);
		__atomic_fetch_add(&totals.bare, 1, RLX);
		guard_show();
		return base;
	}
	guard_settle(e, STATE_LIVE);
	return base ? (void *)e->ptr : NULL;
}

/* Handles an invalid pointer: returns a new block with a copy of the readable bytes. */
static MPROF_COLD void *guard_realloc_wrong(void *ptr, size_t size, uint32_t index)
{
	const struct entry *e = index ? entry_at(index) : NULL;
	uintptr_t end = e ? e->ptr + e->size : 0, at = (uintptr_t)ptr;
	void *to = guard_block_new(MPROF_FN_REALLOC, size, 0, 0);

	if (to && e && at >= e->ptr && at < end)
		__builtin_memcpy(to, ptr, end - at < size ? end - at : size);
	return to;
}

static void *guard_realloc(void *ptr, size_t size)
{
	const struct call c = guard_call_take(MPROF_FN_REALLOC);
	uint32_t index;
	uint8_t is;

	if (!ptr)
		return guard_block_new(MPROF_FN_REALLOC, size, 0, 0);
	index = find(ptr);
	if (mprof_likely(index && guard_claim(entry_at(index), ptr, STATE_LIVE, &is))) {
		if (!size && zero_frees) {
			guard_free_claimed(entry_at(index), index, c);
			return NULL;
		}
		guard_check_guards(entry_at(index), c);
		return guard_realloc_claimed(entry_at(index), index, size, c);
	}
	if (index && is != STATE_NONE) {
		guard_tell_double(entry_at(index), c, is);
		return guard_realloc_wrong(ptr, size, index);
	}
	if (guard_is_foreign(ptr, c))
		return guard_realloc_wrong(ptr, size, guard_find_around((uintptr_t)ptr));
	return behind.realloc(ptr, size);
}

static void *guard_aligned(uint8_t fn, size_t align, size_t size)
{
	size_t power = ALIGN_LEAST;

	/* Rounds up to a power of two, as glibc does. */
	while (power < align && power << 1)
		power <<= 1;
	if (power < align) {
		*mprof_core.error() = EINVAL;
		return NULL;
	}
	return guard_block_new(fn, size, power, 0);
}

static void *guard_memalign(size_t align, size_t size)
{
	return guard_aligned(MPROF_FN_MEMALIGN, align, size);
}

/* Allocators reject different alignments, so the allocator decides. */
static void *guard_aligned_alloc(size_t align, size_t size)
{
	if (!align || align & (align - 1))
		return behind.aligned_alloc(align, size);
	return guard_aligned(MPROF_FN_ALIGNED_ALLOC, align, size);
}

static int guard_posix_memalign(void **out, size_t align, size_t size)
{
	int before = *mprof_core.error();
	void *ptr;

	if (align % sizeof(void *) || !align || align & (align - 1))
		return EINVAL;
	ptr = guard_aligned(MPROF_FN_POSIX_MEMALIGN, align, size);
	*mprof_core.error() = before;
	if (!ptr)
		return ENOMEM;
	*out = ptr;
	return 0;
}

static void *guard_valloc(size_t size)
{
	return guard_aligned(MPROF_FN_VALLOC, *host->page_bytes, size);
}

static void *guard_pvalloc(size_t size)
{
	const size_t page = *host->page_bytes;

	if (size > SIZE_MAX - page)
		return guard_no_memory();
	return guard_aligned(MPROF_FN_PVALLOC, page, (size + page - 1) & -page);
}

/* ---- hooks: the stack of each call ---- */

/* Returns the id of the stack; sets *thread to the thread's number, 0 if the call is not
 * recorded. */
static uint32_t guard_stack_here(struct mprof_place at, uint32_t *thread)
{
	struct mprof_thread *t = mprof_self;
	uint32_t id = 0;

	*thread = 0;
	if (mprof_unlikely(!t->number || t->busy)) {
		t = host->enter();
		if (!t)
			return 0;
	}
	t->busy = mprof_stack();
	__asm__ volatile("" ::: "memory");
	if (mprof_core.capture)
		id = mprof_core.capture(t, at.pc, at.sp, at.fp);
	__asm__ volatile("" ::: "memory");
	t->busy = 0;
	if (mprof_unlikely(!t->data)) /* it began while another thread took the figures */
		t->data = __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
	*thread = t->number;
	return id;
}

static __attribute__((noinline)) void guard_allocated(unsigned fn, void *ptr, struct mprof_place at)
{
	uint32_t index = find(ptr);
	struct entry *e;

	if (!index)
		return;
	e = entry_at(index);
	e->allocated = guard_stack_here(at, &e->thread);
	e->fn = (uint8_t)fn;
}

/* For guard_free and guard_realloc, which run next. */
static __attribute__((noinline)) void guard_calls(unsigned fn, struct mprof_place at)
{
	uint32_t thread, id = guard_stack_here(at, &thread);

	if (!thread)
		return;
	mprof_self->last_free_stack = id;
	mprof_self->last_stack = fn;
}

MPROF_HOT void on_alloc(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)size, (void)arg;
	guard_allocated(fn, ptr, mprof_caller());
}
MPROF_HOT void on_fail(unsigned fn, size_t size, size_t arg, unsigned error)
{
	(void)fn, (void)size, (void)arg, (void)error;
}
MPROF_HOT void on_free(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)size, (void)arg;
	if (ptr)
		guard_calls(fn, mprof_caller());
}
MPROF_HOT void on_realloc_begin(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)ptr, (void)size, (void)arg;
	guard_calls(fn, mprof_caller());
}
MPROF_HOT void on_realloc_end(unsigned fn, void *old, void *ptr, size_t size, size_t arg)
{
	(void)old, (void)size, (void)arg;
	if (ptr)
		guard_allocated(fn, ptr, mprof_caller());
}
static void note_map(unsigned fn, uint64_t ticks, const uint64_t value[4], unsigned error)
{
	(void)fn, (void)ticks, (void)value, (void)error;
}
static void note_control(unsigned what, uint64_t value)
{
	(void)what, (void)value;
}

#include <mprof/template.h>

/* ---- C++ ---- */

/* An operator new[] calls operator new, and what returns last is what the program called. */
static void guard_operator_made(unsigned fn, void *ptr)
{
	const uint32_t index = find(ptr);

	if (index && entry_at(index)->state == STATE_LIVE)
		entry_at(index)->fn = (uint8_t)fn;
}

/* The operator goes on to another one, or to free(): the first one is what the program called. */
static void guard_operator_ends(unsigned fn, void *ptr)
{
	const uint32_t index = find(ptr);
	struct entry *e;
	uint8_t is;

	if (!index || !guard_claim(e = entry_at(index), ptr, STATE_LIVE, &is))
		return;
	if (!e->freed_fn)
		e->freed_fn = (uint8_t)fn;
	guard_settle(e, STATE_LIVE);
}

/* ---- processes and threads ---- */

/* Finds out which functions of the allocator call others through us: those are not used. */
static void guard_know_allocator(void)
{
	struct mprof_real *r = &mprof_core.real;
	void *ptr;

	behind = *r;
	r->malloc = guard_malloc;
	r->free = guard_free;
	r->malloc_usable_size = guard_usable;
	r->memalign = guard_memalign;
	ptr = behind.calloc(1, 1);
	own_calloc = ptr && !find(ptr);
	if (own_calloc)
		behind.free(ptr);
	else
		guard_free(ptr);
	ptr = behind.realloc(behind.malloc(64), 8192);
	own_realloc = ptr && !find(ptr);
	if (own_realloc)
		behind.free(ptr);
	else
		guard_free(ptr);
	ptr = own_realloc ? behind.realloc(behind.malloc(1), 0) : NULL;
	zero_frees = own_realloc && !ptr;
	if (ptr)
		behind.free(ptr);
	totals.blocks = totals.freed = 0;
	r->calloc = guard_calloc;
	r->realloc = guard_realloc;
	r->posix_memalign = guard_posix_memalign;
	r->aligned_alloc = guard_aligned_alloc;
	r->valloc = guard_valloc;
	r->pvalloc = guard_pvalloc;
	mprof_core.chunk_headers = 0; /* a block's usable size is the requested size */
}

static int guard_start(const struct mprof_host *h)
{
	int error;

	host = h;
	zone = (h->config->guard_bytes + ALIGN_LEAST - 1) & -(size_t)ALIGN_LEAST;
	kept_limit = h->config->guard_keep;
	matches = h->config->guard_match;
	h->stacks_start();
	kept = h->memory(KEPT_MOST * sizeof(*kept), KEPT_MOST * sizeof(*kept));
	error = kept ? guarded_start() : -ENOMEM;
	if (!error)
		error = h->file_open(MPROF_MAGIC_TRACE, h->config->guard_path);
	if (!error) {
		guard_know_allocator();
		mprof_core.operator_made = guard_operator_made;
		mprof_core.operator_ends = guard_operator_ends;
	}
	return error;
}

/* All threads of a process have the same figures, which the first one takes. */
static void guard_thread_start(struct mprof_thread *t)
{
	struct mprof_guarded *taken;

	if (!__atomic_exchange_n(&begun, 1, RLX)) {
		taken = host->live(MPROF_EXTENT_GUARDED, t->number, 0, sizeof(*taken));
		if (taken)
			taken->guard_bytes = zone;
		__atomic_store_n(&shared, taken, __ATOMIC_RELEASE);
	}
	t->data = __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
	guard_show();
}

static void guard_forked(void)
{
	__builtin_memset(&totals, 0, sizeof(totals));
	begun = 0;
	shared = NULL;
}

/* The process ends or calls exec: checks all live blocks. */
static void guard_flush(struct mprof_thread *t)
{
	const struct call at_end = { 0, t->number, 0 };
	const uint32_t last = __atomic_load_n(&made, RLX);
	struct entry *e;
	uint8_t is;

	for (uint32_t i = 1; i <= last; i++) {
		if (!__atomic_load_n(&piece[i >> ENTRY_BITS], RLX))
			continue;
		e = entry_at(i);
		is = __atomic_load_n(&e->state, RLX);
		if (e->told || (is != STATE_LIVE && is != STATE_FREED) ||
		    !__atomic_compare_exchange_n(&e->state, &is, STATE_BUSY, 0, __ATOMIC_ACQUIRE,
						 RLX))
			continue;
		if (is == STATE_LIVE)
			guard_check_guards(e, at_end);
		else
			guard_check_poison(e, at_end);
		guard_settle(e, is);
	}
	__atomic_store_n(&totals.ended, 1, RLX);
	guard_show();
}

const struct mprof_mode_ops mprof_mode_guard MPROF_SHARED = {
	.abi = MPROF_MODULE_ABI,
	.api = &mode_api,
	.start = guard_start,
	.thread_start = guard_thread_start,
	.flush = guard_flush,
	.forked = guard_forked,
};
