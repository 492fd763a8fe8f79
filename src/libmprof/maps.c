// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * maps.c - the mmap family: recorded as address space, not as blocks.
 *
 * The functions make the system calls themselves, because they may be called before anything is set
 * up.  munmap takes its time stamp before the call, the others after, for the same reason as frees
 * and allocations.
 */
#include <errno.h>
#include <mprof/module.h>
#include <stdarg.h>
#include <string.h>

#include "core.h"
#include "peak.h"
#include "real_libc.h"
#include "scopes.h"
#include "stack_parts.h"
#include "stacks.h"
#include "sys.h"
#include "thread.h"
#include "times.h"

/* The same name, or that of the library behind a proxy: libtbbmalloc_proxy.so.2. */
static int maps_is_behind(const char *allocator, const char *name)
{
	const char *slash = strrchr(allocator, '/');

	allocator = slash ? slash + 1 : allocator;
	slash = strrchr(name, '/');
	name = slash ? slash + 1 : name;
	while (*name && *name == *allocator)
		name++, allocator++;
	if (!strncmp(allocator, "_proxy", 6))
		allocator += 6;
	return !strcmp(allocator, name);
}

/*
 * Is the caller an allocator in a library of its own?  What it maps is the heap, as what glibc maps
 * for its own, which does not come here.  A program and a libc map other memory, too.
 */
static int maps_by_allocator(const void *caller)
{
	struct dl_find_object of, its, libc;

	return _dl_find_object && !_dl_find_object((void *)(uintptr_t)caller, &of) &&
	       !_dl_find_object(MP_REAL(malloc), &its) && *its.dlfo_link_map->l_name &&
	       maps_is_behind(its.dlfo_link_map->l_name, of.dlfo_link_map->l_name) &&
	       !_dl_find_object((void *)(uintptr_t)mp_next()->sbrk, &libc) &&
	       its.dlfo_link_map != libc.dlfo_link_map;
}

static void maps_note_at(const void *caller, unsigned fn, uint64_t ticks, uint64_t a, uint64_t b,
			 uint64_t c, uint64_t d, long ret)
{
	const uint64_t value[4] = { a, b, c, d };
	int lifted;

	if (mp_recording() && maps_by_allocator(caller))
		return;
	lifted = mp_quiet_lift(); /* a quiet call hides blocks, but not mappings */
	mp_table()->note_map(fn, ticks, value, ret < 0 && ret > -4096 ? (unsigned)-ret : 0);
	mp_quiet_drop(lifted);
}

/* 0 unless recording, because the program may have forbidden reading the clock. */
static uint64_t maps_now(void)
{
	return mp_recording() ? mprof_ticks() : 0;
}

static void maps_note(const void *caller, unsigned fn, uint64_t a, uint64_t b, uint64_t c,
		      uint64_t d, long ret)
{
	maps_note_at(caller, fn, maps_now(), a, b, c, d, ret);
}

static void *maps_result(long ret)
{
	if (ret >= 0 || ret < -4095)
		return (void *)ret;
	errno = (int)-ret;
	return MAP_FAILED;
}

static void *maps_map(const void *caller, void *at, size_t bytes, int prot, int flags, int fd,
		      off_t offset)
{
	long ret;

	if (mprof_unlikely(flags & MAP_FIXED)) {
		mp_peak_falls(bytes);
		mp_stacks_unmapped((uintptr_t)at, bytes);
	}
	ret = mp_sys(SYS_mmap, (long)at, (long)bytes, prot, flags, fd, offset);

	maps_note(caller, MPROF_FN_MMAP, ret < 0 && ret > -4096 ? 0 : (uint64_t)ret, bytes,
		  (uint32_t)prot | (uint64_t)(uint32_t)flags << 32,
		  (uint32_t)fd | (uint64_t)offset >> 12 << 32, ret);
	return maps_result(ret);
}

EXPORT void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	return maps_map(__builtin_return_address(0), at, bytes, prot, flags, fd, offset);
}

EXPORT void *mmap64(void *at, size_t bytes, int prot, int flags, int fd, off64_t offset)
{
	return maps_map(__builtin_return_address(0), at, bytes, prot, flags, fd, offset);
}

/*
 * How much of this range is mapped, if the MODE wants to know.  msync with MS_ASYNC only fails if
 * there is a gap, which is rare.
 */
static uint64_t maps_mapped(void *at, size_t bytes)
{
	uint64_t mapped;

	if (!mp_recording() || !mp_mode->counts_unmapped ||
	    mp_sys(SYS_msync, (long)at, (long)bytes, MS_ASYNC, 0, 0, 0) != -ENOMEM)
		return bytes;
	return mp_areas_within((uintptr_t)at, bytes, &mapped) < 0 ? bytes : mapped;
}

EXPORT int munmap(void *at, size_t bytes)
{
	uint64_t before, mapped;
	long ret;

	mp_peak_falls(bytes);
	mapped = maps_mapped(at, bytes);
	before = maps_now();
	mp_stacks_unmapped((uintptr_t)at, bytes);
	ret = mp_sys(SYS_munmap, (long)at, (long)bytes, 0, 0, 0, 0);

	maps_note_at(__builtin_return_address(0), MPROF_FN_MUNMAP, before, (uintptr_t)at, mapped, 0,
		     0, ret);
	if (ret < 0) {
		errno = (int)-ret;
		return -1;
	}
	return 0;
}

EXPORT void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
	void *to = NULL;
	va_list args;
	long ret;

	va_start(args, flags);
	if (flags & (MREMAP_FIXED | 4 /* MREMAP_DONTUNMAP */))
		to = va_arg(args, void *);
	va_end(args);
	mp_peak_falls(old_bytes);
	mp_stacks_unmapped((uintptr_t)old, old_bytes);
	if (flags & MREMAP_FIXED)
		mp_stacks_unmapped((uintptr_t)to, bytes);
	ret = mp_sys(SYS_mremap, (long)old, (long)old_bytes, (long)bytes, flags, (long)to, 0);
	if (flags & 4) /* the old mapping stays, as it does with an old length of 0 */
		old_bytes = 0;
	maps_note(__builtin_return_address(0), MPROF_FN_MREMAP,
		  ret < 0 && ret > -4096 ? 0 : (uint64_t)ret, bytes, (uintptr_t)old, old_bytes,
		  ret);
	return maps_result(ret);
}

EXPORT int brk(void *to)
{
	uintptr_t before = (uintptr_t)mp_sys(SYS_brk, 0, 0, 0, 0, 0, 0), now = (uintptr_t)to;
	int ret;

	if (now < before)
		mp_peak_falls(before - now);
	ret = mp_next()->brk(to);
	maps_note(__builtin_return_address(0), MPROF_FN_BRK, ret ? 0 : now,
		  now > before ? now - before : before - now, before, now - before,
		  ret ? -ENOMEM : 0);
	return ret;
}

EXPORT void *sbrk(intptr_t change)
{
	void *before;

	if (change < 0)
		mp_peak_falls(0 - (size_t)change);
	before = mp_next()->sbrk(change);
	if (change)
		maps_note(__builtin_return_address(0), MPROF_FN_SBRK,
			  before == (void *)-1 ? 0 : (uintptr_t)before + (uintptr_t)change,
			  change < 0 ? 0 - (uint64_t)change : (uint64_t)change, (uintptr_t)before,
			  (uint64_t)change, before == (void *)-1 ? -ENOMEM : 0);
	return before;
}
