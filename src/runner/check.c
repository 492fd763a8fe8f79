/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * check.c - checks ORDER before it is played: bounds, the blocks of every slot, starts and ends of
 * the threads, and the section's checksum.  A file that passes can be played without tests.
 */
#include <sys/mman.h>
#include "run.h"

#define CUT (1u << 16) /* words after which the preceding pages are dropped */

enum life { UNBORN, ALIVE, ENDED, JOINED };

struct walk {
	const uint64_t *words;
	uint64_t n, i;	     /* n: words of the section */
	uint64_t *slot;	     /* nonzero = a live block */
	unsigned char *life; /* state of each thread */
	uint32_t now, alive; /* the thread that plays; how many others are alive */
	uint64_t ns;
	struct order *order;
	struct stops *stops;
	size_t stop;
};

static _Noreturn void bad(const struct walk *w, const char *why)
{
	die(STATUS_FILE, "%s: word %u of ORDER: %s", settings.in, w->i, why);
}

static void check_slot(struct walk *w, unsigned op, uint64_t word)
{
	uint32_t slot = mprof_play_slot(word);

	if (slot >= playback.head.slots)
		bad(w, "a slot beyond the table");
	if (op == MPROF_PLAY_FREE) {
		if (!w->slot[slot])
			bad(w, "frees a slot that holds no block");
		w->slot[slot] = 0;
		return;
	}
	if (op != MPROF_PLAY_REALLOC && w->slot[slot])
		bad(w, "a block is allocated in a slot that holds one");
	w->slot[slot] = 1;
}

static void check_call(struct walk *w, uint64_t word, uint64_t ext)
{
	unsigned op = mprof_play_op(word);

	if (w->life[w->now] != ALIVE)
		bad(w, "a call of a thread that has ended");
	if (op == MPROF_PLAY_ALIGNED && !ext)
		bad(w, "ALIGNED without the word for the alignment");
	check_slot(w, op, word);
	if (w->i + 1 < w->n && mprof_play_op(w->words[w->i + 1]) == MPROF_PLAY_TOUCH) {
		if (op == MPROF_PLAY_FREE)
			bad(w, "TOUCH after a call that returns no block");
		w->i++;
	}
	w->order->calls++;
}

static void check_ext(struct walk *w, uint64_t ext)
{
	if (w->i + 1 == w->n || !mprof_play_is_call(w->words[w->i + 1]))
		bad(w, "EXT without a call after it");
	if (mprof_play_log2align(ext) > 47)
		bad(w, "an impossible alignment");
	w->i++;
	check_call(w, w->words[w->i], ext);
}

static void begin_thread(struct walk *w, uint32_t thread)
{
	w->life[thread] = ALIVE;
	if (thread && ++w->alive > w->order->thread_pool)
		w->order->thread_pool = w->alive;
}

static void check_switch(struct walk *w, uint32_t thread)
{
	if (w->life[thread] == UNBORN)
		begin_thread(w, thread);
	if (w->life[thread] != ALIVE)
		bad(w, "SWITCH to a thread that has ended");
	w->now = thread;
}

static void check_life(struct walk *w, unsigned op, uint32_t thread)
{
	if (thread >= playback.head.threads)
		bad(w, "a thread that the file does not have");
	if (op == MPROF_PLAY_SWITCH) {
		check_switch(w, thread);
	} else if (op == MPROF_PLAY_CREATE) {
		if (w->life[thread] != UNBORN)
			bad(w, "creates a thread that already exists");
		begin_thread(w, thread);
	} else if (op == MPROF_PLAY_GONE) {
		if (w->life[thread] != ENDED && w->life[thread] != JOINED)
			bad(w, "waits for the end of a thread that has not ended");
		w->life[thread] = JOINED;
	} else {
		if (thread != w->now || w->life[thread] != ALIVE)
			bad(w, "EXIT of a thread other than the one that plays");
		w->life[thread] = ENDED;
		w->alive -= !!thread;
	}
}

static void check_other(struct walk *w, uint64_t word)
{
	switch (mprof_play_op(word)) {
	case MPROF_PLAY_SWITCH:
	case MPROF_PLAY_CREATE:
	case MPROF_PLAY_EXIT:
	case MPROF_PLAY_GONE:
		check_life(w, mprof_play_op(word), mprof_play_slot(word));
		break;
	case MPROF_PLAY_TIME:
		if (word >> 4 < w->ns)
			bad(w, "TIME goes backwards");
		w->ns = word >> 4;
		break;
	case MPROF_PLAY_TOUCH:
		bad(w, "TOUCH without a call before it");
	default:
		bad(w, "an unknown operation");
	}
}

/* Places stops before the word that follows their last call. */
static void place_stops(struct walk *w)
{
	struct stops *s = w->stops;

	while (w->stop < s->n && s->at[w->stop].op <= w->order->calls)
		s->at[w->stop++].word = w->i;
}

static void check_word(struct walk *w)
{
	uint64_t word = w->words[w->i];

	if (mprof_play_is_call(word))
		check_call(w, word, 0);
	else if (mprof_play_op(word) == MPROF_PLAY_EXT)
		check_ext(w, word);
	else
		check_other(w, word);
	w->i++;
	if (w->stop < w->stops->n)
		place_stops(w);
}

/* Returns how many calls may pass without a check, before a stop or the end. */
static uint64_t room(const struct walk *w)
{
	uint64_t words = w->n - 1 - w->i, calls;

	if (words > CUT)
		words = CUT;
	if (w->life[w->now] != ALIVE)
		return 0;
	if (w->stop == w->stops->n)
		return words;
	calls = w->stops->at[w->stop].op - 1 - w->order->calls;
	return calls < words ? calls : words;
}

/*
 * Most words are calls without an EXT or a TOUCH.  Checks as many as follow each other; at the
 * first that is invalid or of another kind, check_word takes over.
 */
static void check_plain(struct walk *w)
{
	const uint64_t *begin = w->words + w->i, *end = begin + room(w), *p;
	uint64_t *slot = w->slot, slots = playback.head.slots;

	for (p = begin; p < end && mprof_play_op(p[1]) != MPROF_PLAY_TOUCH; p++) {
		unsigned op = mprof_play_op(*p);
		uint32_t at = mprof_play_slot(*p);

		if (op - MPROF_PLAY_MALLOC > MPROF_PLAY_REALLOC - MPROF_PLAY_MALLOC || at >= slots)
			break;
		if (op == MPROF_PLAY_FREE ? !slot[at] : slot[at] && op != MPROF_PLAY_REALLOC)
			break;
		slot[at] = op != MPROF_PLAY_FREE;
	}
	w->i += (uint64_t)(p - begin);
	w->order->calls += (uint64_t)(p - begin);
}

/* Checks words up to END, and drops pages of the file afterwards. */
static void check_words(struct walk *w)
{
	uint64_t sum = MPROF_PLAY_CHECK_START, summed = 0;

	while (w->i < w->n) {
		check_plain(w);
		if (mprof_play_op(w->words[w->i]) == MPROF_PLAY_END)
			break;
		check_word(w);
		if (w->i < summed + CUT)
			continue;
		sum = mprof_play_check(sum, w->words + summed, CUT * 8ull);
		madvise((void *)(w->words + summed), CUT * 8ull, MADV_DONTNEED);
		summed += CUT;
	}
	if (w->i + 1 != w->n)
		bad(w, w->i == w->n ? "no END" : "words after END");
	sum = mprof_play_check(sum, w->words + summed, (w->n - summed) * 8);
	if (sum != playback.head.order.check)
		die(STATUS_FILE, "%s: damaged: the checksum of section order is wrong",
		    settings.in);
}

void check_order(struct order *order, struct stops *stops, uint64_t *scratch)
{
	struct mprof_play_section s = playback.head.order;
	struct walk w = { .n = s.bytes / 8, .slot = scratch, .order = order, .stops = stops };

	w.words = file_map(s.offset, s.bytes);
	w.life = own_map(playback.head.threads);
	*order = (struct order){ 0 };
	begin_thread(&w, 0);
	place_stops(&w);
	check_words(&w);
	order->words = w.i;
	if (order->calls != playback.head.sum.calls)
		die(STATUS_FILE, "%s: has %u calls, but its header says %u", settings.in,
		    order->calls, playback.head.sum.calls);
	file_unmap(w.words, s.bytes);
}
