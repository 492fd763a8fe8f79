// SPDX-License-Identifier: LGPL-3.0-or-later
/* heap_valid.c - the invariants of a heap, for the tests of what uses one. */
#include "heap_valid.h"

#include <stdlib.h>
#include <string.h>

#include "util/order.h"

bool blocks_is_valid(const struct blocks *t)
{
	uint64_t used = 0, i, j;

	for (i = 0; i < t->capacity; i++) {
		if (!t->slot[i].addr)
			continue;
		used++;
		for (j = blocks_hash(t, t->slot[i].addr); j != i; j = (j + 1) & (t->capacity - 1))
			if (!t->slot[j].addr || t->slot[j].addr == t->slot[i].addr)
				return false;
	}
	return used == t->used && (!t->capacity || used < t->capacity);
}

ORDER(by_addr, struct block, RISING(addr))

/* Puts copies of the own blocks into own[]: sorted, then pending ones.  Returns their number. */
static uint64_t own_blocks(const struct heap *h, uint32_t process, struct block *own)
{
	struct heap_live_round round = { .thread = 0 };
	const struct block *b;
	uint64_t n = 0, sorted = 0;

	while ((b = heap_next_live(h, process, &round))) {
		if (b->owner & BLOCK_INHERITED)
			continue;
		own[n++] = *b;
		sorted += !round.thread;
	}
	qsort(own, sorted, sizeof(*own), by_addr);
	return n;
}

static bool process_is_valid(const struct heap *h, uint32_t process)
{
	const struct heap_process *p = h->process[process];
	struct block *own = calloc(p->own.n + p->others.used + h->threads + 1, sizeof(*own));
	struct live sum = { .bytes = 0 };
	bool valid = own && blocks_is_valid(&p->others);
	uint64_t n, i;

	for (i = 0, n = own ? own_blocks(h, process, own) : 0; i < n; i++) {
		sum.bytes += own[i].size;
		sum.slack += own[i].slack;
		if (i + 1 < n && own[i + 1].addr > own[i].addr &&
		    own[i].addr + own[i].size > own[i + 1].addr)
			valid = false;
	}
	free(own);
	return valid && n == p->live.blocks && sum.bytes == p->live.bytes &&
	       sum.slack == p->live.slack && p->live.pages == p->pages.touched;
}

bool heap_is_valid(const struct heap *h)
{
	struct live sum = { .bytes = 0 };
	uint32_t i;

	for (i = 0; i < h->processes; i++) {
		const struct live *l = &h->process[i]->live;

		if (!process_is_valid(h, i))
			return false;
		sum.bytes += l->bytes;
		sum.blocks += l->blocks;
		sum.slack += l->slack;
		sum.pages += l->pages;
		sum.needed += l->needed;
	}
	return !memcmp(&sum, &h->all, sizeof(sum));
}
