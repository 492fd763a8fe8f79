// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * heap_index.c - processes and threads of a heap: numbers of the run become
 * dense indices.  Also what begins and ends a heap.
 *
 * Numbers come from the trace and are not trusted: those beyond HEAP_NUMBERS
 * share the index of number 0.
 */
#include "../util/alloc.h"
#include "heap.h"

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
	free(h->process);
	free(h->thread);
	free(h->process_index.index);
	free(h->thread_index.index);
	memset(h, 0, sizeof(*h));
}

/* Returns where the index + 1 of a number is kept. */
static uint32_t *index_of(struct heap_numbers *n, uint32_t number)
{
	if (number >= HEAP_NUMBERS)
		number = 0;
	GROW_ZEROED(n->index, number + 1, n->room);
	return &n->index[number];
}

void heap_init(struct heap *h, uint32_t page_size, uint64_t inversion_ticks, bool count_pages)
{
	struct pages p;

	pages_init(&p, page_size);
	memset(h, 0, sizeof(*h));
	h->page_size = 1u << p.shift;
	h->inversion_ticks = inversion_ticks;
	h->clock_ticks = inversion_ticks / (HEAP_INVERSION_NS / HEAP_CLOCK_NS);
	h->count_pages = count_pages;
}

uint32_t heap_process(struct heap *h, uint32_t number)
{
	uint32_t *index = index_of(&h->process_index, number);
	struct heap_process *p;

	if (*index)
		return *index - 1;
	GROW(h->process, h->processes + 1, h->process_room);
	p = must_calloc(1, sizeof(*p));
	p->number = number;
	pages_init(&p->pages, h->page_size);
	h->process[h->processes++] = p;
	*index = (uint32_t)h->processes;
	return *index - 1;
}

uint32_t heap_thread(struct heap *h, uint32_t number, uint32_t process)
{
	uint32_t *index = index_of(&h->thread_index, number);

	if (*index)
		return *index - 1;
	GROW(h->thread, h->threads + 1, h->thread_room);
	h->thread[h->threads++] = (struct heap_thread){ .number = number, .process = process };
	*index = (uint32_t)h->threads;
	return *index - 1;
}

/* ---- blocks ---- */

void own_widen(struct own_blocks *o, struct own_block *at, const struct block *b)
{
	uint32_t i = o->unused - 1;

	if (o->unused) {
		o->unused = o->wide[i].stack;
	} else {
		GROW(o->wide, o->wides + 1, o->wide_room);
		i = (uint32_t)o->wides++;
	}
	o->wide[i] = (struct own_wide){ b->size, b->slack, b->stack };
	at->sizes = OWN_WIDE;
	at->stack = i;
}

void own_drop_wide(struct own_blocks *o, const struct own_block *at)
{
	o->wide[at->stack].stack = o->unused;
	o->unused = at->stack + 1;
}

void own_release(struct own_blocks *o)
{
	large_free(o->block, o->room * sizeof(*o->block));
	free(o->wide);
	free(o->live);
	*o = (struct own_blocks){ .block = NULL };
}

void own_more(struct own_blocks *o, uint32_t number)
{
	uint32_t room = o->room ? o->room : 64;

	while (room < number)
		room = room < 1u << 31 ? 2 * room : UINT32_MAX;
	o->block = large_extend(o->block, o->room * sizeof(*o->block), room * sizeof(*o->block));
	o->room = room;
}

void own_mark(struct own_blocks *o)
{
	free(o->live);
	o->live = must_calloc(o->n / 64 + 1, sizeof(*o->live));
	for (uint32_t i = 0; i < o->n; i++)
		o->live[i / 64] |= (uint64_t)(o->block[i].addr != 0) << i % 64;
}

/* Returns the first marked position from `at` on, or n. */
static uint32_t next_marked(const struct own_blocks *o, uint32_t at)
{
	uint64_t some = o->live[at / 64] >> at % 64 << at % 64;

	while (!some) {
		at = (at / 64 + 1) * 64;
		if (at >= o->n)
			return o->n;
		some = o->live[at / 64];
	}
	return at / 64 * 64 + (uint32_t)__builtin_ctzll(some);
}

const struct block *heap_next_block(const struct heap_process *p, struct heap_round *r)
{
	const struct own_blocks *own = &p->own;
	const uint32_t n = r->other ? 0 : own->n, least = r->least;
	uint32_t i = r->number;

	if (own->live && i < n)
		i = next_marked(own, i);
	while (i < n) {
		const struct own_block *at = &own->block[i++];

		if (!at->addr || own_is_less(own, at, least))
			continue;
		r->number = i;
		r->own = own_block(own, at);
		return &r->own;
	}
	r->number = 0;
	r->other = blocks_next(&p->others, r->other);
	return r->other;
}
