/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * fake_page.h - mmap as of a kernel with pages of MP_FAKE_PAGE bytes.
 *
 * Only in a build for tests (make pages), which runs the library with large pages on machines with
 * small ones: offsets and addresses are multiples of the large page, and the length of a mapping is
 * rounded up to it.
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static inline size_t fake_length(size_t n)
{
	return (n + MP_FAKE_PAGE - 1) & -(size_t)MP_FAKE_PAGE;
}

static inline void *fake_mmap(void *at, size_t n, int prot, int flags, int fd, uint64_t offset)
{
	size_t room;
	long base, start;

	if (offset % MP_FAKE_PAGE || (flags & MAP_FIXED && (uintptr_t)at % MP_FAKE_PAGE))
		return (void *)-EINVAL;
	n = fake_length(n);
	if (flags & MAP_FIXED)
		return (void *)mp_sys(SYS_mmap, (long)at, (long)n, prot, flags, fd, (long)offset);
	/* Trim the excess around the aligned part. */
	room = n + MP_FAKE_PAGE;
	base = mp_sys(SYS_mmap, 0, (long)room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if ((unsigned long)base >= -4095ul)
		return (void *)base;
	start = (long)fake_length((size_t)base);
	if (start > base)
		mp_sys(SYS_munmap, base, start - base, 0, 0, 0, 0);
	mp_sys(SYS_munmap, start + (long)n, base + (long)room - start - (long)n, 0, 0, 0, 0);
	return (void *)mp_sys(SYS_mmap, start, (long)n, prot, flags | MAP_FIXED, fd, (long)offset);
}

/* A large page is resident or mapped if a part of it is. */
static inline int fake_mincore(uintptr_t at, size_t n, unsigned char *pages)
{
	const size_t small = 4096;
	unsigned char one;

	if (at % MP_FAKE_PAGE)
		return -EINVAL;
	for (size_t i = 0; i < fake_length(n) / MP_FAKE_PAGE; i++) {
		int mapped = 0;

		pages[i] = 0;
		for (size_t k = 0; k < MP_FAKE_PAGE; k += small)
			if (!mp_sys(SYS_mincore, (long)(at + i * MP_FAKE_PAGE + k), (long)small,
				    (long)&one, 0, 0, 0)) {
				mapped = 1;
				pages[i] |= one & 1;
			}
		if (!mapped)
			return -ENOMEM;
	}
	return 0;
}
