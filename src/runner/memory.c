/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * memory.c - the runner's own memory: mapped and filled early, so that none of it is faulted in
 * later.
 */
#include <sys/mman.h>
#include "run.h"

/* Further stacks are mapped later, one at a time; their pages appear in frames. */
#define SPANS 4096

static struct span spans[SPANS];
static size_t spans_n;

static void *map(size_t bytes, int flags)
{
	size_t size = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1), i;
	char *p;

	if (!size)
		size = PAGE;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	if (p == MAP_FAILED)
		die(STATUS_RUN, "no memory for %u bytes", (uint64_t)bytes);
	i = __atomic_fetch_add(&spans_n, 1, __ATOMIC_RELAXED);
	if (i < SPANS)
		spans[i] = (struct span){ (uintptr_t)p, (uintptr_t)p + size };
	return p;
}

void *own_map(size_t bytes)
{
	return map(bytes, MAP_POPULATE);
}

void *own_reserve(size_t bytes)
{
	return map(bytes, MAP_NORESERVE);
}

const struct span *own_spans(size_t *n)
{
	size_t have = __atomic_load_n(&spans_n, __ATOMIC_RELAXED);

	*n = have < SPANS ? have : SPANS;
	return spans;
}
