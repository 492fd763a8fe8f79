/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * check_threads.c - plays the THREAD streams without blocks, each thread as far as possible,
 * repeatedly: every wait must end, and a call on a slot that another thread used last must wait for
 * that thread.
 */
#include "run.h"

struct slot_use {
	uint64_t generation; /* as in playback.h */
	uint64_t last;	     /* number + 1 of the thread that used it last */
};

struct one {
	const uint64_t *words;
	uint64_t n, i, calls, ns;
	bool began, ended;
};

struct walk {
	struct slot_use *slot;
	struct one *one;
	uint32_t *active; /* started and not ended */
	size_t active_n;
	uint32_t me;
};

static _Noreturn void bad(const struct walk *w, const char *why)
{
	die(STATUS_FILE, "%s: word %u of thread %u: %s", settings.in, w->one[w->me].i,
	    (uint64_t)w->me, why);
}

static void begin(struct walk *w, uint32_t thread)
{
	if (w->one[thread].began)
		bad(w, "creates a thread that already exists");
	w->one[thread].began = true;
	w->active[w->active_n++] = thread;
}

/* Returns the generation after a call. */
static ALWAYS uint64_t after(uint64_t generation, unsigned op)
{
	return (generation + (op == MPROF_PLAY_FREE ? -1u : 3 - (generation & 1))) & 0x7fff;
}

/* Returns false if the call must wait. */
static bool call(struct walk *w, uint64_t word, uint64_t ext)
{
	uint32_t slot = mprof_play_slot(word);
	unsigned wait = mprof_play_wait(ext), op = mprof_play_op(word);
	struct slot_use *p = &w->slot[slot];
	bool alive;

	if (slot >= playback.head.slots)
		bad(w, "a slot beyond the table");
	if (wait && p->generation != wait - 1)
		return false;
	if (!wait && p->last && p->last != w->me + 1)
		bad(w, "does not wait for the thread that used the slot last");
	alive = p->generation & 1;
	if (alive ? op != MPROF_PLAY_FREE && op != MPROF_PLAY_REALLOC : op == MPROF_PLAY_FREE)
		bad(w, alive ? "a block is allocated in a slot that holds one"
			     : "frees a slot that holds no block");
	if (op == MPROF_PLAY_ALIGNED && !ext)
		bad(w, "ALIGNED without the word for the alignment");
	p->generation = after(p->generation, op);
	p->last = w->me + 1;
	w->one[w->me].calls++;
	return true;
}

/* Checks a call at word i of t, with its EXT and TOUCH. */
static bool check_call(struct walk *w, struct one *t)
{
	uint64_t ext = mprof_play_op(t->words[t->i]) == MPROF_PLAY_EXT ? t->words[t->i] : 0;
	uint64_t next = t->i + !!ext;

	if (next >= t->n || !mprof_play_is_call(t->words[next]))
		bad(w, "EXT without a call after it");
	if (mprof_play_log2align(ext) > 47)
		bad(w, "an impossible alignment");
	if (!call(w, t->words[next], ext))
		return false;
	t->i = next + 1;
	if (t->i < t->n && mprof_play_op(t->words[t->i]) == MPROF_PLAY_TOUCH) {
		if (mprof_play_op(t->words[next]) == MPROF_PLAY_FREE)
			bad(w, "TOUCH after a call that returns no block");
		t->i++;
	}
	return true;
}

static bool check_life(struct walk *w, struct one *t, unsigned op, uint32_t thread)
{
	if (thread >= playback.head.threads)
		bad(w, "a thread that the file does not have");
	if (op == MPROF_PLAY_CREATE) {
		begin(w, thread);
	} else if (op == MPROF_PLAY_GONE) {
		if (!w->one[thread].ended)
			return false;
		if (!thread)
			bad(w, "waits for the end of the first thread");
	} else if (thread != w->me || t->i + 2 != t->n) {
		bad(w, "EXIT is another thread's, or not the last word");
	} else {
		t->ended = true;
	}
	t->i++;
	return true;
}

static bool check_word(struct walk *w, struct one *t)
{
	uint64_t word = t->words[t->i];

	switch (mprof_play_op(word)) {
	case MPROF_PLAY_CREATE:
	case MPROF_PLAY_EXIT:
	case MPROF_PLAY_GONE:
		return check_life(w, t, mprof_play_op(word), mprof_play_slot(word));
	case MPROF_PLAY_TIME:
		if (word >> 4 < t->ns)
			bad(w, "TIME goes backwards");
		t->ns = word >> 4;
		t->i++;
		return true;
	case MPROF_PLAY_EXT:
		return check_call(w, t);
	default:
		if (!mprof_play_is_call(word))
			bad(w, "an operation that is not allowed here");
		return check_call(w, t);
	}
}

/* Plays calls without an EXT, which do not wait, up to the first invalid or other word. */
static void check_plain(struct walk *w, struct one *t)
{
	const uint64_t *begin = t->words + t->i, *end = t->words + t->n - 1, *p;
	uint64_t me = w->me + 1, slots = playback.head.slots;
	struct slot_use *slot = w->slot;

	for (p = begin; p < end && mprof_play_op(p[1]) != MPROF_PLAY_TOUCH; p++) {
		unsigned op = mprof_play_op(*p), alive;
		struct slot_use *at = &slot[mprof_play_slot(*p)];

		if (op - MPROF_PLAY_MALLOC > MPROF_PLAY_REALLOC - MPROF_PLAY_MALLOC ||
		    mprof_play_slot(*p) >= slots || (at->last && at->last != me))
			break;
		alive = at->generation & 1;
		if (op == MPROF_PLAY_FREE ? !alive : alive && op != MPROF_PLAY_REALLOC)
			break;
		*at = (struct slot_use){ after(at->generation, op), me };
	}
	t->i += (uint64_t)(p - begin);
	t->calls += (uint64_t)(p - begin);
}

/* Plays as far as possible; true if it played at least one word. */
static bool advance(struct walk *w, struct one *t)
{
	uint64_t from = t->i;

	for (;;) {
		check_plain(w, t);
		if (mprof_play_op(t->words[t->i]) == MPROF_PLAY_END)
			break;
		if (!check_word(w, t))
			return t->i != from;
	}
	if (t->i + 1 != t->n)
		bad(w, "words after END");
	t->i = t->n;
	return true;
}

static void check_all(struct walk *w)
{
	while (w->active_n) {
		bool moved = false;

		for (size_t k = 0; k < w->active_n; k++) {
			w->me = w->active[k];
			moved |= advance(w, &w->one[w->me]);
			if (w->one[w->me].i == w->one[w->me].n)
				w->active[k--] = w->active[--w->active_n];
		}
		if (!moved)
			bad(w, "all threads wait for each other");
	}
}

static void check_sums(const struct walk *w, const struct order *order)
{
	uint64_t calls = 0;

	for (uint32_t i = 0; i < playback.head.threads; i++) {
		if (!w->one[i].began)
			die(STATUS_FILE, "%s: no thread creates thread %u", settings.in,
			    (uint64_t)i);
		calls += w->one[i].calls;
	}
	if (calls != order->calls)
		die(STATUS_FILE, "%s: the threads have %u calls, ORDER has %u", settings.in, calls,
		    order->calls);
}

void check_threads(const struct order *order, uint64_t *scratch)
{
	struct mprof_play_section s = playback.head.streams;
	const uint64_t *words = file_map(s.offset, s.bytes);
	struct walk w = { .slot = (struct slot_use *)scratch };

	if (mprof_play_check(MPROF_PLAY_CHECK_START, words, s.bytes) != s.check)
		die(STATUS_FILE, "%s: damaged: the checksum of section streams is wrong",
		    settings.in);
	w.one = own_map(playback.head.threads * sizeof(*w.one));
	w.active = own_map(playback.head.threads * sizeof(*w.active));
	for (uint32_t i = 0; i < playback.head.threads; i++) {
		const struct mprof_play_thread *t = &playback.thread[i];

		w.one[i].words = words + (t->offset - s.offset) / 8;
		w.one[i].n = t->words;
		if (mprof_play_op(w.one[i].words[t->words - 1]) != MPROF_PLAY_END)
			die(STATUS_FILE, "%s: the stream of thread %u has no END", settings.in,
			    (uint64_t)i);
	}
	for (uint32_t i = 0; i < playback.head.threads; i++)
		if (!i || playback.thread[i].creator == i)
			begin(&w, i);
	check_all(&w);
	check_sums(&w, order);
	file_unmap(words, s.bytes);
}
