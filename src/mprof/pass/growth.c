// SPDX-License-Identifier: LGPL-3.0-or-later
/* growth.c - finds blocks that were grown step by step. */
#include "../util/order.h"
#include "../util/alloc.h"
#include "growth.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* ---- sites ---- */

static struct growth_site *site_of(struct growth *g, uint32_t stack)
{
	uint64_t *index = hash_at(&g->index, stack);

	if (*index)
		return &g->site[*index - 1];
	GROW(g->site, g->sites + 1, g->site_room);
	g->site[g->sites] = (struct growth_site){ .stack = stack };
	*index = ++g->sites;
	return &g->site[g->sites - 1];
}

static struct growth_class *class_of_bits(struct growth_site *s, unsigned bits)
{
	size_t i = 0;

	while (i < s->classes && s->class[i].bits < bits)
		i++;
	if (i < s->classes && s->class[i].bits == bits)
		return &s->class[i];
	if (s->classes == s->class_room)
		s->class = must_reallocarray(s->class, ++s->class_room, sizeof(*s->class));
	memmove(&s->class[i + 1], &s -> class[i], (s->classes++ - i) * sizeof(*s->class));
	s->class[i] = (struct growth_class){ .bits = bits };
	return &s->class[i];
}

static struct growth_class *class_of(struct growth_site *s, uint64_t size)
{
	return class_of_bits(s, size ? 63u - (unsigned)__builtin_clzll(size) : 0);
}

static void uncount(struct growth_site *s, uint64_t size)
{
	struct growth_class *k = class_of(s, size);

	s->chains--;
	k->chains--;
	k->sum -= size;
}

/* Call it after a chain was counted: chains that form one block with it no longer count. */
static void count_run(struct growth *g, struct growth_site *s, const struct growth_chain *c)
{
	if (!s->run || c->began < s->run_ended ||
	    c->greatest <= s->run_size[(s->run - 1) % GROWTH_RUN])
		s->run = 0;
	s->run_size[s->run++ % GROWTH_RUN] = c->greatest;
	s->run_ended = ++g->turns;
	if (s->run > GROWTH_RUN)
		uncount(s, s->run_size[(s->run - 2) % GROWTH_RUN]);
	for (unsigned i = 0; s->run == GROWTH_RUN && i + 1 < GROWTH_RUN; i++)
		uncount(s, s->run_size[i]);
}

static void count_chain(struct growth *g, const struct growth_chain *c, bool replaced)
{
	struct growth_site *s;
	struct growth_class *k;

	if (c->copies == c->steps && (c->steps < GROWTH_COPIES || c->greatest < 2 * c->first))
		return;
	s = site_of(g, c->stack);
	s->chains++;
	s->steps += c->steps;
	s->moved += c->moved;
	s->copies += c->copies;
	s->copied += c->copied;
	s->replaced += replaced;
	s->longest = c->steps > s->longest ? c->steps : s->longest;
	s->first = s->chains == 1 || c->first < s->first ? c->first : s->first;
	s->greatest = c->greatest > s->greatest ? c->greatest : s->greatest;
	k = class_of(s, c->greatest);
	k->chains++;
	k->steps += c->steps;
	k->copied += c->copied;
	k->sum += c->greatest;
	k->greatest = c->greatest > k->greatest ? c->greatest : k->greatest;
	if (c->copies < c->steps && c->steps < GROWTH_COPIES)
		count_run(g, s, c);
}

/* ---- chains ---- */

/* Makes room for chains of few copies up to a number, or as far as there is any. */
static void more_few(struct growth_open *p, uint32_t number)
{
	const size_t places = p->few ? p->few_most + 2ul : 0;
	size_t room = places ? places : 256;

	while (room < number + 2ul && room < GROWTH_FEW)
		room *= 2;
	if (room == places)
		return;
	p->few = must_reallocarray(p->few, room, sizeof(*p->few));
	memset(p->few + places, 0, (room - places) * sizeof(*p->few));
	p->few_most = (uint32_t)(room - 2);
}

static void release_open(struct growth_open *p)
{
	large_release(&p->chain);
	free(p->few);
	p->few = NULL;
	p->few_most = 0;
}

struct growth_open *growth_open(struct growth *g, uint32_t process)
{
	struct growth_open *p = array_at(&g->open, process, sizeof(*p));

	if (__builtin_expect(!p->few, 0))
		more_few(p, 1);
	return p;
}

struct growth_handed *growth_last(struct growth *g, uint32_t thread)
{
	return array_at(&g->last, thread, sizeof(struct growth_handed));
}

static struct growth_chain *chain_at(struct growth *g, uint32_t i)
{
	return (struct growth_chain *)g->chain.item + i;
}

static uint32_t new_chain(struct growth *g, uint32_t stack, uint64_t first, uint32_t began)
{
	uint32_t i = g->unused ? g->unused - 1 : g->chains_made++;
	struct growth_chain *c = large_at(&g->chain, i, sizeof(*c));

	if (g->unused)
		g->unused = c->began;
	*c = (struct growth_chain){ .stack = stack, .first = first, .began = began };
	return i;
}

/* Removes and returns the chain of the block with this number; NONE if it has none, or few. */
static inline uint32_t take_chain(struct growth_open *p, uint32_t number)
{
	uint32_t *at = large_known(&p->chain, number, sizeof(*at)), i;

	if (!at || !*at)
		return NONE;
	i = *at - 1;
	*at = 0;
	return i;
}

/* The same of a chain of few copies. */
static inline struct growth_few take_few(struct growth_open *p, uint32_t number)
{
	struct growth_few few;

	if (number - 1 >= p->few_most)
		return (struct growth_few){ .start = 0 };
	few = p->few[number + 1];
	p->few[number + 1] = (struct growth_few){ .start = 0 };
	return few;
}

/* Makes a chain of few copies one like any other; size: of its latest block. */
static uint32_t chain_of_few(struct growth *g, struct growth_few few, uint64_t size)
{
	const uint64_t first = (uint32_t)few.start >> 4;
	const uint32_t i =
	    new_chain(g, (uint32_t)(few.sum >> 32), first, (uint32_t)(few.start >> 32));
	struct growth_chain *c = chain_at(g, i);

	c->steps = c->copies = c->moved = few.start & 15;
	c->copied = (uint32_t)few.sum;
	c->greatest = size;
	return i;
}

static __attribute__((noinline)) void close_chain(struct growth *g, uint32_t i, bool replaced)
{
	struct growth_chain *c = chain_at(g, i);

	count_chain(g, c, replaced);
	c->began = g->unused;
	g->unused = i + 1;
}

static inline void growth_end_chain(struct growth *g, struct growth_open *p, uint32_t number)
{
	uint32_t i = take_chain(p, number);

	if (i != NONE)
		close_chain(g, i, false);
	take_few(p, number);
}

/* Takes one step: `old` was replaced by `b`, and these bytes were copied. */
ALWAYS_INLINE void step(struct growth *g, struct growth_open *p, struct growth_block old,
			struct growth_block b, bool is_copy, bool moved, uint64_t copied)
{
	const struct growth_few few = take_few(p, old.number);
	struct growth_chain *c;
	uint32_t i = take_chain(p, old.number), *entry;

	growth_end_chain(g, p, b.number); /* of an overwritten block */
	if (few.start)
		i = chain_of_few(g, few, old.size);
	if (i == NONE && b.size > old.size)
		i = new_chain(g, b.stack, old.size, g->turns);
	if (i == NONE)
		return;
	c = chain_at(g, i);
	if (b.size > old.size) {
		c->steps++;
		c->copies += is_copy;
		c->moved += moved;
		c->copied += copied;
		c->greatest = b.size > c->greatest ? b.size : c->greatest;
	}
	entry = large_at(&p->chain, b.number, sizeof(*entry));
	*entry = i + 1;
}

/* ---- events ---- */

/* Do both have the same innermost frame and caller? */
static bool same_place(const struct stacks *s, uint32_t a, uint32_t b)
{
	if (a == b)
		return a;
	if (!s || !a || !b || a >= s->nodes || b >= s->nodes ||
	    s->node[a].frame != s->node[b].frame)
		return false;
	a = s->node[a].parent;
	b = s->node[b].parent;
	return a && b && s->node[a].frame == s->node[b].frame;
}

bool growth_is_copy(const struct stacks *s, uint64_t old_size, uint32_t old_site, uint64_t new_size,
		    uint32_t new_site)
{
	return growth_may_copy(old_size, new_size) && same_place(s, new_site, old_site);
}

/* What is known about two stacks: most likely whether they are the same place. */
static inline struct growth_pair *pair_of(const struct growth *g, uint32_t last, uint32_t old)
{
	return &g->pair[(last * 0x9e3779b1u + old) * 0x85ebca6bu >> (32 - GROWTH_PAIR_BITS)];
}

void growth_freed_any(struct growth *g, struct growth_open *p, struct growth_block last,
		      struct growth_block old)
{
	const struct stacks *s = g->walk->input.stacks;
	const bool may = growth_may_copy(old.size, last.size);
	uint32_t i;

	if (may && same_place(s, last.stack, old.stack)) {
		if (last.number > p->few_most)
			more_few(p, last.number); /* for the next block with this number */
		step(g, p, old, last, true, true, old.size);
		return;
	}
	i = take_chain(p, old.number);
	if (i != NONE)
		close_chain(g, i, !may && last.size && same_place(s, last.stack, old.stack));
	take_few(p, old.number);
}

/* The same again, when it is known whether both are from the same place. */
static __attribute__((noinline)) void compare(struct growth *g, struct growth_open *p,
					      struct growth_block last, struct growth_block old)
{
	*pair_of(g, last.stack, old.stack) = (struct growth_pair){
		.stacks = (uint64_t)last.stack << 32 | old.stack,
		.same = same_place(g->walk->input.stacks, last.stack, old.stack),
	};
	growth_freed_near(g, p, last, old);
}

/* It calls others only at its end, so it need not save registers. */
void growth_freed_near(struct growth *g, struct growth_open *p, struct growth_block last,
		       struct growth_block old)
{
	const struct growth_pair *pair = pair_of(g, last.stack, old.stack);
	struct growth_few *const few = p->few, *from, next;
	uint64_t begins; /* all bits */

	if (__builtin_expect(old.size >= GROWTH_FEW_SIZE, 0) || __builtin_expect(!old.number, 0)) {
		growth_freed_any(g, p, last, old);
		return;
	}
	if (__builtin_expect(pair->stacks != ((uint64_t)last.stack << 32 | old.stack), 0)) {
		compare(g, p, last, old);
		return;
	}
	from = &few[old.number <= p->few_most ? old.number + 1 : 0];
	if (__builtin_expect(pair->same & (((from->start & 15) >= GROWTH_COPIES - 1) |
					   (last.number - 1 >= p->few_most)),
			     0)) {
		growth_freed_any(g, p, last, old);
		return;
	}
	begins = -(uint64_t)!from->start;
	next.sum = from->sum + old.size + (begins & (uint64_t)last.stack << 32);
	next.start = from->start + 1 + (begins & ((uint64_t)g->turns << 32 | old.size << 4));
	*(begins ? &few[1] : from) = (struct growth_few){ .start = 0 };
	few[1 + (last.number & -(uint32_t)pair->same)] = next;
}

void growth_resized(struct growth *g, struct growth_open *p, const struct event *e,
		    const struct block *old, uint32_t number)
{
	if (!e->addr)
		growth_end_chain(g, p, number);
	else
		step(g, p, (struct growth_block){ old->size, old->stack, number },
		     (struct growth_block){ e->size, e->stack, e->block }, false,
		     e->addr != old->addr, heap_copied(old, e, g->walk->heap.page_size));
}

#define AHEAD 4u /* in ends of blocks */

/* Prefetches: each block that ends needs its chain, which is rarely in the cache. */
PREFETCHES look_ahead(const struct growth *g, const struct note *n)
{
	const struct growth_open *p = g->open.item;

	if (n->process < g->open.count)
		__builtin_prefetch(large_known(&p[n->process].chain, n->ended, sizeof(uint32_t)),
				   1);
}

static void freed(struct growth *g, const struct note *n, const struct growth_handed *last)
{
	const bool any = last->valid && last->process == n->process;
	const struct block *old = &n->old;

	growth_freed(g, growth_open(g, n->process),
		     (struct growth_block){ any ? last->size : 0, last->stack, last->number },
		     (struct growth_block){ old->size, old->stack, n->ended });
}

/*
 * Handles consecutive events of one thread; `last` is the block that it received before them, and
 * on return the latest one. k: the first event that ended a block.  Returns the first event after
 * them.
 */
static size_t one_thread(struct growth *g, const struct batch *b, size_t from, size_t to, size_t k,
			 struct growth_handed *last)
{
	for (; k < b->ends && b->end[k] < to; k++) {
		const struct event *e = &b->event[b->end[k]];
		const struct note *n = &b->note[b->end[k]];

		if (n->did & NOTE_DROPPED)
			growth_end_chain(g, growth_open(g, n->process), n->taken);
		if (!(n->did & NOTE_ENDED))
			continue;
		if (k + AHEAD < b->ends)
			look_ahead(g, &b->note[b->end[k + AHEAD]]);
		if (b->end[k] > from)
			*last = growth_handed(e - 1, n[-1].process, n[-1].did);
		if (e->kind == EVENT_REALLOC_END)
			growth_resized(g, growth_open(g, n->process), e, &n->old, n->ended);
		else
			freed(g, n, last);
	}
	*last = growth_handed(&b->event[to - 1], b->note[to - 1].process, b->note[to - 1].did);
	return k;
}

static void start(void *self, struct walk *w)
{
	struct growth *g = self;

	g->pair = must_calloc(1u << GROWTH_PAIR_BITS, sizeof(*g->pair)); /* 0 and 0: not the same */
}

static void batch(void *self, const struct batch *b)
{
	struct growth *g = self;
	struct growth_handed *last;
	size_t from, to, k = 0;

	for (from = 0; from < b->count; from = to) {
		const uint32_t thread = b->note[from].thread;

		for (to = from + 1; to < b->count && b->note[to].thread == thread;)
			to++;
		last = growth_last(g, thread);
		k = one_thread(g, b, from, to, k, last);
	}
}

static void gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	struct growth *g = self;
	struct growth_open *p = growth_open(g, process);

	for (uint32_t number = 0, i; number < p->chain.bytes / sizeof(uint32_t); number++)
		if ((i = take_chain(p, number)) != NONE)
			close_chain(g, i, false);
	release_open(p); /* chains of few copies do not count */
}

/* ---- advice ---- */

static void advise(struct growth_site *s)
{
	uint64_t chains = 0, sum = 0;
	size_t i;

	s->reserve = s->saved_steps = s->saved_copied = 0;
	for (i = 0; i < s->classes && s->saved_steps * 10 < s->steps * 9; i++) {
		s->reserve = s->class[i].greatest;
		s->saved_steps += s->class[i].steps;
		s->saved_copied += s->class[i].copied;
		chains += s->class[i].chains;
		sum += s->class[i].sum;
	}
	s->spare = chains ? (s->reserve * chains - sum) / chains : 0;
}

static void drop_chance(struct growth *g)
{
	size_t kept = 0;

	for (size_t i = 0; i < g->sites; i++) {
		const struct growth_site *s = &g->site[i];

		if (s->copies < s->steps || 2 * s->replaced < s->chains)
			g->site[kept++] = *s;
		else
			free(s->class);
	}
	g->sites = kept;
}

ORDER(by_saving, struct growth_site, FALLING(saved_copied) ?: FALLING(saved_steps) ?: RISING(stack))

static void finish(void *self, struct walk *w)
{
	struct growth *g = self;
	struct growth_site *s;

	drop_chance(g);
	for (s = g->site; s < g->site + g->sites; s++) {
		advise(s);
		g->chains += s->chains;
		g->steps += s->steps;
		g->copies += s->copies;
		g->copied += s->copied;
	}
	SORT(g->site, g->sites, by_saving);
}

static void add_site(struct growth_site *to, const struct growth_site *from)
{
	size_t i;

	to->chains += from->chains;
	to->steps += from->steps;
	to->moved += from->moved;
	to->copied += from->copied;
	to->copies += from->copies;
	to->replaced += from->replaced;
	if (from->longest > to->longest)
		to->longest = from->longest;
	if (from->first < to->first)
		to->first = from->first;
	if (from->greatest > to->greatest)
		to->greatest = from->greatest;
	for (i = 0; i < from->classes; i++) {
		const struct growth_class *c = &from->class[i];
		struct growth_class *k = class_of_bits(to, c->bits);

		k->chains += c->chains;
		k->steps += c->steps;
		k->copied += c->copied;
		k->sum += c->sum;
		k->greatest = c->greatest > k->greatest ? c->greatest : k->greatest;
	}
}

struct growth_site *growth_merged(const struct growth *g,
				  uint32_t (*key)(void *context, uint32_t stack), void *context,
				  size_t *n)
{
	struct growth_site *site = must_calloc(g->sites + 1, sizeof(*site));
	struct hash place = { .slots = 0 }; /* by key: index + 1 */
	uint64_t *at;
	uint32_t k;
	size_t i;

	*n = 0;
	for (i = 0; i < g->sites; i++) {
		k = key(context, g->site[i].stack);
		at = k ? hash_at(&place, k) : NULL;
		if (k && *at) {
			add_site(&site[*at - 1], &g->site[i]);
			site[*at - 1].merged++;
		} else if (k) {
			site[*n] = g->site[i];
			site[*n].class =
			    must_memdup(site[*n].class, site[*n].classes * sizeof(*site->class));
			site[*n].class_room = site[*n].classes;
			site[(*n)++].merged = 1;
			*at = *n;
		}
	}
	hash_release(&place);
	for (i = 0; i < *n; i++) {
		advise(&site[i]);
		free(site[i].class);
		site[i].class = NULL;
		site[i].classes = site[i].class_room = 0;
	}
	SORT(site, *n, by_saving);
	return site;
}

static void release(void *self)
{
	struct growth *g = self;

	for (size_t i = 0; i < g->open.count; i++)
		release_open((struct growth_open *)g->open.item + i);
	array_release(&g->open);
	large_release(&g->chain);
}

static const struct pass_part class_parts[] = {
	{ PASS_LIST(struct growth_site, class, classes, class_room, struct growth_class) },
	{ .bytes = 0 },
};

static const struct pass_part parts[] = {
	{ PASS_LIST(struct growth, site, sites, site_room, struct growth_site),
	  .inside = class_parts },
	{ PASS_FREED(struct growth, index) },
	{ PASS_FREED(struct growth, last) },
	{ PASS_FREED(struct growth, pair) },
	{ PASS_UNUSED(struct growth, open) },
	{ PASS_UNUSED(struct growth, chain) },
	{ PASS_UNUSED(struct growth, turns) },
	{ PASS_UNUSED(struct growth, unused) },
	{ PASS_UNUSED(struct growth, chains_made) },
	{ .bytes = 0 },
};

const struct pass_ops growth_pass = {
	.name = "growth",
	.bytes = sizeof(struct growth),
	.part = parts,
	.start = start,
	.batch = batch,
	.gone = gone,
	.finish = finish,
	.release = release,
};
