/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * loop.h - the loop over the words of a stream, instantiated for each way to play.  Before
 * including it, define
 *
 *   SELF                 the struct that plays
 *   SELF_ENDS            its word of operations to stop at: `s` is the SELF
 *   birth(s, call, ext, op, null, touch, noted)   a call that returns a block; *call is its word
 *   death(s, word, ext, null, noted)              FREE
 *
 * It defines loop_choose(), which returns the loop for the settings.  A loop plays from p up to
 * limit or to a word whose operation is in SELF_ENDS, whichever is first, and returns where it
 * stopped.
 *
 * null, touch and noted are constants in each loop, so code that a setting does not need is absent.
 */

typedef const uint64_t *loop_play(SELF *s, const uint64_t *p, const uint64_t *limit);

/* Plays the call after an EXT. */
static ALWAYS void loop_extended(SELF *s, const uint64_t *call, uint64_t ext, const int null,
				 const int touch, const int noted)
{
	switch (mprof_play_op(*call)) {
	case MPROF_PLAY_MALLOC:
		birth(s, call, ext, MPROF_PLAY_MALLOC, null, touch, noted);
		break;
	case MPROF_PLAY_FREE:
		death(s, *call, ext, null, noted);
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

static ALWAYS const uint64_t *loop_words(SELF *s, const uint64_t *p, const uint64_t *limit,
					 const int null, const int touch, const int noted)
{
	for (; p < limit; p++) {
		switch (mprof_play_op(*p)) {
		case MPROF_PLAY_MALLOC:
			birth(s, p, 0, MPROF_PLAY_MALLOC, null, touch, noted);
			break;
		case MPROF_PLAY_FREE:
			death(s, *p, 0, null, noted);
			break;
		case MPROF_PLAY_CALLOC:
			birth(s, p, 0, MPROF_PLAY_CALLOC, null, touch, noted);
			break;
		case MPROF_PLAY_REALLOC:
			birth(s, p, 0, MPROF_PLAY_REALLOC, null, touch, noted);
			break;
		case MPROF_PLAY_EXT:
			loop_extended(s, p + 1, *p, null, touch, noted);
			p++;
			break;
		default:
			if (SELF_ENDS >> mprof_play_op(*p) & 1)
				return p;
		}
	}
	return p;
}

#define LOOP(name, null, touch, noted)                                                 \
	static const uint64_t *name(SELF *s, const uint64_t *p, const uint64_t *limit) \
	{                                                                              \
		return loop_words(s, p, limit, null, touch, noted);                    \
	}

LOOP(loop_null, 1, TOUCH_NONE, 0)
LOOP(loop_none, 0, TOUCH_NONE, 0)
LOOP(loop_first, 0, TOUCH_FIRST, 0)
LOOP(loop_page, 0, TOUCH_PAGE, 0)
LOOP(loop_full, 0, TOUCH_FULL, 0)
LOOP(loop_recorded, 0, TOUCH_RECORDED, 0)
LOOP(loop_none_noted, 0, TOUCH_NONE, 1)
LOOP(loop_first_noted, 0, TOUCH_FIRST, 1)
LOOP(loop_page_noted, 0, TOUCH_PAGE, 1)
LOOP(loop_full_noted, 0, TOUCH_FULL, 1)
LOOP(loop_recorded_noted, 0, TOUCH_RECORDED, 1)

static loop_play *loop_choose(void)
{
	static loop_play *const plain[TOUCHES] = { loop_none, loop_first, loop_page, loop_full,
						   loop_recorded };
	static loop_play *const noted[TOUCHES] = { loop_none_noted, loop_first_noted,
						   loop_page_noted, loop_full_noted,
						   loop_recorded_noted };

	if (settings.null)
		return loop_null;
	return settings.addresses || settings.latency ? noted[settings.touch]
						      : plain[settings.touch];
}
