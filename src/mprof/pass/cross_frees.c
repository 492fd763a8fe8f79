// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * cross_frees.c - finds which threads free blocks of other threads.
 *
 * While walking, pairs have the heap's indices of threads; finish writes the run's numbers into
 * them.
 */
#include "cross_frees.h"

#include "../util/alloc.h"
#include "../util/order.h"

static void start(void *self, struct walk *w)
{
	struct cross_frees *f = self;

	if (!f->limit)
		f->limit = CROSS_FREE_PAIRS;
}

static void count(struct cross_free_sum *s, uint64_t bytes)
{
	s->blocks++;
	s->bytes += bytes;
}

/* NULL for a new pair beyond the limit. */
static struct cross_free_pair *pair_of(struct cross_frees *f, uint32_t from, uint32_t to)
{
	const uint64_t key = (uint64_t)from << 32 | to;
	uint64_t *index;

	if (f->pairs >= f->limit && !hash_get(&f->index, key))
		return NULL;
	index = hash_at(&f->index, key);
	if (!*index) {
		GROW(f->pair, f->pairs + 1, f->room);
		f->pair[f->pairs++] = (struct cross_free_pair){ .from = from, .to = to };
		*index = f->pairs;
	}
	return &f->pair[*index - 1];
}

static void hand_over(struct cross_frees *f, uint32_t from, uint32_t to, uint64_t bytes)
{
	struct cross_free_pair *p = pair_of(f, from, to);

	count(&f->all, bytes);
	count(p ? &p->sum : &f->rest, bytes);
}

static struct cross_free_thread *thread_at(struct cross_frees *f, uint32_t index)
{
	return array_at(&f->thread, index, sizeof(struct cross_free_thread));
}

void cross_frees_allocated(struct cross_frees *f, uint32_t thread, uint64_t blocks, uint64_t bytes)
{
	struct cross_free_thread *t = thread_at(f, thread);

	t->allocated.blocks += blocks;
	t->allocated.bytes += bytes;
}

void cross_frees_ended(struct cross_frees *f, uint32_t by, const struct block *b)
{
	const uint32_t from = b->owner & BLOCK_THREAD;
	struct cross_free_thread *producer = thread_at(f, from);

	if (from == by) {
		count(&producer->own, b->size);
		return;
	}
	count(&producer->by_others, b->size);
	count(&thread_at(f, by)->of_others, b->size);
	hand_over(f, from, by, b->size);
}

static void look_at(struct cross_frees *f, const struct event *e, const struct note *n)
{
	if (e->kind == EVENT_CONTROL && e->control == MPROF_CONTROL_THREAD_START)
		thread_at(f, n->thread)->tid = e->value;
	if (n->did & NOTE_BEGAN)
		cross_frees_allocated(f, n->thread, 1, e->size);
	if (n->did & NOTE_ENDED)
		cross_frees_ended(f, n->thread, &n->old);
}

static void batch(void *self, const struct batch *b)
{
	struct cross_frees *f = self;
	size_t i;

	for (i = 0; i < b->count; i++)
		if (!f->process || f->process == b->event[i].process)
			look_at(f, &b->event[i], &b->note[i]);
}

/* ---- the end ---- */

ORDER(by_bytes, struct cross_free_pair, FALLING(sum.bytes) ?: FALLING(sum.blocks) ?: RISING(from) ?: RISING(to))

static void number_pairs(struct cross_frees *f, const struct heap *h,
			 struct cross_free_thread *thread)
{
	struct cross_free_pair *p;

	for (p = f->pair; p < f->pair + f->pairs; p++) {
		thread[p->from].consumers++;
		thread[p->to].producers++;
		p->from = h->thread[p->from].number;
		p->to = h->thread[p->to].number;
	}
	SORT(f->pair, f->pairs, by_bytes);
}

static void finish(void *self, struct walk *w)
{
	struct cross_frees *f = self;
	const struct heap *h = &w->heap;
	struct cross_free_thread *t;
	size_t i;

	if (h->threads)
		thread_at(f, (uint32_t)h->threads - 1);
	t = f->thread.item;
	number_pairs(f, h, t);
	for (i = 0; i < h->threads; i++) {
		t[i].number = h->thread[i].number;
		t[i].process = h->process[h->thread[i].process]->number;
	}
}

const struct cross_free_pair *cross_free_find(const struct cross_frees *f, uint32_t from,
					      uint32_t to)
{
	size_t i;

	for (i = 0; i < f->pairs; i++)
		if (f->pair[i].from == from && f->pair[i].to == to)
			return &f->pair[i];
	return NULL;
}

static const struct pass_part parts[] = {
	{ PASS_ARRAY(struct cross_frees, thread, struct cross_free_thread) },
	{ PASS_LIST(struct cross_frees, pair, pairs, room, struct cross_free_pair) },
	{ PASS_FREED(struct cross_frees, index) },
	{ .bytes = 0 },
};

const struct pass_ops cross_free_pass = {
	.name = "threads",
	.bytes = sizeof(struct cross_frees),
	.part = parts,
	.start = start,
	.batch = batch,
	.finish = finish,
};
