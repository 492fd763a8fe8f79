// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * compile_slots.c - which slot a new block gets.
 *
 * What a thread had and gave back itself it takes again, the last one first:
 * with one thread there are as many slots as blocks ever lived at once, and
 * the table's hot part is small.  What another thread gave back, or what an
 * ended thread had, would make the next owner wait; it rests before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compile_parts.h"

int compile_grow(void *array, uint64_t *room, uint64_t need, size_t bytes)
{
	uint64_t more = *room ? *room : 64;
	void **p = array, *grown;

	if (need <= *room)
		return 0;
	while (more < need)
		more *= 2;
	grown = reallocarray(*p, more, bytes);
	if (!grown)
		return -ENOMEM;
	*p = grown;
	*room = more;
	return 0;
}

/* ---- resting slots ---- */

static int widen_resting(struct compile *c)
{
	uint64_t room = c->resting_room ? 2 * c->resting_room : 1024, i;
	struct compile_resting *wider = malloc(room * sizeof(*wider));

	if (!wider)
		return -ENOMEM;
	for (i = 0; i < c->resting_n; i++)
		wider[i] = c->resting[(c->resting_first + i) & (c->resting_room - 1)];
	free(c->resting);
	c->resting = wider;
	c->resting_room = room;
	c->resting_first = 0;
	return 0;
}

static void rest(struct compile *c, uint32_t slot)
{
	uint64_t i;

	if (c->resting_n == c->resting_room && widen_resting(c) < 0) {
		c->error = -ENOMEM;
		return;
	}
	i = (c->resting_first + c->resting_n++) & (c->resting_room - 1);
	c->resting[i] =
	    (struct compile_resting){ .until = c->sum.calls + MPROF_PLAY_REST, .slot = slot };
}

void compile_pool_rests(struct compile *c, struct compile_thread *t)
{
	size_t i;

	for (i = 0; i < t->pool_n; i++)
		rest(c, t->pool[i]);
	free(t->pool);
	t->pool = NULL;
	t->pool_n = t->pool_room = 0;
}

/* ---- slots ---- */

static uint32_t new_slot(struct compile *c)
{
	uint64_t room = c->slots_room, old = room;
	struct compile_block *block;

	if (c->slots == COMPILE_NONE - 1) {
		c->error = -EOVERFLOW;
		return COMPILE_NONE;
	}
	if (c->slots == room) {
		room = old ? 2 * old : 64;
		block = large_extend(c->block, c->block_bytes, room * sizeof(*block));
		if (!block)
			goto full;
		c->block = block;
		c->block_bytes = room * sizeof(*block);
		if (c->options.touch &&
		    compile_grow(&c->touch_at, &c->slots_room, room, sizeof(*c->touch_at)) < 0)
			goto full;
		if (c->change && compile_grow(&c->tag, &old, room, sizeof(*c->tag)) < 0)
			goto full;
		c->slots_room = room;
	}
	if (c->touch_at)
		c->touch_at[c->slots] = COMPILE_NOWHERE;
	return (uint32_t)c->slots++;
full:
	c->error = -ENOMEM;
	return COMPILE_NONE;
}

uint32_t compile_slot_take(struct compile *c, struct compile_thread *t)
{
	struct compile_resting *r;

	if (t->pool_n)
		return t->pool[--t->pool_n];
	if (c->resting_n) {
		r = &c->resting[c->resting_first];
		if (r->until <= c->sum.calls) {
			c->resting_first = (c->resting_first + 1) & (c->resting_room - 1);
			c->resting_n--;
			return r->slot;
		}
	}
	return new_slot(c);
}

static bool pool_is_full(struct compile_thread *t)
{
	uint64_t room = t->pool_room;

	if (t->pool_n < room)
		return false;
	if (compile_grow(&t->pool, &room, t->pool_n + 1, sizeof(*t->pool)) < 0)
		return true;
	t->pool_room = room;
	return false;
}

void compile_slot_give(struct compile *c, struct compile_thread *t, uint32_t slot)
{
	if (c->block[slot].thread != t->place || t->ended) {
		rest(c, slot);
	} else if (pool_is_full(t)) {
		c->error = -ENOMEM;
	} else {
		t->pool[t->pool_n++] = slot;
	}
}
