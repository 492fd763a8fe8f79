// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * boot.c - the table in place before and during initialisation.
 *
 * The first call initialises.  Calls made while that goes on (by dlsym, by a
 * loaded allocator's constructor), or before libc itself is up, are served from
 * a bump arena.  Its blocks are recognised for ever by their address: a free
 * does nothing, a realloc moves the block to the real allocator.
 *
 * Each block has its length in front, so that realloc copies all of it and
 * no more.  Threads: the cursor moves by compare-and-swap.
 */
#include <errno.h>
#include <stdalign.h>
#include <unistd.h>

#include "internal.h"

/*
 * libstdc++'s emergency pool alone takes 72,704 bytes.  The arena is mapped when
 * the first block is asked for, so that a program with a tight limit on its
 * address space does not pay for what it does not use.
 */
#define BOOT_BYTES (16u << 20)
#define BOOT_SPARE 65536u
#define ALIGN_MOST 65536u /* the largest page */

static alignas(max_align_t) char spare[BOOT_SPARE]; /* used if mmap fails */
static size_t arena_used;
uint32_t mp_boot_early;

/* Two threads may both map one: the second gives its own back. */
static MPROF_COLD uintptr_t arena_start(void)
{
	uintptr_t none = 0, base;
	void *map = sys_mmap(NULL, BOOT_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	base = sys_failed(map) ? (uintptr_t)spare : (uintptr_t)map;
	__atomic_store_n(&mprof_core.boot_bytes, sys_failed(map) ? BOOT_SPARE : BOOT_BYTES,
			 __ATOMIC_RELAXED);
	/* Bytes first: until the base is there, no pointer lies in the arena. */
	if (!__atomic_compare_exchange_n(&mprof_core.boot_base, &none, base, 0, __ATOMIC_RELEASE,
					 __ATOMIC_ACQUIRE)) {
		if (!sys_failed(map))
			sys_munmap(map, BOOT_BYTES);
		return none;
	}
	return base;
}

struct boot_block {
	size_t size;
};

void *mp_boot_alloc(size_t align, size_t size)
{
	uintptr_t base = __atomic_load_n(&mprof_core.boot_base, __ATOMIC_ACQUIRE);
	size_t old, start, end, room;

	if (!base)
		base = arena_start();
	room = __atomic_load_n(&mprof_core.boot_bytes, __ATOMIC_RELAXED);
	if (align < alignof(max_align_t))
		align = alignof(max_align_t);
	old = __atomic_load_n(&arena_used, __ATOMIC_RELAXED);
	do {
		start = ((base + old + sizeof(struct boot_block) + align - 1) & -align) - base;
		if (align > ALIGN_MOST || size > room || start > room - size) {
			errno = ENOMEM;
			return NULL;
		}
		end = start + (size ? size : 1);
	} while (!__atomic_compare_exchange_n(&arena_used, &old, end, 1, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	((struct boot_block *)(base + start))[-1].size = size;
	return (void *)(base + start);
}

size_t mp_boot_usable(void *ptr)
{
	return ((struct boot_block *)ptr)[-1].size;
}

/* ptr is a boot block or NULL. */
void *mp_boot_realloc(void *ptr, size_t size)
{
	void *to = mp_table()->malloc(size);
	size_t keep;

	if (!to || !ptr)
		return to;
	keep = mp_boot_usable(ptr);
	__builtin_memcpy(to, ptr, keep < size ? keep : size);
	return to;
}

/* Worth telling if the program did it: not what our own set-up or the loader asks for. */
static void *boot_block(size_t align, size_t size)
{
	if (mp_boot_waiting())
		__atomic_fetch_add(&mp_boot_early, 1, __ATOMIC_RELAXED);
	return mp_boot_alloc(align, size);
}

static void *boot_malloc(size_t size)
{
	return mp_boot_try(__builtin_return_address(0)) ? mp_table()->malloc(size)
							: boot_block(0, size);
}

/* A block that is not of the arena cannot be ours yet: leaking it is the safe answer. */
static void boot_free(void *ptr)
{
	if (ptr && !mprof_is_boot(ptr) && mp_boot_try(__builtin_return_address(0)))
		mp_table()->free(ptr);
}

static void *boot_calloc(size_t count, size_t size)
{
	size_t bytes;

	if (mp_boot_try(__builtin_return_address(0)))
		return mp_table()->calloc(count, size);
	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return boot_block(0, bytes); /* never handed out twice, so still zero */
}

static void *boot_realloc(void *ptr, size_t size)
{
	if (ptr && !mprof_is_boot(ptr))
		return mp_boot_try(__builtin_return_address(0)) ? mp_table()->realloc(ptr, size)
								: NULL;
	return mp_boot_realloc(ptr, size);
}

static void *boot_reallocarray(void *ptr, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return boot_realloc(ptr, bytes);
}

static void *boot_memalign(size_t align, size_t size)
{
	return mp_boot_try(__builtin_return_address(0)) ? mp_table()->memalign(align, size)
							: boot_block(align, size);
}

static int boot_posix_memalign(void **out, size_t align, size_t size)
{
	void *ptr;

	if (mp_boot_try(__builtin_return_address(0)))
		return mp_table()->posix_memalign(out, align, size);
	if (align % sizeof(void *) || !align || align & (align - 1))
		return EINVAL;
	ptr = boot_block(align, size);
	if (!ptr)
		return ENOMEM;
	*out = ptr;
	return 0;
}

static void *boot_aligned_alloc(size_t align, size_t size)
{
	return mp_boot_try(__builtin_return_address(0)) ? mp_table()->aligned_alloc(align, size)
							: boot_block(align, size);
}

static void *boot_valloc(size_t size)
{
	return mp_boot_try(__builtin_return_address(0)) ? mp_table()->valloc(size)
							: boot_block(mp_page_know(), size);
}

static void *boot_pvalloc(size_t size)
{
	size_t page = mp_page_know();

	if (mp_boot_try(__builtin_return_address(0)))
		return mp_table()->pvalloc(size);
	if (size > SIZE_MAX - page) {
		errno = ENOMEM;
		return NULL;
	}
	return boot_block(page, (size + page - 1) & -page);
}

static size_t boot_malloc_usable_size(void *ptr)
{
	if (mprof_is_boot(ptr))
		return mp_boot_usable(ptr);
	return ptr && mp_boot_try(__builtin_return_address(0)) ? mp_table()->malloc_usable_size(ptr)
							       : 0;
}

static void boot_cfree(void *ptr)
{
	boot_free(ptr);
}

static void boot_free_sized(void *ptr, size_t size)
{
	(void)size;
	boot_free(ptr);
}

static void boot_free_aligned_sized(void *ptr, size_t align, size_t size)
{
	(void)align, (void)size;
	boot_free(ptr);
}

static void boot_note_alloc(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)fn, (void)ptr, (void)size, (void)arg;
}
static void boot_note_free(unsigned fn, void *ptr, size_t size)
{
	(void)fn, (void)ptr, (void)size;
}
static void boot_note_map(unsigned fn, uint64_t ticks, const uint64_t value[4], unsigned error)
{
	(void)fn, (void)ticks, (void)value, (void)error;
}
static void boot_note_control(unsigned what, uint64_t value)
{
	(void)what, (void)value;
}

const struct mprof_api mp_boot_api MP_HIDDEN = {
#define X(ret, name, params, args) .name = boot_##name,
	MPROF_MALLOC_FAMILY(X)
#undef X
	    .note_alloc = boot_note_alloc,
	.note_free = boot_note_free,
	.note_map = boot_note_map,
	.note_control = boot_note_control,
};

/* What hot paths read. */
struct mprof_core_data mprof_core_local = {
	.clock_slow = mp_clock_monotonic_ns,
	.boot_realloc = mp_boot_realloc,
	.boot_usable = mp_boot_usable,
	.error = __errno_location,
};
#undef mprof_core
extern struct mprof_core_data mprof_core
    __attribute__((alias("mprof_core_local"), visibility("default")));
