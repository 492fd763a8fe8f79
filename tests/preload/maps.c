/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* maps.c - direct use of address space: halves and middles unmapped, moved, grown, shrunk, brk. */
#include "victim.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#define PAGE ((size_t)4096)
#define RW   (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static char *map(size_t pages)
{
	char *p = mmap(NULL, pages * PAGE, RW, ANON, -1, 0);

	must(p != MAP_FAILED);
	memset(p, 1, pages * PAGE);
	return p;
}

static void unmaps(void)
{
	char *p = map(8);

	must(munmap(p, 4 * PAGE) == 0); /* the lower half */
	must(p[4 * PAGE] == 1);
	must(munmap(p + 4 * PAGE, 4 * PAGE) == 0);
	p = map(9);
	must(munmap(p + 3 * PAGE, 3 * PAGE) == 0); /* the middle */
	must(p[0] == 1 && p[8 * PAGE] == 1);
	must(munmap(p, 9 * PAGE) == 0); /* a hole inside is not an error */
	errno = 0;
	must(munmap(p + 1, PAGE) == -1 && errno == EINVAL);
}

static void remaps(void)
{
	char *p = map(8), *q;

	q = mremap(p, 8 * PAGE, 2 * PAGE, 0);
	must(q == p);
	q = mremap(q, 2 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
	must(q != MAP_FAILED && q[0] == 1);
	p = map(4);
	p = mremap(q, 64 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, p);
	must(p != MAP_FAILED && p[0] == 1);
	must(munmap(p, 4 * PAGE) == 0);
	errno = 0;
	must(mremap(p, 4 * PAGE, 8 * PAGE, 0) == MAP_FAILED && errno == EFAULT);
}

static void failures(void)
{
	errno = 0;
	must(mmap(NULL, 0, RW, ANON, -1, 0) == MAP_FAILED && errno == EINVAL);
	errno = 0;
	must(mmap(NULL, PAGE, RW, MAP_PRIVATE, 9999, 0) == MAP_FAILED && errno == EBADF);
	errno = 0;
	must(mmap64(NULL, PAGE, RW, MAP_PRIVATE, 9999, (off64_t)1 << 40) == MAP_FAILED &&
	     errno == EBADF);
}

static void breaks(void)
{
	char *at = sbrk(0);

	must(sbrk(3 * (intptr_t)PAGE) == at);
	memset(at, 1, 3 * PAGE);
	must(sbrk(-(intptr_t)PAGE) == at + 3 * PAGE);
	must(brk(at) == 0);
	must(sbrk(0) == at);
}

int main(void)
{
	unmaps();
	remaps();
	failures();
	breaks();
	say("expect calls.mmap 7");
	say("expect calls.munmap 6");
	say("expect calls.mremap 4");
	say("atleast calls.sbrk 2");
	say("expect calls.brk 1");
	say("expect live_bytes 0");
	say("ends 0");
	return 0;
}
