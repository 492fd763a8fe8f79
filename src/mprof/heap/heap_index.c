// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * heap_index.c - processes and threads of a heap: numbers of the run become
 * dense indices.  Also what begins, ends and checks a heap.
 *
 * Numbers come from the trace and are not trusted: those beyond HEAP_NUMBERS
 * share the index of number 0.
 */
#include "../util/order.h"
#include "heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void heap_release(struct heap *h)
{
	size_t i;

	for (i = 0; i < h->processes; i++) {
		own_release(&h->process[i]->own);
		blocks_release(&h->process[i]->others);
		blocks_release(&h->process[i]->forked);
		pages_clear(&h->process[i]->pages);
		space_release(&h->process[i]->space);
		free(h->process[i]);
	}
	free(h->changes.item);
	free(h->spare);
	free(h->process);
	free(h->thread);
	free(h->process_index.index);
	free(h->thread_index.index);
	memset(h, 0, sizeof(*h));
}

/* Where number's index + 1 is kept.  NULL without memory. */
static uint32_t *index_of(struct heap_numbers *n, uint32_t number)
{
	size_t room = n->room ? n->room : 64;
	uint32_t *grown;

	if (number >= HEAP_NUMBERS)
		number = 0;
	if (number >= n->room) {
		while (room <= number)
			room *= 2;
		grown = realloc(n->index, room * sizeof(*grown));
		if (!grown)
			return NULL;
		memset(grown + n->room, 0, (room - n->room) * sizeof(*grown));
		n->index = grown;
		n->room = room;
	}
	return &n->index[number];
}

/* Grows for one more than `count`; doubles. */
static int make_room_for_one(void **array, size_t *room, size_t count, size_t size)
{
	size_t more = *room ? 2 * *room : 16;
	void *grown;

	if (count < *room)
		return 0;
	grown = realloc(*array, more * size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*room = more;
	return 0;
}

int heap_init(struct heap *h, uint32_t page_size, uint64_t inversion_ticks, bool count_pages)
{
	struct pages p;

	pages_init(&p, page_size);
	memset(h, 0, sizeof(*h));
	h->page_size = 1u << p.shift;
	h->inversion_ticks = inversion_ticks;
	h->clock_ticks = inversion_ticks / (HEAP_INVERSION_NS / HEAP_CLOCK_NS);
	h->count_pages = count_pages;
	h->spare = calloc(1, sizeof(*h->spare));
	if (!h->spare ||
	    make_room_for_one((void **)&h->process, &h->process_room, 0,
			      sizeof(struct heap_process *)) < 0 ||
	    make_room_for_one((void **)&h->thread, &h->thread_room, 0, sizeof(*h->thread)) < 0) {
		heap_release(h);
		return -ENOMEM;
	}
	memset(h->thread, 0, sizeof(*h->thread));
	h->spare->pages = p;
	return 0;
}

/* Everything falls on the first index from now on; the walk stops at heap.error. */
static uint32_t without_memory(struct heap *h)
{
	h->error = -ENOMEM;
	if (!h->processes) {
		h->process[h->processes++] = h->spare;
		h->spare = NULL;
	}
	h->threads += !h->threads;
	return 0;
}

uint32_t heap_process(struct heap *h, uint32_t number)
{
	uint32_t *index = index_of(&h->process_index, number);
	struct heap_process *p;

	if (index && *index)
		return *index - 1;
	p = calloc(1, sizeof(*p));
	if (!index || !p ||
	    make_room_for_one((void **)&h->process, &h->process_room, h->processes,
			      sizeof(struct heap_process *)) < 0) {
		free(p);
		return without_memory(h);
	}
	p->number = number;
	pages_init(&p->pages, h->page_size);
	h->process[h->processes++] = p;
	*index = (uint32_t)h->processes;
	return *index - 1;
}

uint32_t heap_thread(struct heap *h, uint32_t number, uint32_t process)
{
	uint32_t *index = index_of(&h->thread_index, number);

	if (index && *index)
		return *index - 1;
	if (!index || make_room_for_one((void **)&h->thread, &h->thread_room, h->threads,
					sizeof(*h->thread)) < 0)
		return without_memory(h);
	h->thread[h->threads++] = (struct heap_thread){ .number = number, .process = process };
	*index = (uint32_t)h->threads;
	return *index - 1;
}

/* ---- blocks ---- */

int own_grow(struct own_blocks *o, uint32_t number)
{
	uint32_t room = o->room ? o->room : 64;
	struct block *bigger;

	if (!number)
		return -ENOMEM;
	if (number <= o->room) {
		o->n = number;
		return 0;
	}
	while (room < number)
		room = room < 1u << 31 ? 2 * room : UINT32_MAX;
	bigger = large_extend(o->block, o->room * sizeof(*bigger), room * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	*o = (struct own_blocks){ .block = bigger, .n = number, .room = room };
	return 0;
}

const struct block *heap_next_block(const struct heap_process *p, const struct block *b)
{
	const struct block *end = p->own.block + p->own.n, *next = p->own.block;

	if (b && !heap_block_number(p, b))
		return blocks_next(&p->others, b);
	if (b)
		next = b + 1;
	for (; next < end; next++)
		if (next->addr)
			return next;
	return blocks_next(&p->others, NULL);
}

/* ---- invariants ---- */

ORDER(by_addr, struct block, RISING(addr))

/* Sums of the own blocks, pending ones included; sorted copies in own[]. */
static uint64_t own_blocks(const struct heap *h, uint32_t process, struct block *own)
{
	const struct heap_process *p = h->process[process];
	const struct block *b = NULL;
	uint64_t n = 0;
	size_t t;

	while ((b = heap_next_block(p, b)))
		if (!(b->owner & BLOCK_INHERITED))
			own[n++] = *b;
	qsort(own, n, sizeof(*own), by_addr);
	for (t = 0; t < h->threads; t++)
		if (h->thread[t].process == process && h->thread[t].pending &&
		    h->thread[t].pending_old && !(h->thread[t].old.owner & BLOCK_INHERITED))
			own[n++] = h->thread[t].old;
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
