/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ordered.c - the calls of all threads in ORDER: the first thread makes them, each as the thread
 * that made it in the program.
 *
 * An allocator knows a thread by its thread-local storage, to which a register points.  So a SWITCH
 * only changes that register; waking a thread for each call takes a hundred times as long as the
 * call.  The threads are real, and the allocator sees them begin and end.  In between they sleep in
 * the kernel and do not use their storage.
 */
#include <asm/prctl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thread_pool.h"
#include "order.h"

#define ROOM 8192 /* words */

static uint64_t buffer[ROOM];

static struct {
	struct player player;
	struct stream stream;
	struct stops *stops;
	order_play *play;
	struct thread *me; /* the thread whose call is next */
	uint64_t switches;
} here;

/* Values of turn. */
enum { BEGINS, SLEEPS, ENDS };

#if defined(__x86_64__)
#define HAS_WRFSBASE 2 /* in AT_HWCAP2: Linux 5.9 */

static void become(struct thread *t)
{
	static unsigned long has;

	if (!has)
		has = getauxval(AT_HWCAP2) | 1;
	if (has & HAS_WRFSBASE)
		__asm__ volatile("wrfsbase %0" : : "r"(t->self) : "memory");
	else
		syscall(SYS_arch_prctl, ARCH_SET_FS, t->self);
	here.me = t;
}
#else
static void become(struct thread *t)
{
	__asm__ volatile("msr tpidr_el0, %0" : : "r"(t->self) : "memory");
	here.me = t;
}
#endif

static void begin(struct thread *t)
{
	thread_pool_begin(t);
	while (__atomic_load_n(&t->turn, __ATOMIC_ACQUIRE) == BEGINS)
		futex_wait(&t->turn, BEGINS);
}

static void set_turn(struct thread *t, uint32_t turn)
{
	__atomic_store_n(&t->turn, turn, __ATOMIC_RELEASE);
	futex_wake(&t->turn);
}

void ordered_begin(struct thread *me)
{
	me->self = __builtin_thread_pointer();
	set_turn(me, SLEEPS);
	while (__atomic_load_n(&me->turn, __ATOMIC_ACQUIRE) == SLEEPS)
		futex_wait(&me->turn, SLEEPS);
}

static void switch_to(struct thread *to)
{
	if (to == here.me)
		return;
	if (!thread_pool_begun(to))
		begin(to);
	here.switches++;
	become(to);
}

/* Flushes the thread's caches by the next call.  The first thread stays. */
static void end(struct thread *t)
{
	if (t == threads)
		return;
	become(threads);
	set_turn(t, ENDS);
	thread_pool_join(t);
}

static void word(uint64_t w)
{
	struct thread *t = &threads[mprof_play_slot(w)];

	switch (mprof_play_op(w)) {
	case MPROF_PLAY_SWITCH:
		switch_to(t);
		break;
	case MPROF_PLAY_CREATE:
		begin(t);
		break;
	default: /* EXIT */
		end(here.me);
	}
}

static void play_all(void)
{
	struct stream *in = &here.stream;
	const uint64_t *limit;

	do {
		limit = stream_halt(in, here.stops);
		while ((in->at = here.play(&here.player, in->at, limit)) < limit)
			word(*in->at++);
	} while (stream_go_on(in, here.stops));
}

void play_ordered(const struct order *order, struct stops *stops, struct played *played)
{
	static struct notes notes;
	struct usage begun, ended;

	here.player = (struct player){ .table = live_table, .notes = &notes };
	here.player.ends =
	    1u << MPROF_PLAY_SWITCH | 1u << MPROF_PLAY_CREATE | 1u << MPROF_PLAY_EXIT;
	here.stops = stops;
	here.play = order_choose();
	here.me = threads;
	threads->self = __builtin_thread_pointer();
	notes_start(&notes, 0);
	usage_now(&begun);
	stream_open(&here.stream, buffer, ROOM, playback.head.order.offset, order->words);
	play_all();
	become(threads);
	usage_now(&ended);
	usage_add(&played->used, &begun, &ended);
	played->calls = order->calls;
	played->failed = here.player.failed;
	played->waits = here.switches;
	notes_add(played->latency, &notes);
	note_flush();
}
