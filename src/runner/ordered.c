/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ordered.c - real threads play ORDER, one at a time: the thread whose turn it is plays, and passes
 * the turn on at a SWITCH.
 *
 * Only the thread whose turn it is accesses `here`; storing the next thread's `turn` with release,
 * and loading it with acquire, passes it on.  A thread that ends passes the turn to the first
 * thread, which joins it before it continues: by the next call, the thread's caches are flushed.
 */
#include "thread_pool.h"
#include "order.h"

#define ROOM  8192 /* words */
#define SPINS 200  /* a few microseconds: less than sleeping and being woken takes */

static uint64_t buffer[ROOM];

static struct {
	struct player player;
	struct stream stream;
	struct stops *stops;
	order_play *play;
	struct thread *gone; /* to be joined by the first thread */
	uint64_t waits;
	bool done, lonely; /* lonely: one processor, so spinning is useless */
} here;

/* Values of turn. */
enum { WAITS, ASLEEP, ITS_TURN };

static void hand_over(struct thread *to)
{
	here.waits++;
	if (__atomic_exchange_n(&to->turn, ITS_TURN, __ATOMIC_ACQ_REL) == ASLEEP)
		futex_wake(&to->turn);
}

static void await_turn(struct thread *me)
{
	int spins = here.lonely ? 0 : SPINS;
	uint32_t waits = WAITS;

	while (spins-- > 0 && __atomic_load_n(&me->turn, __ATOMIC_ACQUIRE) != ITS_TURN)
		relax();
	__atomic_compare_exchange_n(&me->turn, &waits, ASLEEP, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_ACQUIRE);
	while (__atomic_load_n(&me->turn, __ATOMIC_ACQUIRE) != ITS_TURN)
		futex_wait(&me->turn, ASLEEP);
	__atomic_store_n(&me->turn, WAITS, __ATOMIC_RELAXED);
}

static void switch_to(struct thread *me, struct thread *to)
{
	if (to == me)
		return;
	if (!thread_pool_begun(to))
		thread_pool_begin(to);
	hand_over(to);
	await_turn(me);
}

/* False: the thread ends. */
static bool word(struct thread *me, uint64_t w)
{
	struct thread *t = &threads[mprof_play_slot(w)];

	switch (mprof_play_op(w)) {
	case MPROF_PLAY_SWITCH:
		switch_to(me, t);
		return true;
	case MPROF_PLAY_CREATE:
		thread_pool_begin(t);
		return true;
	default: /* EXIT; the first thread stays */
		if (me == threads)
			return true;
		here.gone = me;
		hand_over(threads);
		return false;
	}
}

/* False: its EXIT came; true: all words are done. */
static bool hold(struct thread *me)
{
	struct stream *in = &here.stream;
	const uint64_t *limit;

	while (!here.done) {
		if (here.gone) {
			thread_pool_join(here.gone);
			here.gone = NULL;
		}
		limit = stream_halt(in, here.stops);
		in->at = here.play(&here.player, in->at, limit);
		if (in->at < limit) {
			if (!word(me, *in->at++))
				return false;
		} else {
			here.done = !stream_go_on(in, here.stops);
		}
	}
	return true;
}

void ordered_begin(struct thread *me)
{
	await_turn(me);
	if (!hold(me))
		return;
	hand_over(threads); /* it played the last word */
	thread_pool_park(me);
}

void play_ordered(const struct order *order, struct stops *stops, struct played *played)
{
	static struct notes notes;
	struct usage begin, end;

	here.player = (struct player){ .table = live_table, .notes = &notes };
	here.player.ends =
	    1u << MPROF_PLAY_SWITCH | 1u << MPROF_PLAY_CREATE | 1u << MPROF_PLAY_EXIT;
	here.stops = stops;
	here.play = order_choose();
	here.lonely = thread_pool_lonely();
	notes_start(&notes, 0);
	usage_now(&begin);
	stream_open(&here.stream, buffer, ROOM, playback.head.order.offset, order->words);
	hold(threads);
	usage_now(&end);
	usage_add(&played->used, &begin, &end);
	played->calls = order->calls;
	played->failed = here.player.failed;
	played->waits = here.waits;
	notes_add(played->latency, &notes);
	note_flush();
}
