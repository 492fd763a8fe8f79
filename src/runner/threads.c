/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * threads.c - every thread plays its own stream, and waits only where the program's data requires
 * it: for a block that another thread has to allocate or free first.
 *
 * A slot is two words.  The first one has the block's address in its low 48 bits and the slot's
 * generation (playback.h) from bit 49 on; a thread that ends or begins a block there stores it with
 * release, a waiting thread loads it with acquire.  The second one, the requested size, is written
 * before.
 */
#include <sched.h>
#include <time.h>
#include "thread_pool.h"

#define GENERATION_SHIFT 49
#define GENERATION_MASK	 (~0ull << GENERATION_SHIFT)
#define GENERATIONS(n)	 ((uint64_t)(n) << GENERATION_SHIFT)

#define SPINS	200	/* spins before the thread yields */
#define YIELDS	50	/* yields before it sleeps */
#define LONGEST 1000000 /* ns of sleep */

static bool lonely; /* true with one processor: spinning is useless */

static COLD void await_slowly(struct thread *t, const uint64_t *slot, uint64_t generation)
{
	struct timespec nap = { .tv_nsec = 20000 };
	int spins = lonely ? SPINS : 0;

	t->waits++;
	for (; __atomic_load_n(slot, __ATOMIC_ACQUIRE) >> GENERATION_SHIFT != generation; spins++) {
		if (spins < SPINS) {
			relax();
		} else if (spins < SPINS + YIELDS) {
			sched_yield();
		} else {
			nanosleep(&nap, NULL);
			nap.tv_nsec = nap.tv_nsec * 2 < LONGEST ? nap.tv_nsec * 2 : LONGEST;
		}
	}
}

static ALWAYS void await(struct thread *t, const uint64_t *slot, uint64_t ext)
{
	unsigned wait = mprof_play_wait(ext);

	if (wait && __atomic_load_n(slot, __ATOMIC_ACQUIRE) >> GENERATION_SHIFT != wait - 1)
		await_slowly(t, slot, wait - 1);
}

/* Returns the slot's word after an allocation, of a block at p or of none. */
static ALWAYS uint64_t after_birth(uint64_t before, const void *p)
{
	uint64_t alive = before >> GENERATION_SHIFT & 1;

	return ((before & GENERATION_MASK) + GENERATIONS(3 - alive)) | (uintptr_t)p;
}

static ALWAYS void birth(struct thread *t, const uint64_t *call, uint64_t ext, const unsigned op,
			 const int null, const int touch, const int noted)
{
	uint64_t size = mprof_play_size(*call, ext), begin = 0, from = 0, before;
	uint64_t *slot = t->player.table + 2 * (size_t)mprof_play_slot(*call);
	void *old = NULL, *p;

	await(t, slot, ext);
	before = __atomic_load_n(slot, __ATOMIC_RELAXED);
	if (op == MPROF_PLAY_REALLOC) {
		old = (void *)(before & SLOT_ADDR);
		from = old ? slot[1] & ~(uint64_t)(PAGE - 1) : 0;
	}
	if (noted)
		begin = timing_begin(t->player.notes);
	p = ask(op, ext, old, size, null);
	if (noted)
		timing_end(t->player.notes, class_of(op), begin);
	if (unlikely(!storable(p))) {
		not_storable(&t->player, p, size);
		p = op == MPROF_PLAY_REALLOC && size ? old : NULL;
	} else {
		slot[1] = size;
		if (!null)
			touch_block(p, from, size, touch == TOUCH_RECORDED ? call[1] : 0, touch);
	}
	__atomic_store_n(slot, after_birth(before, p), __ATOMIC_RELEASE);
}

static ALWAYS void death(struct thread *t, uint64_t word, uint64_t ext, const int null,
			 const int noted)
{
	uint64_t *slot = t->player.table + 2 * (size_t)mprof_play_slot(word), begin = 0, before;

	await(t, slot, ext);
	before = __atomic_load_n(slot, __ATOMIC_RELAXED);
	__atomic_store_n(slot, (before & GENERATION_MASK) - GENERATIONS(1), __ATOMIC_RELEASE);
	if (noted)
		begin = timing_begin(t->player.notes);
	give_back((void *)(before & SLOT_ADDR), null);
	if (noted)
		timing_end(t->player.notes, CLASS_FREE, begin);
}

#define SELF	  struct thread
#define SELF_ENDS s->player.ends
#include "loop.h"

static struct {
	loop_play *play;
	struct stops *stops;
	uint64_t words, calls, played_words;
	pthread_mutex_t lock; /* for stops and records; for latencies */
	uint64_t latency[CLASSES][MPROF_RUN_LATENCY];
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void tell_up_to(uint64_t op)
{
	struct stops *s = all.stops;

	while (s->told < s->n && s->at[s->told].op <= op)
		stop_tell(&s->at[s->told++]);
}

/* Calls have no order here, so counts progress in words instead of calls. */
static void tell_progress(const struct stream *in)
{
	uint64_t words = (uint64_t)(in->limit - in->buffer), done;

	if (!all.stops->n)
		return;
	done = __atomic_add_fetch(&all.played_words, words, __ATOMIC_RELAXED);
	pthread_mutex_lock(&all.lock);
	tell_up_to((uint64_t)((unsigned __int128)all.calls * done / all.words));
	pthread_mutex_unlock(&all.lock);
}

/* Returns false if the thread ends. */
static bool word(struct thread *t, uint64_t w)
{
	uint64_t late;

	switch (mprof_play_op(w)) {
	case MPROF_PLAY_CREATE:
		thread_pool_begin(&threads[mprof_play_slot(w)]);
		break;
	case MPROF_PLAY_GONE:
		thread_pool_join(&threads[mprof_play_slot(w)]);
		break;
	case MPROF_PLAY_TIME:
		late = pace(w >> 4);
		t->late_ns = late > t->late_ns ? late : t->late_ns;
		break;
	default:
		return false;
	}
	return true;
}

/* Returns false after an EXIT, true after the last word. */
static bool play_stream(struct thread *t)
{
	struct stream *in = &t->stream;

	do {
		for (;;) {
			in->at = all.play(t, in->at, in->limit);
			if (in->at >= in->limit)
				break;
			if (!word(t, *in->at++))
				return false;
		}
		tell_progress(in);
	} while (stream_more(in));
	return true;
}

/* Returns true if the stream has no EXIT, so that the thread stays. */
static bool play_thread(struct thread *t, uint64_t *buffer, struct notes *notes)
{
	const struct mprof_play_thread *its = &playback.thread[t->index];
	bool stays;

	t->player = (struct player){ .table = live_table, .notes = notes };
	t->player.ends = 1u << MPROF_PLAY_CREATE | 1u << MPROF_PLAY_EXIT | 1u << MPROF_PLAY_GONE |
			 (settings.speed ? 1u << MPROF_PLAY_TIME : 0);
	if (settings.latency)
		notes_start(notes, t->index);
	stream_open(&t->stream, buffer, workspace_words, its->offset, its->words - 1);
	stays = play_stream(t);
	if (settings.latency) {
		pthread_mutex_lock(&all.lock);
		notes_add(all.latency, notes);
		pthread_mutex_unlock(&all.lock);
	}
	return stays;
}

void threads_begin(struct thread *t)
{
	if (play_thread(t, t->workspace->buffer, &t->workspace->notes))
		thread_pool_park(t);
}

static void play_all(void)
{
	static uint64_t buffer[WORKSPACE_WORDS];
	static struct notes notes;

	tell_up_to(0);
	for (uint32_t i = 1; i < playback.head.threads; i++)
		if (playback.thread[i].creator == i)
			thread_pool_begin(&threads[i]); /* no other thread starts it */
	play_thread(threads, buffer, &notes);
	thread_pool_settle();
	tell_up_to(UINT64_MAX);
}

void play_threads(const struct order *order, struct stops *stops, struct played *played)
{
	struct usage begin, end;

	all.play = loop_choose();
	all.stops = stops;
	all.calls = order->calls;
	all.words = playback.head.streams.bytes / 8;
	lonely = thread_pool_lonely();
	usage_now(&begin);
	play_all();
	usage_now(&end);
	usage_add(&played->used, &begin, &end);
	played->calls = order->calls;
	for (uint32_t i = 0; i < playback.head.threads; i++) {
		played->failed += threads[i].player.failed;
		played->waits += threads[i].waits;
		if (threads[i].late_ns > played->late_ns)
			played->late_ns = threads[i].late_ns;
	}
	memcpy(played->latency, all.latency, sizeof(all.latency));
}
