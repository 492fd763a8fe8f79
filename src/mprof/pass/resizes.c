// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * resizes.c - what realloc did.
 *
 * Open chains are kept in a table of blocks per process, by the block's
 * present address, with these meanings: size = bytes copied so far, slack =
 * calls so far.  Only blocks that the heap marks BLOCK_RESIZED are looked up.
 */
#include "resizes.h"

static void start(void *self, struct walk *w)
{
	((struct resizes *)self)->walk = w;
}

static struct blocks *open_of(struct resizes *s, uint32_t process)
{
	struct blocks *t = array_at(&s->open, process, sizeof(*t));

	if (!t)
		pass_failed(s->walk);
	return t;
}

/* Takes the chain of the block at addr out of the table; length 0 if there is none. */
static struct block take_chain(struct blocks *t, uint64_t addr)
{
	struct block chain = { .addr = addr }, *found = blocks_find(t, addr);

	if (found) {
		chain = *found;
		blocks_take(t, found);
	}
	return chain;
}

static void chain_ends(struct resizes *s, const struct block *chain, uint64_t size)
{
	if (!chain->slack)
		return;
	s->chains++;
	s->chain[31 - __builtin_clz(chain->slack)]++;
	if (chain->slack <= s->longest)
		return;
	s->longest = chain->slack;
	s->longest_bytes = size;
	s->longest_copied = chain->size;
}

static void end_of(struct resizes *s, uint32_t process, const struct block *b)
{
	struct blocks *t = open_of(s, process);
	struct block chain;

	if (!t || !(b->owner & BLOCK_RESIZED))
		return;
	chain = take_chain(t, b->addr);
	chain_ends(s, &chain, b->size);
}

static void resized(struct resizes *s, const struct event *e, const struct note *n)
{
	struct resizes_sort *sort = e->addr == n->old.addr ? &s->in_place : &s->moved;
	struct blocks *t = open_of(s, n->process);
	struct block chain = { .addr = 0 };
	const uint32_t page = s->walk->heap.page_size;
	const uint64_t copied = heap_copied(&n->old, e, page);

	if (e->size > n->old.size)
		s->grown_bytes += e->size - n->old.size;
	else
		s->shrunk_bytes += n->old.size - e->size;
	sort->grew += e->size > n->old.size;
	sort->shrank += e->size < n->old.size;
	sort->same += e->size == n->old.size;
	s->remapped += heap_moved_pages(&n->old, e, page);
	s->copied_bytes += copied;
	if (!t)
		return;
	if (n->old.owner & BLOCK_RESIZED)
		chain = take_chain(t, n->old.addr);
	take_chain(t, e->addr); /* of a block that was overwritten */
	chain.addr = e->addr;
	chain.size += copied;
	chain.slack += chain.slack < UINT32_MAX;
	if (blocks_put(t, &chain) < 0)
		pass_failed(s->walk);
}

static void look_at_realloc(struct resizes *s, const struct event *e, const struct note *n)
{
	s->calls++;
	if (e->addr && !(n->did & NOTE_HAD_OLD)) {
		s->of_nothing++;
	} else if (e->addr) {
		resized(s, e, n);
	} else if (e->size) {
		s->failed++;
	} else {
		s->freed++;
		end_of(s, n->process, &n->old);
	}
}

static void batch(void *self, const struct batch *b)
{
	struct resizes *s = self;
	const struct note *n = b->note;
	size_t i;

	for (i = 0; i < b->count; i++, n++) {
		if (b->event[i].kind == EVENT_REALLOC_END)
			look_at_realloc(s, &b->event[i], n);
		else if (n->did & NOTE_ENDED && n->old.owner & BLOCK_RESIZED)
			end_of(s, n->process, &n->old);
	}
}

static void gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	struct resizes *s = self;
	struct blocks *t = open_of(s, process);
	const struct block *b = NULL;

	(void)why;
	(void)ticks;
	if (!t || !t->used)
		return;
	while ((b = blocks_next(&h->process[process]->blocks, b)))
		if (!(b->owner & BLOCK_INHERITED))
			end_of(s, process, b);
	blocks_release(t);
}

static void release(void *self)
{
	struct resizes *s = self;
	struct blocks *t = s->open.item;
	size_t i;

	for (i = 0; i < s->open.count; i++)
		blocks_release(&t[i]);
	array_release(&s->open);
}

const struct pass_ops resizes_pass = {
	.name = "realloc",
	.start = start,
	.batch = batch,
	.gone = gone,
	.release = release,
};
