// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * compile_slots.c - chooses the slot of a new block.
 *
 * A thread reuses slots that it used and freed itself, the last one first: so with one thread there
 * are as many slots as blocks were ever live at once, and the hot part of the table is small. The
 * next owner of a slot that another thread freed, or that an ended thread used, would have to wait;
 * so these are not reused at once.
 */
#include <stdlib.h>

#include "compile_parts.h"

/* ---- resting slots ---- */

static void widen_resting(struct compile *c)
{
	uint64_t room = c->resting_room ? 2 * c->resting_room : 1024, i;
	struct compile_resting *wider = must_malloc(room * sizeof(*wider));

	for (i = 0; i < c->resting_n; i++)
		wider[i] = c->resting[(c->resting_first + i) & (c->resting_room - 1)];
	free(c->resting);
	c->resting = wider;
	c->resting_room = room;
	c->resting_first = 0;
}

void compile_slot_rests(struct compile *c, uint32_t slot)
{
	uint64_t i;

	if (c->resting_n == c->resting_room)
		widen_resting(c);
	i = (c->resting_first + c->resting_n++) & (c->resting_room - 1);
	c->resting[i] =
	    (struct compile_resting){ .until = c->sum.calls + MPROF_PLAY_REST, .slot = slot };
}

void compile_pool_rests(struct compile *c, struct compile_thread *t)
{
	size_t i;

	for (i = 0; i < t->pool_n; i++)
		compile_slot_rests(c, t->pool[i]);
	free(t->pool);
	t->pool = NULL;
	t->pool_n = t->pool_room = 0;
}

/* ---- slots ---- */

static void widen_slots(struct compile *c)
{
	const size_t room = c->slots_room ? 2 * c->slots_room : 64;

	c->block = large_extend(c->block, c->block_bytes, room * sizeof(*c->block));
	c->block_bytes = room * sizeof(*c->block);
	if (c->options.touch)
		c->touch_at = must_reallocarray(c->touch_at, room, sizeof(*c->touch_at));
	if (c->change)
		c->tag = must_reallocarray(c->tag, room, sizeof(*c->tag));
	c->slots_room = room;
}

static uint32_t new_slot(struct compile *c)
{
	if (c->slots == COMPILE_NONE - 1) {
		c->full = true;
		return COMPILE_NONE;
	}
	if (c->slots == c->slots_room)
		widen_slots(c);
	if (c->touch_at)
		c->touch_at[c->slots] = COMPILE_NOWHERE;
	return (uint32_t)c->slots++;
}

uint32_t compile_slot_other(struct compile *c)
{
	struct compile_resting *r;

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
