// SPDX-License-Identifier: LGPL-3.0-or-later
/* sizes.c - size classes. */
#include "../util/order.h"
#include "../util/alloc.h"
#include "../util/bits.h"
#include "sizes.h"

#include <stdlib.h>

#define SMALL_FEW 2048u /* most blocks that are never freed are smaller */

static void set_up(struct size_table *t, size_t smalls)
{
	t->small = must_calloc(smalls, sizeof(*t->small));
	t->smalls = smalls;
}

static struct size_class *class_of_size(struct size_table *t, uint64_t size)
{
	uint64_t *index;

	if (!t->small)
		set_up(t, SMALL_FEW);
	if (size < t->smalls)
		return &t->small[size];
	index = hash_at(&t->index, size);
	if (!*index) {
		GROW_ONE(t->large, t->larges, t->room);
		*index = t->larges;
	}
	return &t->large[*index - 1];
}

void size_table_add(struct size_table *t, uint64_t size, uint64_t waste)
{
	struct size_class *c = class_of_size(t, size);

	c->size = size;
	c->count++;
	c->waste += waste;
}

ORDER(by_size, struct size_class, RISING(size))

struct size_class *size_table_sorted(const struct size_table *t, size_t *n)
{
	size_t room = t->larges + 1, i;
	struct size_class *out;

	*n = 0;
	for (i = 0; i < t->smalls; i++)
		room += t->small[i].count != 0;
	out = must_calloc(room, sizeof(*out));
	for (i = 0; i < t->smalls; i++)
		if (t->small[i].count)
			out[(*n)++] = t->small[i];
	for (i = 0; i < t->larges; i++)
		out[(*n)++] = t->large[i];
	SORT(out, *n, by_size);
	return out;
}

/* ---- the pass ---- */

static void start(void *self, struct walk *w)
{
	struct sizes *s = self;

	if (!s->brief)
		set_up(&s->table, SIZES_SMALL);
}

void sizes_add_large(struct sizes *s, uint64_t size, uint64_t slack)
{
	size_table_add(&s->table, size, slack);
}

static void batch(void *self, const struct batch *b)
{
	struct sizes *s = self;
	size_t i;

	for (i = 0; i < b->count; i++) {
		if (!(b->note[i].did & NOTE_BEGAN))
			continue;
		if (s->brief)
			sizes_brief(s, b->event[i].size, event_slack(&b->event[i]));
		else
			sizes_add(s, b->event[i].size, event_slack(&b->event[i]));
	}
}

static void add_power(struct sizes *s, const struct size_class *c)
{
	struct size_class *p = &s->power[bits_of(c->size)];

	p->size += c->size * c->count;
	p->count += c->count;
	p->waste += c->waste;
}

static void finish(void *self, struct walk *w)
{
	struct sizes *s = self;
	size_t i;

	s->class = size_table_sorted(&s->table, &s->classes);
	for (i = 0; i < s->classes; i++) {
		s->total.count += s->class[i].count;
		s->total.waste += s->class[i].waste;
		s->bytes += s->class[i].size * s->class[i].count;
		add_power(s, &s->class[i]);
	}
}

static const struct pass_part parts[] = {
	{ PASS_LIST(struct sizes, table.small, table.smalls, table.smalls, struct size_class) },
	{ PASS_LIST(struct sizes, table.large, table.larges, table.room, struct size_class) },
	{ PASS_FREED(struct sizes, table.index) },
	{ PASS_FREED(struct sizes, class) },
	{ .bytes = 0 },
};

const struct pass_ops sizes_pass = {
	.name = "sizes",
	.bytes = sizeof(struct sizes),
	.part = parts,
	.start = start,
	.batch = batch,
	.finish = finish,
};
