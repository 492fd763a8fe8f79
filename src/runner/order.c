/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "order.h"

static ALWAYS uint64_t pages_of(uint64_t size)
{
	uint64_t pages = size / PAGE;

	return (pages < 0xffff ? pages : 0xffff) << SLOT_BITS;
}

static ALWAYS void birth(struct player *s, const uint64_t *call, uint64_t ext, const unsigned op,
			 const int null, const int touch, const int noted)
{
	uint64_t size = mprof_play_size(*call, ext), begin = 0, from = 0;
	uint64_t *slot = s->table + mprof_play_slot(*call);
	void *old = NULL, *p;

	if (op == MPROF_PLAY_REALLOC) {
		old = (void *)(*slot & SLOT_ADDR);
		from = (*slot >> SLOT_BITS) * PAGE;
	}
	if (noted)
		begin = timing_begin(s->notes);
	p = ask(op, ext, old, size, null);
	if (noted) {
		timing_end(s->notes, class_of(op), begin);
		if (settings.addresses)
			note_address(p);
	}
	if (unlikely(!storable(p))) {
		not_storable(s, p, size);
		if (op != MPROF_PLAY_REALLOC || !size)
			*slot = 0; /* a failed realloc keeps the block */
		return;
	}
	*slot = (uintptr_t)p | pages_of(size);
	if (!null)
		touch_block(p, from, size, touch == TOUCH_RECORDED ? call[1] : 0, touch);
}

static ALWAYS void death(struct player *s, uint64_t word, uint64_t ext, const int null,
			 const int noted)
{
	uint64_t *slot = s->table + mprof_play_slot(word), begin = 0;
	void *p = (void *)(*slot & SLOT_ADDR);

	(void)ext; /* a size or a name that free does not need */
	*slot = 0;
	if (noted)
		begin = timing_begin(s->notes);
	give_back(p, null);
	if (noted)
		timing_end(s->notes, CLASS_FREE, begin);
}

#define SELF	  struct player
#define SELF_ENDS s->ends
#include "loop.h"

order_play *order_choose(void)
{
	return loop_choose();
}
