// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * resizes.c - analyses realloc.
 *
 * Open chains are kept by process and by the number of the current block.  Only blocks that the
 * heap marks BLOCK_RESIZED have one.  Most are short, so they are packed: calls | bytes copied <<
 * 4, or 15 | place in `large` << 4; 0 = no chain.
 */
#include "resizes.h"

#include <stdlib.h>

#include "../util/alloc.h"
#include "../util/bits.h"
#include "../util/order.h"

#define PACKED_BITS  4u
#define PACKED_CALLS ((1u << PACKED_BITS) - 1) /* from here on, a chain is in `large` */

/* Removes the chain of the block with this number. */
static struct resizes_chain take_chain(struct resizes *s, struct large *t, uint32_t number)
{
	uint32_t *at = large_known(t, number, sizeof(*at)), packed = at ? *at : 0, i;
	struct resizes_chain chain;

	if (!packed)
		return (struct resizes_chain){ .calls = 0 };
	*at = 0;
	i = packed >> PACKED_BITS;
	if ((packed & PACKED_CALLS) != PACKED_CALLS)
		return (struct resizes_chain){ .copied = i, .calls = packed & PACKED_CALLS };
	chain = s->large[i];
	s->large[i].calls = s->large_free;
	s->large_free = i;
	return chain;
}

static uint32_t put_large(struct resizes *s, struct resizes_chain chain)
{
	uint32_t i = s->large_free;

	if (i) {
		s->large_free = s->large[i].calls;
	} else {
		s->larges += !s->larges;
		i = (uint32_t)s->larges++;
		GROW(s->large, s->larges, s->large_room);
	}
	s->large[i] = chain;
	return i;
}

/* The chain of an overwritten block is dropped. */
static void put_chain(struct resizes *s, struct large *t, uint32_t number,
		      struct resizes_chain chain)
{
	uint32_t *at;

	take_chain(s, t, number);
	at = large_at(t, number, sizeof(*at));
	if (chain.calls < PACKED_CALLS && !(chain.copied >> (32 - PACKED_BITS)))
		*at = chain.calls | (uint32_t)chain.copied << PACKED_BITS;
	else
		*at = PACKED_CALLS | put_large(s, chain) << PACKED_BITS;
}

static void chain_ends(struct resizes *s, const struct resizes_chain *chain, uint64_t size)
{
	if (!chain->calls)
		return;
	s->chains++;
	s->chain[31 - __builtin_clz(chain->calls)]++;
	if (chain->calls <= s->longest)
		return;
	s->longest = chain->calls;
	s->longest_bytes = size;
	s->longest_copied = chain->copied;
}

void resizes_ended(struct resizes *s, uint32_t process, const struct block *b, uint32_t number)
{
	struct resizes_chain chain;

	if (!(b->owner & BLOCK_RESIZED))
		return;
	chain = take_chain(s, resizes_open(s, process), number);
	chain_ends(s, &chain, b->size);
}

/* Counts a pair of exact sizes.  Does not distinguish sizes of 4 GiB and more, nor pairs beyond
 * the limit. */
static void count_exact(struct resizes *s, uint64_t from, uint64_t to)
{
	const uint64_t key = from << 32 | to;

	if ((from | to) >> 32 || (s->exact.used >= RESIZES_PAIRS && !hash_get(&s->exact, key)))
		s->more_calls++;
	else
		(*hash_at(&s->exact, key))++;
}

static void resized(struct resizes *s, const struct event *e, uint32_t process,
		    const struct block *old, uint32_t number)
{
	struct resizes_sort *sort = e->addr == old->addr ? &s->in_place : &s->moved;
	struct large *t = resizes_open(s, process);
	struct resizes_chain chain = { .calls = 0 };
	const uint32_t page = s->walk->heap.page_size;
	const uint64_t copied = heap_copied(old, e, page);

	if (e->size > old->size)
		s->grown_bytes += e->size - old->size;
	else
		s->shrunk_bytes += old->size - e->size;
	s->pair[bits_of(old->size)][bits_of(e->size)]++;
	count_exact(s, old->size, e->size);
	sort->grew += e->size > old->size;
	sort->shrank += e->size < old->size;
	sort->same += e->size == old->size;
	s->remapped += heap_moved_pages(old, e, page);
	s->copied_bytes += copied;
	if (old->owner & BLOCK_RESIZED)
		chain = take_chain(s, t, number);
	chain.copied += copied;
	chain.calls += chain.calls < UINT32_MAX;
	put_chain(s, t, e->block, chain);
}

void resizes_call(struct resizes *s, const struct event *e, uint32_t process,
		  const struct block *old, uint32_t number)
{
	if (e->addr && !old) {
		resizes_of_nothing(s);
		return;
	}
	s->calls++;
	if (e->addr) {
		resized(s, e, process, old, number);
	} else if (e->size) {
		s->failed++;
	} else {
		s->freed++;
		if (old)
			resizes_ended(s, process, old, number);
	}
}

static void batch(void *self, const struct batch *b)
{
	struct resizes *s = self;
	const struct note *n = b->note;
	size_t i;

	for (i = 0; i < b->count && !b->plain; i++, n++) {
		if (b->event[i].kind == EVENT_REALLOC_END)
			resizes_call(s, &b->event[i], n->process,
				     n->did & NOTE_HAD_OLD ? &n->old : NULL, n->ended);
		else if (n->did & NOTE_ENDED && n->old.owner & BLOCK_RESIZED)
			resizes_ended(s, n->process, &n->old, n->ended);
	}
}

static void gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	struct resizes *s = self;
	const struct heap_process *p = h->process[process];
	struct large *t = resizes_open(s, process);
	struct heap_round round = { 0 };
	const struct block *b;

	if (!t->bytes)
		return;
	while ((b = heap_next_block(p, &round)))
		if (!(b->owner & BLOCK_INHERITED))
			resizes_ended(s, process, b, round.number);
	large_release(t);
}

ORDER(by_calls, struct resizes_exact, FALLING(calls) ?: RISING(from) ?: RISING(to))

static void finish(void *self, struct walk *w)
{
	struct resizes *s = self;
	size_t i;

	s->most = must_malloc((s->exact.used + 1) * sizeof(*s->most));
	for (i = 0; i < s->exact.slots; i++) {
		const struct hash_slot *h = &s->exact.slot[i];

		if (h->value)
			s->most[s->mosts++] =
			    (struct resizes_exact){ h->key >> 32, h->key & UINT32_MAX, h->value };
	}
	hash_release(&s->exact);
	SORT(s->most, s->mosts, by_calls);
	while (s->mosts > RESIZES_MOST)
		s->more_calls += s->most[--s->mosts].calls;
}

static void release(void *self)
{
	array_larges_release(&((struct resizes *)self)->open);
}

static const struct pass_part parts[] = {
	{ PASS_LIST(struct resizes, exact.slot, exact.slots, exact.slots, struct hash_slot) },
	{ PASS_UNUSED(struct resizes, open) },
	{ PASS_FREED(struct resizes, most) },
	{ PASS_FREED(struct resizes, large) },
	{ PASS_UNUSED(struct resizes, larges) },
	{ PASS_UNUSED(struct resizes, large_room) },
	{ PASS_UNUSED(struct resizes, large_free) },
	{ .bytes = 0 },
};

const struct pass_ops resizes_pass = {
	.name = "realloc",
	.bytes = sizeof(struct resizes),
	.part = parts,
	.batch = batch,
	.gone = gone,
	.finish = finish,
	.release = release,
};
