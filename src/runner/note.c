/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * note.c - records of individual calls: addresses of blocks, and latencies of sampled calls.
 */
#include "call.h"

#define HELD 4096

static struct mprof_run_address held[HELD];
static size_t held_n;

void note_flush(void)
{
	if (held_n)
		record(MPROF_RUN_ADDRESSES, held, held_n * sizeof(held[0]));
	held_n = 0;
}

void note_address(void *p)
{
	held[held_n++] = (struct mprof_run_address){ (uintptr_t)p, p ? call_usable(p) : 0 };
	if (held_n == HELD)
		note_flush();
}

/* Varies the distances between timed calls, so that periodic programs do not bias them. */
static void next_one(struct notes *n)
{
	n->random ^= n->random << 13;
	n->random ^= n->random >> 7;
	n->random ^= n->random << 17;
	n->next = 1 + n->random % (2 * n->every - 1);
}

void notes_start(struct notes *n, uint32_t seed)
{
	*n = (struct notes){ .every = settings.latency,
			     .random = 0x9e3779b97f4a7c15ull * (seed + 1ull) };
	if (n->every)
		next_one(n);
}

void note_time(struct notes *n, unsigned class, uint64_t t)
{
	unsigned log2 = 63 - (unsigned)__builtin_clzll(t | 1);

	t &= UINT64_MAX >> 2;
	n->latency[class][4 * log2 + (t << 2 >> log2 & 3)]++;
	next_one(n);
}

void notes_add(uint64_t into[CLASSES][MPROF_RUN_LATENCY], const struct notes *n)
{
	for (unsigned c = 0; c < CLASSES; c++)
		for (unsigned b = 0; b < MPROF_RUN_LATENCY; b++)
			into[c][b] += n->latency[c][b];
}

void not_storable(struct player *s, const void *p, uint64_t size)
{
	if (p)
		die(STATUS_RUN, "the allocator returned an address above 48 bits");
	s->failed += size > 0;
}
