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
		if (set.addresses)
			note_address(p);
	}
	if (unlikely(!storable(p))) {
		not_storable(s, p, size);
		if (op != MPROF_PLAY_REALLOC || !size)
			*slot = 0; /* a failed realloc leaves the block */
		return;
	}
	*slot = (uintptr_t)p | pages_of(size);
	if (!null)
		touch_block(p, from, size, touch == TOUCH_RECORDED ? call[1] : 0, touch);
}

static ALWAYS void death(struct player *s, uint64_t word, const int null, const int noted)
{
	uint64_t *slot = s->table + mprof_play_slot(word), begin = 0;
	void *p = (void *)(*slot & SLOT_ADDR);

	*slot = 0;
	if (noted)
		begin = timing_begin(s->notes);
	give_back(p, null);
	if (noted)
		timing_end(s->notes, CLASS_FREE, begin);
}

/* The call behind an EXT. */
static ALWAYS void extended(struct player *s, const uint64_t *call, uint64_t ext, const int null,
			    const int touch, const int noted)
{
	switch (mprof_play_op(*call)) {
	case MPROF_PLAY_MALLOC:
		birth(s, call, ext, MPROF_PLAY_MALLOC, null, touch, noted);
		break;
	case MPROF_PLAY_FREE:
		death(s, *call, null, noted);
		break;
	case MPROF_PLAY_CALLOC:
		birth(s, call, ext, MPROF_PLAY_CALLOC, null, touch, noted);
		break;
	case MPROF_PLAY_REALLOC:
		birth(s, call, ext, MPROF_PLAY_REALLOC, null, touch, noted);
		break;
	default:
		birth(s, call, ext, MPROF_PLAY_ALIGNED, null, touch, noted);
	}
}

static ALWAYS const uint64_t *play(struct player *s, const uint64_t *p, const uint64_t *limit,
				   const int null, const int touch, const int noted)
{
	for (; p < limit; p++) {
		switch (mprof_play_op(*p)) {
		case MPROF_PLAY_MALLOC:
			birth(s, p, 0, MPROF_PLAY_MALLOC, null, touch, noted);
			break;
		case MPROF_PLAY_FREE:
			death(s, *p, null, noted);
			break;
		case MPROF_PLAY_CALLOC:
			birth(s, p, 0, MPROF_PLAY_CALLOC, null, touch, noted);
			break;
		case MPROF_PLAY_REALLOC:
			birth(s, p, 0, MPROF_PLAY_REALLOC, null, touch, noted);
			break;
		case MPROF_PLAY_EXT:
			extended(s, p + 1, *p, null, touch, noted);
			p++;
			break;
		default:
			if (s->ends >> mprof_play_op(*p) & 1)
				return p;
		}
	}
	return p;
}

#define LOOP(name, null, touch, noted)                                                          \
	static const uint64_t *name(struct player *s, const uint64_t *p, const uint64_t *limit) \
	{                                                                                       \
		return play(s, p, limit, null, touch, noted);                                   \
	}

LOOP(play_null, 1, TOUCH_NONE, 0)
LOOP(play_none, 0, TOUCH_NONE, 0)
LOOP(play_first, 0, TOUCH_FIRST, 0)
LOOP(play_page, 0, TOUCH_PAGE, 0)
LOOP(play_full, 0, TOUCH_FULL, 0)
LOOP(play_recorded, 0, TOUCH_RECORDED, 0)
LOOP(note_none, 0, TOUCH_NONE, 1)
LOOP(note_first, 0, TOUCH_FIRST, 1)
LOOP(note_page, 0, TOUCH_PAGE, 1)
LOOP(note_full, 0, TOUCH_FULL, 1)
LOOP(note_recorded, 0, TOUCH_RECORDED, 1)

order_play *order_choose(void)
{
	static order_play *const plain[TOUCHES] = { play_none, play_first, play_page, play_full,
						    play_recorded };
	static order_play *const noted[TOUCHES] = { note_none, note_first, note_page, note_full,
						    note_recorded };

	if (set.null)
		return play_null;
	return set.addresses || set.latency ? noted[set.touch] : plain[set.touch];
}
