// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * boot.c - the table in place before and during initialisation.
 *
 * The first call initialises.  Calls made meanwhile (by dlsym, by the constructor of a loaded
 * allocator), or before libc itself is ready, are served from a bump arena.  Its blocks are always
 * recognised by their address: free does nothing, realloc moves the block to the real allocator.
 *
 * Each block stores its length in front of it, so realloc copies exactly the block. Threads: the
 * cursor moves by compare-and-swap.
 */
#include <errno.h>
#include <stdalign.h>
#include <unistd.h>

#include "allocator.h"
#include "core.h"
#include "start.h"
#include "sys.h"

/*
 * libstdc++'s emergency pool alone takes 72,704 bytes.  The arena is mapped at the first request,
 * so it costs address space only in programs that need it.
 */
#define BOOT_BYTES (16u << 20)
#define BOOT_SPARE 65536u
#define ALIGN_MOST 65536u /* the largest page size */

static alignas(max_align_t) char spare[BOOT_SPARE]; /* used if mmap fails */
static size_t arena_used;
uint32_t mp_boot_early;

/*
 * Two threads may both try to map the arena, and one of them may fail: agree on the arena first;
 * the size follows from the arena.
 */
static MPROF_COLD uintptr_t arena_start(void)
{
	static uintptr_t chosen;
	uintptr_t base = 0, ours;
	void *map = sys_mmap(NULL, BOOT_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ours = sys_failed(map) ? (uintptr_t)spare : (uintptr_t)map;
	if (__atomic_compare_exchange_n(&chosen, &base, ours, 0, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		base = ours;
	else if (!sys_failed(map))
		sys_munmap(map, BOOT_BYTES);
	/* The size first: until the base is set, no pointer lies in the arena. */
	__atomic_store_n(&mprof_core.boot_bytes, base == (uintptr_t)spare ? BOOT_SPARE : BOOT_BYTES,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&mprof_core.boot_base, base, __ATOMIC_RELEASE);
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
static void *boot_moved(void *ptr, size_t size)
{
	void *to = mp_table()->malloc(size);
	size_t keep;

	if (!to || !ptr)
		return to;
	keep = mp_boot_usable(ptr);
	__builtin_memcpy(to, ptr, keep < size ? keep : size);
	return to;
}

/* Counts requests of the program, but not those of our own initialisation or of the loader. */
static void *boot_block(size_t align, size_t size)
{
	if (mp_boot_waiting())
		__atomic_fetch_add(&mp_boot_early, 1, __ATOMIC_RELAXED);
	return mp_boot_alloc(align, size);
}

/* No memory of the arena is used twice, so calloc's block is zero. */
static MPROF_COLD void *boot_fresh(enum mprof_shape shape, size_t size, size_t arg)
{
	struct mp_extent want = mp_extent_of(shape, size, arg);

	return want.fits ? boot_block(want.align, want.bytes) : NULL;
}

void *mp_boot_resize(void *ptr, enum mprof_shape shape, size_t size, size_t arg)
{
	struct mp_extent want = mp_extent_of(shape, size, arg);

	return want.fits ? boot_moved(ptr, want.bytes) : NULL;
}

static MPROF_COLD int boot_out(void **out, size_t align, size_t size)
{
	void *ptr;

	if (align % sizeof(void *) || !align || align & (align - 1))
		return EINVAL;
	ptr = boot_block(align, size);
	if (!ptr)
		return ENOMEM;
	*out = ptr;
	return 0;
}

/* Another table is in place, possibly since this call. */
#define READY() mp_boot_try(__builtin_return_address(0))

#define BOOT_ALLOC(id, name, shape, params, args, size, arg)                 \
	static void *boot_##name params                                      \
	{                                                                    \
		return READY() ? mp_table()->name args                       \
			       : boot_fresh(MPROF_SHAPE_##shape, size, arg); \
	}
#define BOOT_OUT(id, name, shape, params, args, size, arg)                         \
	static int boot_##name params                                              \
	{                                                                          \
		return READY() ? mp_table()->name args : boot_out(out, arg, size); \
	}
#define BOOT_REALLOC(id, name, shape, params, args, size, arg)              \
	static void *boot_##name params                                     \
	{                                                                   \
		if (ptr && !mprof_is_boot(ptr))                             \
			return READY() ? mp_table()->name args : NULL;      \
		return mp_boot_resize(ptr, MPROF_SHAPE_##shape, size, arg); \
	}
/* A block outside the arena cannot be ours yet: leaking it is safe. */
#define BOOT_FREE(id, name, shape, params, args, size, arg) \
	static void boot_##name params                      \
	{                                                   \
		if (ptr && !mprof_is_boot(ptr) && READY())  \
			mp_table()->name args;              \
	}
#define BOOT_QUERY(id, name, shape, params, args, size, arg)       \
	static size_t boot_##name params                           \
	{                                                          \
		if (mprof_is_boot(ptr))                            \
			return mp_boot_usable(ptr);                \
		return ptr && READY() ? mp_table()->name args : 0; \
	}
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(BOOT, id, name)
#include <mprof/functions.def>

const struct mprof_api mp_boot_api MP_HIDDEN = {
#define MPROF_MALLOC(id, code, name, class, shape, found) .name = boot_##name,
#include <mprof/functions.def>
	MP_NO_NOTES,
};

/* The data that hot paths read. */
struct mprof_core_data mprof_core_local = {
	.clock_slow = mp_clock_monotonic_ns,
	.boot_realloc = boot_moved,
	.boot_usable = mp_boot_usable,
	.error = __errno_location,
};
#undef mprof_core
extern struct mprof_core_data mprof_core
    __attribute__((alias("mprof_core_local"), visibility("default")));
