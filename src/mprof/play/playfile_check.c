// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * playfile_check.c - checks every word of a playback file.
 *
 * ORDER is walked as a player plays it, with a bit for each slot and a state for each thread; its
 * sums must be those of the header. Each THREAD stream is then walked beside a second walk over
 * ORDER: it must have the words of its thread, and wait for the generations in ORDER.
 */
#include "playfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"

#define NOBODY UINT32_MAX

enum thread_state { THREAD_NONE, THREAD_RUNS, THREAD_ENDED, THREAD_WAITED_FOR };

struct check_slot {
	uint64_t size;
	uint32_t thread; /* the thread that used it last */
	uint16_t generation;
};

struct lane { /* one thread's stream */
	const uint64_t *at, *end;
	uint64_t time, calls;
	uint8_t state;
};

struct checker {
	const struct playfile *p;
	struct error *err;
	struct check_slot *slot;
	struct lane *lane;
	const uint64_t *at, *begin, *end;
	uint64_t ext, time;
	bool born; /* from the word before: the allocation of a large block */
	uint32_t thread;
	uint64_t live_bytes, live_blocks;
	struct mprof_play_summary sum;
};

static int wrong(struct checker *c, const char *what)
{
	return fail(c->err, -EBADMSG, "'%s': %s, at word %zd of section order, byte %" PRIu64,
		    c->p->path, what, c->at - c->begin,
		    c->p->header.order.offset + 8 * (uint64_t)(c->at - c->begin));
}

/* ---- checksums ---- */

static int check_sum(const struct playfile *p, const char *name, const struct mprof_play_section *s,
		     struct error *err)
{
	if (!s->bytes ||
	    mprof_play_check(MPROF_PLAY_CHECK_START, p->map + s->offset, s->bytes) == s->check)
		return 0;
	return fail(err, -EBADMSG, "'%s': the checksum of section %s is wrong", p->path, name);
}

static int check_sums(const struct playfile *p, struct error *err)
{
	const struct mprof_playback_header *h = &p->header;

	if (check_sum(p, "order", &h->order, err) || check_sum(p, "thread", &h->thread, err) ||
	    check_sum(p, "streams", &h->streams, err) || check_sum(p, "sites", &h->sites, err))
		return -EBADMSG;
	return 0;
}

/* ---- streams ---- */

/*
 * Is this the next word of the thread's stream, after TIME words that are not later than those of
 * ORDER?
 */
static bool lane_has(struct checker *c, uint64_t word)
{
	struct lane *l = &c->lane[c->thread];

	if (c->p->header.threads == 1)
		return true;
	for (; l->at < l->end && mprof_play_op(*l->at) == MPROF_PLAY_TIME; l->at++) {
		if (*l->at < l->time || *l->at > c->time)
			return false;
		l->time = *l->at;
	}
	return l->at < l->end && *l->at++ == word;
}

static bool lane_has_call(struct checker *c, uint64_t word)
{
	const struct check_slot *s = &c->slot[mprof_play_slot(word)];
	uint64_t ext = c->ext;

	if (s->thread != c->thread && s->thread != NOBODY)
		ext = (ext ? ext : MPROF_PLAY_EXT) | (uint64_t)(s->generation + 1) << 16;
	return (!ext || lane_has(c, ext)) && lane_has(c, word);
}

/* ---- calls ---- */

/* Can an operation that is named after another function call this one? */
static bool can_be(unsigned op, unsigned fn)
{
	static const struct {
		uint8_t op, class, shape;
	} row[MPROF_FN_MAX] = {
#define MPROF_SHAPED(id, code, name, class, shape) \
	[code] = { MPROF_PLAY_OF_##shape, MPROF_CLASS_##class, MPROF_SHAPE_##shape },
#include <mprof/functions.def>
	};

	if (fn >= MPROF_FN_MAX || !row[fn].op)
		return false;
	/* realloc with size 0, or operator new with an alignment. */
	if (op == MPROF_PLAY_FREE && row[fn].class == MPROF_CLASS_REALLOC)
		return true;
	if (op == MPROF_PLAY_ALIGNED && row[fn].shape == MPROF_SHAPE_NEW)
		return true;
	return row[fn].op == op && fn > MPROF_FN_REALLOC;
}

static const char *wrong_ext(const struct checker *c, unsigned op)
{
	const unsigned fn = mprof_play_fn(c->ext), align = mprof_play_log2align(c->ext);

	if (mprof_play_wait(c->ext))
		return "a call with a wait, which section order never has";
	if (fn && !can_be(op, fn))
		return "the EXT names a function that does not fit its operation";
	if ((op == MPROF_PLAY_ALIGNED) != (align != 0))
		return "an alignment without ALIGNED, or ALIGNED without one";
	return NULL;
}

static void count_call(struct checker *c, unsigned op, uint64_t size, struct check_slot *s)
{
	if (s->generation & 1) {
		c->live_bytes -= s->size;
		c->live_blocks--;
	}
	if (op != MPROF_PLAY_FREE) {
		c->sum.asked_bytes += size;
		c->live_bytes += size;
		c->live_blocks++;
	}
	if (c->live_bytes > c->sum.peak_bytes) {
		c->sum.peak_bytes = c->live_bytes;
		c->sum.peak_op = c->sum.calls;
	}
	if (c->live_blocks > c->sum.peak_blocks)
		c->sum.peak_blocks = c->live_blocks;
	c->sum.by_op[op]++;
	c->sum.calls++;
	c->lane[c->thread].calls++;
	s->size = size;
}

static int check_call(struct checker *c, uint64_t word)
{
	const unsigned op = mprof_play_op(word);
	const uint64_t size = mprof_play_size(word, c->ext);
	struct check_slot *s;

	if (mprof_play_slot(word) >= c->p->header.slots)
		return wrong(c, "a slot beyond the table");
	s = &c->slot[mprof_play_slot(word)];
	if (wrong_ext(c, op))
		return wrong(c, wrong_ext(c, op));
	if (op == MPROF_PLAY_FREE && (!(s->generation & 1) || size))
		return wrong(c, size ? "a FREE with a size" : "a FREE of a slot without a block");
	if (op != MPROF_PLAY_FREE && op != MPROF_PLAY_REALLOC && s->generation & 1)
		return wrong(c, "an allocation in a slot that has a block");
	if (!lane_has_call(c, word))
		return wrong(c, "a call that the thread's own stream does not have");
	count_call(c, op, size, s);
	s->generation = op == MPROF_PLAY_FREE
			    ? s->generation & 0x7ffe
			    : (uint16_t)((((s->generation >> 1) + 1) & 0x3fff) << 1 | 1);
	s->thread = c->thread;
	c->born = op != MPROF_PLAY_FREE && size >= MPROF_PLAY_LARGE;
	c->ext = 0;
	return 0;
}

/* ---- other words ---- */

static int check_time(struct checker *c, uint64_t word)
{
	if (word < c->time)
		return wrong(c, "a time before the previous one");
	c->time = word;
	return 0;
}

static int check_touch(struct checker *c, uint64_t word, bool born)
{
	if (!born)
		return wrong(c, "a TOUCH that does not follow the allocation of a large block");
	c->sum.touched_blocks += word >> 4 != MPROF_PLAY_TOUCH_UNKNOWN;
	return lane_has(c, word) ? 0
				 : wrong(c, "a TOUCH that the thread's own stream does not have");
}

static int check_thread(struct checker *c, uint64_t word)
{
	const uint32_t index = mprof_play_slot(word);
	struct lane *l;

	if ((word & 0xfffffff0) || index >= c->p->header.threads)
		return wrong(c, "a thread that does not exist");
	l = &c->lane[index];
	switch (mprof_play_op(word)) {
	case MPROF_PLAY_SWITCH:
		if (l->state != THREAD_RUNS)
			return wrong(c, "a SWITCH to a thread that is not running");
		c->thread = index;
		return 0;
	case MPROF_PLAY_CREATE:
		if (l->state != THREAD_NONE || playfile_threads(c->p)[index].creator != c->thread)
			return wrong(
			    c, "a CREATE of a thread that already exists, or not by its creator");
		l->state = THREAD_RUNS;
		break;
	case MPROF_PLAY_GONE:
		if (l->state != THREAD_ENDED)
			return wrong(c, "a GONE of a thread that has not ended, or a second one");
		l->state = THREAD_WAITED_FOR;
		break;
	default:
		if (index != c->thread || l->state != THREAD_RUNS)
			return wrong(c, "an EXIT of a thread that is not running");
		l->state = THREAD_ENDED;
	}
	if (!lane_has(c, word) ||
	    (mprof_play_op(word) == MPROF_PLAY_EXIT && !lane_has(c, MPROF_PLAY_END)))
		return wrong(c, "a word that the thread's own stream does not have");
	return 0;
}

static int check_word(struct checker *c, uint64_t word)
{
	const bool born = c->born;
	const unsigned op = mprof_play_op(word);

	c->born = false;
	if (c->ext && !mprof_play_is_call(word))
		return wrong(c, "an EXT that no call follows");
	if (!mprof_play_is_call(word) && op != MPROF_PLAY_EXT && op != MPROF_PLAY_TIME &&
	    op != MPROF_PLAY_TOUCH && op != MPROF_PLAY_SWITCH &&
	    (op < MPROF_PLAY_CREATE || op > MPROF_PLAY_GONE))
		return wrong(c, op ? "an unknown operation" : "an END before the end");
	switch (op) {
	case MPROF_PLAY_EXT:
		c->ext = word;
		return 0;
	case MPROF_PLAY_TIME:
		return check_time(c, word);
	case MPROF_PLAY_TOUCH:
		return check_touch(c, word, born);
	case MPROF_PLAY_SWITCH:
	case MPROF_PLAY_CREATE:
	case MPROF_PLAY_EXIT:
	case MPROF_PLAY_GONE:
		return check_thread(c, word);
	}
	if (c->lane[c->thread].state != THREAD_RUNS)
		return wrong(c, "a call of a thread that is not running");
	return check_call(c, word);
}

/* ---- the whole ---- */

static int check_end(struct checker *c)
{
	const struct mprof_playback_header *h = &c->p->header;
	const struct mprof_play_thread *t = playfile_threads(c->p);
	const struct mprof_play_summary *s = &h->sum;
	uint32_t i;

	if (c->at == c->end || *c->at != MPROF_PLAY_END || c->at + 1 != c->end || c->ext)
		return wrong(c, "the END is not the last word");
	if (c->sum.calls != s->calls || memcmp(c->sum.by_op, s->by_op, sizeof(s->by_op)) ||
	    c->sum.asked_bytes != s->asked_bytes || c->sum.peak_bytes != s->peak_bytes ||
	    c->sum.peak_op != s->peak_op || c->sum.peak_blocks != s->peak_blocks ||
	    c->live_bytes != s->left_bytes || c->live_blocks != s->left_blocks ||
	    c->sum.touched_blocks != s->touched_blocks)
		return fail(c->err, -EBADMSG,
			    "'%s': the header's sums are not those of section order", c->p->path);
	for (i = 0; i < h->threads; i++)
		if (c->lane[i].state < THREAD_ENDED || c->lane[i].calls != t[i].calls ||
		    (h->threads > 1 && c->lane[i].at != c->lane[i].end))
			return fail(c->err, -EBADMSG,
				    "'%s': thread %" PRIu32
				    " does not end, or does not have %" PRIu64 " calls",
				    c->p->path, i, t[i].calls);
	return 0;
}

static int check_order(struct checker *c)
{
	size_t words;
	uint32_t i;
	uint64_t s;

	c->begin = c->at = playfile_order(c->p, &words);
	c->end = c->begin + words;
	c->time = MPROF_PLAY_TIME;
	for (s = 0; s < c->p->header.slots; s++)
		c->slot[s].thread = NOBODY;
	for (i = 0; i < c->p->header.threads; i++) {
		c->lane[i] = (struct lane){ .time = MPROF_PLAY_TIME };
		c->lane[i].at = playfile_stream(c->p, i, &words);
		c->lane[i].end = c->lane[i].at ? c->lane[i].at + words : NULL;
	}
	c->lane[0].state = THREAD_RUNS;
	for (; c->at < c->end - 1; c->at++)
		if (check_word(c, *c->at))
			return -EBADMSG;
	return check_end(c);
}

int playfile_check(const struct playfile *p, struct error *err)
{
	struct checker c = { .p = p, .err = err };
	int ret = check_sums(p, err);

	if (ret)
		return ret;
	c.slot = must_calloc(p->header.slots, sizeof(*c.slot));
	c.lane = must_calloc(p->header.threads, sizeof(*c.lane));
	ret = check_order(&c);
	free(c.slot);
	free(c.lane);
	return ret;
}
